"""
The special tokens of fill-in-the-middle, by model family. Pure.

Where a backend deals in tokens, a family counts for a model only if every spelling in its row is
one token there; the backend asks the server, ids are never guessed. Rows stand from rich to poor,
so the first that counts is the best. Where a backend deals in text, the model's name has to tell,
and user text must not contain what the tokenizer reads as a control token (`text.neutral`).

Sources: the model cards and papers named in the rows, and the models' tokenizer_config.json;
llama.cpp (src/llama-vocab.cpp) looks for the same spellings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class Family(NamedTuple):
    """
    Spellings of one family; "" where it has none.

    *head* is the line before a file's text, *title* the repository's name as it stands there.
    *lead* comes before the prefix; *named_inside*: so does the name of the file at work, which
    otherwise stands before the prefix token. *named_alone*: repository and file are named also
    where no other file is shown. *suffix_first*: trained with the suffix before the
    prefix (SPM), the middle following the prefix; a family without a suffix token never shows it.
    *stop* ends an answer. *models*: the names of its models, as a pattern; with *alike* the tokens
    are those of another family, so that the name must match in any case. *controls*: what else its
    tokenizer reads as control tokens, besides `CONTROLS`, as a pattern.
    """

    name: str
    prefix: str
    suffix: str
    middle: str
    repo: str = ""
    file: str = ""
    head: str = "{name}\n"
    title: str = "{name}\n"
    lead: str = ""
    named_inside: bool = False
    named_alone: bool = True
    suffix_first: bool = False
    stop: str = ""
    models: str = ""
    alike: bool = False
    controls: str = ""

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every spelling it has."""
        return tuple(s for s in (self.prefix, self.suffix, self.middle, self.repo, self.file) if s)


PLAIN_HEAD = "\n\n--- {name} ---\n"  # for models that were never shown several files at once

# Control tokens of one tokenizer each; in other models' files they are HTML, generics or plain
# words.
SENTENCEPIECE = r"</?s>|<(?:unk|pad)>"
MISTRAL = (  # mistral-common, SpecialTokens
    r"\[/?(?:AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|TOOL_CONTENT|SYSTEM_PROMPT|MODEL_SETTINGS"
    r"|THINK|ARGS|CALL_ID|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO)\]"
    r"|\[control_\d{1,4}\]|<SPECIAL_\d{1,4}>"
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
    # Qwen, GLM, Granite, Llama 3, StarCoder's end of text, DeepSeek's <|EOT|>
    r"<\|[^|<>\s]{1,40}\|>",
    r"<｜[^｜<>\s]{1,40}｜>",  # DeepSeek
    r"<\[[^\]<>\s]{1,40}\]>",  # Seed-Coder
    r"<(?:fim|jupyter|issue|commit|pr|gh|repo|file)[-_][a-z_]{1,30}>",  # StarCoder, Mellum
    r"<(?:filename|reponame|empty_output)>",
    r"<(?:PRE|SUF|MID|EOT)>",  # CodeLlama
    r"\[/?(?:PREFIX|SUFFIX|MIDDLE|INST)\]",  # Mistral
)

# What the end of a text or a turn is printed as, where a server's list of stops misses it; others
# of the tokens above are words of a user's own (`<NAME>`, `[ARGS]`, `<mask>`).
ENDS = (
    *CONTROLS[:3],
    r"</s>|(?<!\w)<s>|<(?:unk|pad|bos|eos)>",
    r"<(?:start|end)_of_turn>",
    r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]",
    r"<[ ]?/?(?:PRE|SUF|MID|EOT|END)>",
    r"\[[gs]MASK\]|<(?:sop|eop)>|</?think>",
)

FAMILIES = (
    # our own small models, which were trained with names only
    Family(
        "fim", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>",
        "<|file_sep|>", models="fim-tiny|fim-small", alike=True,
    ),
    # Qwen2.5-Coder technical report (arXiv 2409.12186) §3.2.2; Qwen3-Coder; Mercury. Alone, names
    # mislead it: 0.5B, 40 places of HumanEval-FIM, 25 lines right without them, 21 with
    Family(
        "qwen", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|repo_name|>", "<|file_sep|>",
        models="(?<!code)qwen|mercury", named_alone=False,
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
    # Mellum's model card, "with additional files": the file's name, then suffix, prefix, middle
    Family(
        "mellum", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "", "<filename>",
        suffix_first=True, models="mellum", alike=True, controls=STARCODER,
    ),
    # CodeQwen 1.5: StarCoder2's spellings in a SentencePiece vocabulary
    Family(
        "codeqwen", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>",
        models="codeqwen", alike=True, controls=SENTENCEPIECE,
    ),
    # StarCoder2 (arXiv 2402.19173) §5.1: no line end behind the repository's name
    Family(
        "starcoder2", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<repo_name>", "<file_sep>",
        title="{name}", named_inside=True, models="starcoder-?2", controls=STARCODER,
    ),
    # StarCoder (arXiv 2305.06161) §5.2; Granite Code
    Family(
        "starcoder", "<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<reponame>", "<filename>",
        models="starcoder|granite.{0,80}code", controls=STARCODER,
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
    # CodeLlama (arXiv 2308.12950) §2.3, and its tokenizer's `infilling_prompt_tokens`: a space
    # before the prefix, none before the suffix; the pieces of its vocabulary begin with U+2581
    Family(
        "codellama", "▁<PRE>", "▁<SUF>", "▁<MID>", head=PLAIN_HEAD, lead=" ",
        models="code-?llama", controls=SENTENCEPIECE,
    ),
    # CodeGeeX4's Infilling_guideline.md, of which the chat's turns around it are left out
    Family(
        "codegeex", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", head="###PATH:{name}\n",
        suffix_first=True, models="codegeex", alike=True, controls=GLM,
    ),
    # GLM-4.5: no template is published; Zed has this order, in its edit_prediction/src/fim.rs
    Family(
        "glm-4", "<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>", head=PLAIN_HEAD,
        models="glm-?4", controls=GLM,
    ),
    # Seed-Coder's report (arXiv 2506.03524), "Fill-in-the-Middle": suffix first; there are no
    # tokens for files
    Family(
        "seed-coder", "<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>",
        head=PLAIN_HEAD, suffix_first=True, models="seed-?coder",
    ),
    # Falcon-H1-Tiny-Coder
    Family(
        "falcon-h1", "<|prefix|>", "<|suffix|>", "<|middle|>", head=PLAIN_HEAD, models="falcon-h1",
        controls=FALCON,
    ),
    # Codestral (mistral-common, `encode_fim`): [SUFFIX]…[PREFIX]…, and the middle goes on from
    # there; the other files are Continue's (+++++), there behind [PREFIX], here before it all, so
    # that they stay evaluated
    Family(
        "codestral", "[PREFIX]", "[SUFFIX]", "", head="+++++ {name}\n",
        suffix_first=True, models="codestral", controls=f"{SENTENCEPIECE}|{MISTRAL}",
    ),
)  # fmt: skip


# Where a text of any family has ended, or begins another part.
MARK = re.compile(
    "|".join((*ENDS, *(re.escape(s.strip("▁")) for f in FAMILIES for s in f.spellings)))
)

# A model that was never taught to fill in: it goes on with the text above the cursor.
PLAIN = Family("plain", "", "", "", head=PLAIN_HEAD)


class Specials(NamedTuple):
    """
    One model's family in token ids: what stands before each part, () where nothing does.

    *ask* stands before the first instruction, *again* before a further one, *answer* before an
    answer: () where the model cannot follow any.
    """

    family: Family
    start: tuple[int, ...]  # before all of it: what this model's texts begin with, if anything
    repo: tuple[int, ...]
    file: tuple[int, ...]
    prefix: tuple[int, ...]
    suffix: tuple[int, ...]
    middle: tuple[int, ...]
    ask: tuple[int, ...] = ()
    again: tuple[int, ...] = ()
    answer: tuple[int, ...] = ()


def families(model: str) -> list[Family]:
    """Return the families that *model*, by its name, may belong to; the best first."""
    return [f for f in FAMILIES if not f.alike or _is_named(f, model)]


def find_by_model(model: str) -> Family | None:
    """Return the family whose models have such a name."""
    return next((f for f in FAMILIES if _is_named(f, model)), None)


def find_by_name(name: str) -> Family | None:
    """Return the family with this name of ours."""
    return next((f for f in (*FAMILIES, PLAIN) if f.name == name), None)


def needs_no_lead(model: str) -> bool:
    """
    Return whether lines above the cursor, shown again as the end of the prompt, are of no use to
    *model*: Qwen2.5-Coder 1.5B has 44 of 60 lines of HumanEval-FIM right without, 41 with them.

    The 0.5B is right 13 points more often with them; larger ones are taken to be like the 1.5B.
    """
    return re.search(r"qwen2\.5-?coder[-:_](?!0\.5)\d", model, re.IGNORECASE) is not None


def is_base_model(model: str) -> bool:
    """Return whether the name says that the model was never taught to chat."""
    return re.search(r"(?<![a-z])(?:base|pt)(?![a-z])", model, re.IGNORECASE) is not None


def _is_named(family: Family, model: str) -> bool:
    return re.compile(family.models, re.IGNORECASE).search(model) is not None


def specials(
    family: Family, ids: Mapping[str, tuple[int, ...]], start: tuple[int, ...]
) -> Specials | None:
    """Return the family in token ids, where *ids* has every one of its spellings."""
    if not all(spelling in ids for spelling in family.spellings):
        return None
    names = (family.repo, family.file, family.prefix, family.suffix, family.middle)
    return Specials(family, start, *(ids.get(spelling, ()) for spelling in names))
