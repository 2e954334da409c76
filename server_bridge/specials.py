"""
How models spell "here is a gap": the special tokens of fill-in-the-middle, by family. Pure.

A family counts for a model only if every spelling in its row is one token there; the backend asks
the server, we never guess ids. Rows stand from rich to poor, so the first that counts is the best.
Where two families share a spelling, `models` tells them apart by the model's name.

Sources: the model cards and papers named in the rows; llama.cpp (src/llama-vocab.cpp) looks for the
same spellings.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Family(NamedTuple):
    """
    Spellings of one family; "" where it has none.

    *head* is the line before a file's text. *suffix_first*: trained with the suffix before the
    prefix (SPM), the middle following the prefix.
    """

    name: str
    prefix: str
    suffix: str
    middle: str
    repo: str = ""
    file: str = ""
    head: str = "{name}\n"
    suffix_first: bool = False
    models: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every spelling it has."""
        return tuple(s for s in (self.prefix, self.suffix, self.middle, self.repo, self.file) if s)


PLAIN_HEAD = "\n\n--- {name} ---\n"  # for models that were never shown several files at once

FAMILIES = (
    # Qwen2.5-Coder technical report (arXiv 2409.12186) §3.2.2; Qwen3-Coder; Mercury; our own small model
    Family("qwen", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>"),
    # CodeGemma (arXiv 2406.11409) §3
    Family("codegemma", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "", "<|file_separator|>"),
    # Granite 4 and others with Qwen's three
    Family("granite-4", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", head=PLAIN_HEAD),
    # Mellum's model card: the file's name, then suffix, prefix, middle
    Family(
        "mellum", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "", "<filename>",
        suffix_first=True, models="mellum",
    ),
    # StarCoder2 (arXiv 2402.19173) §5.1; CodeQwen 1.5
    Family("starcoder2", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>"),
    # StarCoder (arXiv 2305.06161) §5.2; Granite Code
    Family("starcoder", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<reponame>", "<filename>"),
    # StableCode, Refact, Yi-Coder
    Family("stablecode", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", head=PLAIN_HEAD),
    # SantaCoder (arXiv 2301.03988)
    Family("santacoder", "<fim-prefix>", "<fim-suffix>", "<fim-middle>", head=PLAIN_HEAD),
    # DeepSeek-Coder's README: files joined as `#name` lines
    Family(
        "deepseek", "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", head="#{name}\n",
    ),
    # CodeLlama (arXiv 2308.12950) §2.3; the pieces of its vocabulary begin with U+2581
    Family("codellama", "▁<PRE>", "▁<SUF>", "▁<MID>", head=PLAIN_HEAD),
    # GLM-4.5, CodeGeeX4
    Family("glm-4", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", head=PLAIN_HEAD),
    # Seed-Coder's model card: suffix first
    Family(
        "seed-coder", "<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>",
        head=PLAIN_HEAD, suffix_first=True,
    ),
    # Falcon-H1-Tiny-Coder
    Family("falcon-h1", "<|prefix|>", "<|suffix|>", "<|middle|>", head=PLAIN_HEAD),
    # Codestral (mistral-common's FIM request): [SUFFIX]…[PREFIX]…, and the middle goes on from there
    Family("codestral", "[PREFIX]", "[SUFFIX]", "", head="+++++ {name}\n", suffix_first=True),
)  # fmt: skip


class Specials(NamedTuple):
    """One model's family in token ids; None where the family has no such token."""

    family: Family
    prefix: int
    suffix: int
    middle: int | None
    repo: int | None
    file: int | None
    bos: int | None  # what this model's texts begin with, if anything


def families(model: str) -> list[Family]:
    """The families that *model*, by its name, may belong to; the best first."""
    return [f for f in FAMILIES if re.search(f.models, model, re.IGNORECASE)]


def specials(family: Family, ids: dict[str, int], bos: int | None) -> Specials | None:
    """The family in token ids, where *ids* has every one of its spellings."""
    if not all(spelling in ids for spelling in family.spellings):
        return None
    return Specials(
        family,
        prefix=ids[family.prefix],
        suffix=ids[family.suffix],
        middle=ids.get(family.middle),
        repo=ids.get(family.repo),
        file=ids.get(family.file),
        bos=bos,
    )
