"""
A prompt into text, for backends that take no token ids. Pure.

The order and the names are those of `fim.layout`; only here the special tokens are spelled out,
and what looks like one in the user's text is broken by a space, so that it cannot become one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from server_bridge.fim.layout import Kind, layout
from server_bridge.fim.tokens import CONTROLS, Family, specials
from server_bridge.protocol import Prompt


class Part(NamedTuple):
    """A piece of a prompt as it is sent."""

    kind: Kind
    text: str


def render(prompt: Prompt, family: Family) -> list[Part]:
    """Return the prompt in the family's order, without what is forced; the middle stands last."""
    spellings = family.spellings
    marks = specials(family, {spelling: (n,) for n, spelling in enumerate(spellings)}, start=())
    assert marks is not None
    parts = []
    for kind, numbers, text in layout(prompt, marks):
        text = prompt.middle if kind == "middle" else text  # noqa: PLW2901
        parts.append(Part(kind, _spell_marks(spellings, numbers) + neutral(text, family)))
    return parts


@lru_cache(maxsize=64)  # frozen texts come with every key
def neutral(text: str, family: Family) -> str:
    """Return the text with a space in everything that the family's tokenizer would take for a special token."""
    special = _looks_special(family)
    while special.search(text):  # one may stand in another: `<[/INST]>`
        text = special.sub(lambda found: f"{found[0][0]} {found[0][1:]}", text)
    return text


@lru_cache(maxsize=64)  # there are fewer families
def _looks_special(family: Family) -> re.Pattern[str]:
    own = [re.escape(spelling.lstrip("▁")) for spelling in family.spellings]
    return re.compile("|".join((*own, *CONTROLS, *filter(None, (family.controls,)))))


def _spell_marks(spellings: tuple[str, ...], numbers: tuple[int, ...]) -> str:
    """Return the special tokens as one writes them: a piece that begins with U+2581 begins with a space."""
    return "".join(re.sub("^▁", " ", spellings[number]) for number in numbers)
