"""
The models that `fim-lsp setup` offers: the published facts of `models.toml`. Pure.

All are trained to fill in the middle, in 92 programming languages, and see other files as the
prompt of this package shows them. Files are those that llama.cpp's own presets name
(common/arg.cpp), in Q8_0: 8.5 bits a weight, which costs no quality that can be measured. A file is
named by its commit, so that it can never change, and its SHA-256 stands there only where at least
two parties who do not copy from each other publish the same one, with the same size.

`lines` and `across_files` are exact matches in per cent from Qwen2.5-Coder's technical report
(arXiv 2409.12186v3): the average of table 7, one line of HumanEval in Python, Java and JavaScript,
and of table 8, CrossCodeEval, where the answer needs another file. For the 30B model none are
published. Licences are those of the model cards; the 3B model alone may not be used commercially.
"""

from __future__ import annotations

import pkgutil
import tomllib
from typing import Any, NamedTuple

from server_bridge.process.sizing import Facts

HUB = "https://huggingface.co"
GIGABYTE = 1e9
# For a token: a line is some 12, and is to be there within half a second or so.
MOST_MS = 50.0


class OfferedModel(NamedTuple):
    """
    One file of weights: *n_bytes* long, at *commit* of the repository *repo* of the hub.

    *n_active* is how many weights a token passes through, all but for a mixture of experts. *facts*
    are those of its header that say what a token takes, see `sizing`.
    """

    name: str
    repo: str
    commit: str
    file: str
    n_bytes: int
    sha256: str
    n_active: int
    facts: Facts
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

    *needs* is how many bytes of memory it takes at most, all that is evaluated included. *path* is
    where its file is, "" where it has to be downloaded. *memory* is what the machine has in bytes
    where that is too little for the model, else 0.
    """

    model: OfferedModel
    ms_per_token: float
    first_look_s: float
    needs: int
    is_best: bool = False
    path: str = ""
    memory: int = 0


def _model(name: str, published: str, **rest: Any) -> OfferedModel:
    """
    Return a model as the hub has it: its repository and its file are called as it is *published*.
    """
    repo = f"ggml-org/{published}-Q8_0-GGUF"
    file = f"{published.lower()}-q8_0.gguf"
    return OfferedModel(name, repo, file=file, **rest)


_ROWS = tomllib.loads((pkgutil.get_data(__package__ or "", "models.toml") or b"").decode())
MODELS = tuple(_model(name, **row) for name, row in _ROWS.items())
NAMES = tuple(model.name for model in MODELS)
