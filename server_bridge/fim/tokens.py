"""
How models spell "here is a gap": the special tokens of fill-in-the-middle, by family. Pure.

Where a backend deals in tokens, a family counts for a model only if every spelling in its row is one
token there; the backend asks the server, ids are never guessed. Rows stand from rich to poor, so the
first that counts is the best. Where a backend deals in text, the model's name has to tell, and user text
must not contain what the tokenizer reads as a control token (`text.neutral`).

Sources: the model cards and papers named in the rows, and the models' tokenizer_config.json; llama.cpp
(src/llama-vocab.cpp) looks for the same spellings.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Family(NamedTuple):
    """
    Spellings of one family; "" where it has none.

    *head* is the line before a file's text. *suffix_first*: trained with the suffix before the
    prefix (SPM), the middle following the prefix. *models*: the names of its models, as a pattern;
    with *alike* the tokens are those of another family, so that the name must match in any case.
    *controls*: what else its tokenizer reads as control tokens, besides `CONTROLS`, as a pattern.
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
    alike: bool = False
    controls: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every spelling it has."""
        return tuple(s for s in (self.prefix, self.suffix, self.middle, self.repo, self.file) if s)


PLAIN_HEAD = "\n\n--- {name} ---\n"  # for models that were never shown several files at once

# Control tokens of one tokenizer each; in other models' files they are HTML, generics or plain words.
SENTENCEPIECE = r"</?s>|<(?:unk|pad)>"
MISTRAL = (  # mistral-common, SpecialTokens
    r"\[/?(?:AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|TOOL_CONTENT|SYSTEM_PROMPT|MODEL_SETTINGS|THINK"
    r"|ARGS|CALL_ID|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO)\]|\[control_\d{1,4}\]|<SPECIAL_\d{1,4}>"
)
GEMMA = (
    r"<(?:bos|eos|pad|unk|mask|2mass|start_of_turn|end_of_turn|start_of_image|end_of_image"
    r"|unused\d{1,4})>|\[@BOS@\]"
)
GLM = (
    r"\[[gs]?MASK\]|<(?:sop|eop)>|/nothink"
    r"|</?(?:think|tool_call|tool_response|arg_key|arg_value)>"
)
STARCODER = r"<(?:pr|code_to_intermediate|intermediate_to_code|NAME|EMAIL|KEY|PASSWORD)>"
FALCON = (  # it may end with the first sign of another token, also of one of ours
    r">>(?:TITLE|ABSTRACT|INTRODUCTION|SUMMARY|COMMENT|ANSWER|QUESTION|DOMAIN|EMAIL_ADDRESS|IP_ADDRESS"
    r"|PREFIX|SUFFIX|MIDDLE)(?=<)"
)

# What tokenizers read as control tokens wherever it stands, besides the families' own spellings
CONTROLS = (
    r"<\|[^|<>\s]{1,40}\|>",  # Qwen, GLM, Granite, Llama 3, StarCoder's end of text, DeepSeek's <|EOT|>
    r"<｜[^｜<>\s]{1,40}｜>",  # DeepSeek
    r"<\[[^\]<>\s]{1,40}\]>",  # Seed-Coder
    r"<(?:fim|jupyter|issue|commit|pr|gh|repo|file)[-_][a-z_]{1,30}>",  # StarCoder, Mellum
    r"<(?:filename|reponame|empty_output)>",
    r"<(?:PRE|SUF|MID|EOT)>",  # CodeLlama
    r"\[/?(?:PREFIX|SUFFIX|MIDDLE|INST)\]",  # Mistral
)

FAMILIES = (
    # Qwen2.5-Coder technical report (arXiv 2409.12186) §3.2.2; Qwen3-Coder; Mercury; our own small model
    Family(
        "qwen", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>",
        models="(?<!code)qwen|mercury|fim-tiny|fim-small",
    ),
    # CodeGemma (arXiv 2406.11409) §3
    Family(
        "codegemma", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "", "<|file_separator|>",
        models="codegemma", controls=GEMMA,
    ),
    # Granite 4 and others with Qwen's three
    Family(
        "granite-4", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", head=PLAIN_HEAD,
        models="granite-?4",
    ),
    # Mellum's model card: the file's name, then suffix, prefix, middle
    Family(
        "mellum", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "", "<filename>",
        suffix_first=True, models="mellum", alike=True, controls=STARCODER,
    ),
    # CodeQwen 1.5: StarCoder2's spellings in a SentencePiece vocabulary
    Family(
        "codeqwen", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>",
        models="codeqwen", alike=True, controls=SENTENCEPIECE,
    ),
    # StarCoder2 (arXiv 2402.19173) §5.1
    Family(
        "starcoder2", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>",
        models="starcoder-?2", controls=STARCODER,
    ),
    # StarCoder (arXiv 2305.06161) §5.2; Granite Code
    Family(
        "starcoder", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<reponame>", "<filename>",
        models="starcoder|granite.*code", controls=STARCODER,
    ),
    # StableCode, Refact, Yi-Coder
    Family(
        "stablecode", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", head=PLAIN_HEAD,
        models="stable-?code|refact|yi-coder", controls=f"{STARCODER}|<unk>",
    ),
    # SantaCoder (arXiv 2301.03988)
    Family(
        "santacoder", "<fim-prefix>", "<fim-suffix>", "<fim-middle>", head=PLAIN_HEAD,
        models="santacoder",
    ),
    # DeepSeek-Coder's README: files joined as `#name` lines
    Family(
        "deepseek", "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", head="#{name}\n",
        models="deepseek",
    ),
    # CodeLlama (arXiv 2308.12950) §2.3; the pieces of its vocabulary begin with U+2581
    Family(
        "codellama", "▁<PRE>", "▁<SUF>", "▁<MID>", head=PLAIN_HEAD,
        models="code-?llama", controls=SENTENCEPIECE,
    ),
    # GLM-4.5, CodeGeeX4
    Family(
        "glm-4", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", head=PLAIN_HEAD,
        models="glm-?4|codegeex", controls=GLM,
    ),
    # Seed-Coder's model card: suffix first
    Family(
        "seed-coder", "<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>",
        head=PLAIN_HEAD, suffix_first=True, models="seed-?coder",
    ),
    # Falcon-H1-Tiny-Coder
    Family(
        "falcon-h1", "<|prefix|>", "<|suffix|>", "<|middle|>", head=PLAIN_HEAD, models="falcon-h1",
        controls=FALCON,
    ),
    # Codestral (mistral-common's FIM request): [SUFFIX]…[PREFIX]…, and the middle goes on from there
    Family(
        "codestral", "[PREFIX]", "[SUFFIX]", "", head="+++++ {name}\n",
        suffix_first=True, models="codestral", controls=f"{SENTENCEPIECE}|{MISTRAL}",
    ),
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
    return [f for f in FAMILIES if not f.alike or _is_named(f, model)]


def named(model: str) -> Family | None:
    """The family whose models have such a name."""
    return next((f for f in FAMILIES if _is_named(f, model)), None)


def called(name: str) -> Family | None:
    """The family with this name of ours."""
    return next((f for f in FAMILIES if f.name == name), None)


def _is_named(family: Family, model: str) -> bool:
    return re.compile(family.models, re.IGNORECASE).search(model) is not None


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
