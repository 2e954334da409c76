"""
The special tokens of fill-in-the-middle, by model family: `families.toml`. Pure.

Where a backend deals in tokens, a family counts for a model only if every spelling in its row is
one token there; the backend asks the server, ids are never guessed. Where a backend deals in text,
the model's name has to tell, and user text must not contain what the tokenizer reads as a control
token (`layout.neutral`).
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


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


_LARGER_QWEN = re.compile(r"qwen-?2\.5(?:\.1)?-?coder(?!.{0,20}0[._]5b)", re.IGNORECASE)
PLAIN_HEAD = "\n\n--- {name} ---\n"  # for models that were never shown several files at once

_TABLE: dict[str, Any] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "families.toml") or b"").decode()
)
CONTROLS: tuple[str, ...] = tuple(_TABLE["controls"])
ENDS = (*CONTROLS[:3], *_TABLE["ends"])


def _family(name: str, row: Mapping[str, Any]) -> Family:
    """Return a row of the table; a model whose row names no files was never trained on several."""
    head = {} if "file" in row else {"head": PLAIN_HEAD}
    try:
        own = "|".join(_TABLE["patterns"][word] for word in row.get("controls", "").split())
        return Family(name, **{**head, **row, "controls": own})
    except (KeyError, TypeError) as error:
        raise ValueError(f"families.toml, [families.{name}]: {error!r}") from None


FAMILIES = tuple(_family(name, row) for name, row in _TABLE["families"].items())

# Where a text of any family has ended, or begins another part.
MARK = re.compile(
    "|".join((*ENDS, *(re.escape(s.strip("▁")) for f in FAMILIES for s in f.spellings)))
)

FILLS_ONLY = (
    "{} can only fill in code and follows no instructions: use a model with instruct in its name"
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
    repo: tuple[int, ...] = ()
    file: tuple[int, ...] = ()
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    middle: tuple[int, ...] = ()
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
    *model*: they help Qwen2.5-Coder 0.5B, and not the 1.5B (benchmarks/HISTORY.md).

    Larger ones are taken to be like the 1.5B, and one without a size in its name for a larger one:
    Ollama's `latest` has 7B.
    """
    return _LARGER_QWEN.search(model) is not None


def is_base_model(model: str) -> bool:
    """Return whether the name says that the model was never taught to chat."""
    return re.search(r"(?<![a-z])(?:base|pt)(?![a-z])", model, re.IGNORECASE) is not None


def _is_named(family: Family, model: str) -> bool:
    return bool(family.models and re.compile(family.models, re.IGNORECASE).search(model))


def specials(
    family: Family, ids: Mapping[str, tuple[int, ...]], start: tuple[int, ...]
) -> Specials | None:
    """Return the family in token ids, where *ids* has every one of its spellings."""
    if not all(spelling in ids for spelling in family.spellings):
        return None
    names = (family.repo, family.file, family.prefix, family.suffix, family.middle)
    return Specials(family, start, *(ids.get(spelling, ()) for spelling in names))


def n_common(a: Sequence[object], b: Sequence[object]) -> int:
    """
    Return how many characters, bytes or lines *a* and *b* share at their beginning.

    By bisection: slices are compared in C, 10 million characters in 10 ms.
    """
    low = 0
    high = min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while low < high:  # invariant: the first *low* agree, the first *high* + 1 do not
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
