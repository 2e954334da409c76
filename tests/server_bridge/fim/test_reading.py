"""Prompts that other programs wrote as text, read back."""

from __future__ import annotations

import pytest

from server_bridge.fim.layout import render
from server_bridge.fim.reading import read
from server_bridge.fim.tokens import FAMILIES, PLAIN_HEAD, Family
from server_bridge.protocol import Chunk, Prompt

PROMPT = Prompt(
    "shop",
    (Chunk("ship.py", "def freight(weight):\n    return 3 * weight\n"),),
    "app/cart.py",
    "import ship\n\n\ndef price(weight):\n",
    "\nprint(price(3))\n",
    "    return ship.fre",
)


def names_files(family: Family) -> bool:
    return (
        bool(family.file) and family.head != PLAIN_HEAD and not family.head.startswith(("#", "+"))
    )


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_what_is_rendered_is_read_back(family: Family) -> None:
    """For every family of the table: the same text on both sides of the cursor, and the files where they are marked."""
    text = "".join(part.text for part in render(PROMPT, family))
    found = read(text)
    assert found.prefix + found.middle == PROMPT.prefix + PROMPT.middle
    assert found.suffix == PROMPT.suffix
    if names_files(family):
        assert found.path == PROMPT.path
        assert [each.name for each in found.chunks] == ["ship.py"]


@pytest.mark.parametrize(
    ("text", "prefix", "suffix"),
    [
        ("<|fim_prefix|>a = <|fim_suffix|>\nb<|fim_middle|>", "a = ", "\nb"),
        ("<PRE> a = <SUF>\nb <MID>", "a =", "\nb"),
        ("<PRE> a = <SUF>\nb<MID>", "a =", "\nb"),
        ("[SUFFIX]\nb[PREFIX]a = ", "a = ", "\nb"),
        ("<｜fim▁begin｜>a = <｜fim▁hole｜>\nb<｜fim▁end｜>", "a = ", "\nb"),
    ],
)
def test_templates_of_editors(text: str, prefix: str, suffix: str) -> None:
    """As minuet's recipes and Zed write them."""
    found = read(text)
    assert (found.prefix, found.suffix) == (prefix, suffix)


@pytest.mark.parametrize("text", ["", "def add(", "<|fim_prefix|> alone", "a <MID> b"])
def test_other_text_is_none(text: str) -> None:
    """A prompt without all three tokens is some other request."""
    assert read(text) is None
