"""
The models that `fim-lsp serve --get` and `fim-lsp setup` offer: one table of published facts. Pure.

All are trained to fill in the middle, in 92 programming languages, and see other files as the
prompt of this package shows them. Files are those that llama.cpp's own presets name
(common/arg.cpp), in Q8_0: 8.5 bits a weight, which costs no quality that can be measured. A file is
named by its commit, so that it can never change, and its SHA-256 stands here only where at least
two parties who do not copy from each other publish the same one, with the same size.

`lines` and `across_files` are exact matches in per cent from Qwen2.5-Coder's technical report
(arXiv 2409.12186v3): the average of table 7, one line of HumanEval in Python, Java and JavaScript,
and of table 8, CrossCodeEval, where the answer needs another file. For the 30B model none are
published. Licences are those of the model cards; the 3B model alone may not be used commercially.
"""

from __future__ import annotations

from typing import Any, NamedTuple

HUB = "https://huggingface.co"
GIGABYTE = 1e9
# For a token: a line is some 12, and is to be there within half a second or so.
MOST_MS = 50.0


class OfferedModel(NamedTuple):
    """
    One file of weights: *n_bytes* long, at *commit* of the repository *repo* of the hub.

    *n_active* is how many weights a token passes through, all but for a mixture of experts.
    """

    name: str
    repo: str
    commit: str
    file: str
    n_bytes: int
    sha256: str
    n_active: int
    licence: str = "Apache-2.0"
    is_free: bool = True  # of conditions on its use: only such models are chosen automatically
    lines: float | None = None
    across_files: float | None = None

    def url(self, hub: str = HUB) -> str:
        """Return the URL of the file, on the hub or a mirror of it."""
        return f"{hub.rstrip('/')}/{self.repo}/resolve/{self.commit}/{self.file}"

    @property
    def n_read(self) -> int:
        """Bytes that are read from memory for every token: 34 for each 32 weights in Q8_0."""
        return self.n_active * 34 // 32


class Offer(NamedTuple):
    """
    A model on one machine: what a token costs, and the first look at a file; *is_best* for this
    machine.

    *path* is where its file is, "" where it has to be downloaded.
    """

    model: OfferedModel
    ms_per_token: float
    first_look_s: float
    is_best: bool = False
    path: str = ""


def _model(
    name: str, published: str, commit: str, n_bytes: int, sha256: str, **rest: Any
) -> OfferedModel:
    """
    Return a model as the hub has it: its repository and its file are called as it is *published*.
    """
    repo, file = f"ggml-org/{published}-Q8_0-GGUF", f"{published.lower()}-q8_0.gguf"
    return OfferedModel(name, repo, commit, file, n_bytes, sha256, **rest)


# From small to large; the last is a mixture of experts.
# fmt: off
MODELS: tuple[OfferedModel, ...] = (
    _model(
        "qwen-0.5b", "Qwen2.5-Coder-0.5B", "5788aee90e725673490be18f553d234feaa8303d", 531_068_128,
        "d0f8cd6c49bab52a0abdbe47948518b1f4d9b1a8a2a6825099cea31cea10ac56",
        n_active=490_000_000, lines=77.7, across_files=24.6),
    _model(
        "qwen-1.5b", "Qwen2.5-Coder-1.5B", "8be1b8a895a84beea772817caaa71eba6b6e0d07",
        1_646_573_056, "29871c94d15727a6e243f79a37113d4ae625a6215b5e800bf41a23af2da32832",
        n_active=1_540_000_000, lines=83.5, across_files=40.2),
    _model(
        "qwen-3b", "Qwen2.5-Coder-3B", "9c1de162ae417c9c3aacde97c729c4128de047d8", 3_285_476_160,
        "a522a906e299ed34db738b9626b2cd0da9e446c14674468a22fc2eae3dbd344d",
        n_active=3_090_000_000, lines=85.7, across_files=44.9,
        licence="Qwen Research (not for commercial use)", is_free=False),
    _model(
        "qwen-7b", "Qwen2.5-Coder-7B", "bca77e0a8c88fc224882bcc404170c3ef17efacc", 8_098_525_600,
        "0ef48dc94a3c551a6736ac2601de38413dc9aa9318534b16e8baee08290a4aaf",
        n_active=7_610_000_000, lines=86.2, across_files=49.3),
    _model(
        "qwen-30b", "Qwen3-Coder-30B-A3B-Instruct", "99d445b5fd000458cabc098da6a79c2967a472f1",
        32_483_933_856, "f22993e29318b5b9ec2026f6b65802a5ca99b38ab4844aab83aed8a26ce00ff6",
        n_active=3_300_000_000),
)
# fmt: on
NAMES = tuple(model.name for model in MODELS)
