"""Prompts into segments and tokens, without a server."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_bridge.fim.layout import find_spelling, head, ids, join_runs, layout, split_tape
from server_bridge.fim.tokens import FAMILIES, Family, Specials, families, n_common, specials
from server_bridge.protocol import Token
from tests.server_bridge.fim.templates import NO_ROW, PROMPT, TEMPLATES


def known(name: str, *start: int) -> tuple[Specials, dict[int, str]]:
    """Return a family with made-up ids, and what they stand for."""
    family = next(f for f in FAMILIES if f.name == name)
    numbers = {spelling: (1000 + n,) for n, spelling in enumerate(family.spellings)}
    found = specials(family, numbers, start)
    assert found is not None
    return found, {number: spelling for spelling, (number,) in numbers.items()} | {1: "<s>"}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_each_family_gets_its_own_layout(family: Family) -> None:
    """Stable parts first, in the order and with the file names that the family was trained on."""
    fim, names = known(family.name, 1)
    shown = "".join("".join(names[m] for m in s.marks) + s.text for s in layout(PROMPT, fim))
    assert shown.replace("\n", "↵") + PROMPT.middle == "<s>" + TEMPLATES.get(family.name, NO_ROW)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_file_without_a_name_is_filled_in_all_the_same(family: Family) -> None:
    """Each of the family's own tokens for the gap stands there once."""
    fim, names = known(family.name)
    marks = [
        names[m] for s in layout(replace(PROMPT, repo="", path="", chunks=()), fim) for m in s.marks
    ]
    assert sorted(marks) == sorted(filter(None, (family.prefix, family.suffix, family.middle)))


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_names_mislead_some_families_where_there_is_no_other_file(family: Family) -> None:
    """They come with the first chunk, which changes all that is behind it anyway."""
    fim, _ = known(family.name)
    alone = {segment.kind for segment in layout(replace(PROMPT, chunks=()), fim)}
    assert ("path" in alone) is family.named_alone is (family.name != "qwen")


def test_names_tell_families_apart_that_spell_alike() -> None:
    """Mellum is recognised by its name, because its tokens are StarCoder's."""
    assert [f.name for f in families("Mellum-4b-base.Q8_0.gguf")].index("mellum") < [
        f.name for f in families("mellum")
    ].index("starcoder2")
    assert "mellum" not in [f.name for f in families("starcoder2-3b.gguf")]


@given(st.lists(st.lists(st.integers(0, 200_000))))
def test_joining_runs_is_joining_ids(runs: list[list[int]]) -> None:
    """The packed and the listed form of a joined run are those of the joined ids."""
    flat = [number for run in runs for number in run]
    assert join_runs(map(ids, runs)) == ids(flat)
    assert head(ids(flat), 3) == ids(flat[:3])
    assert ids(flat).n == len(flat)


@given(st.text(), st.integers(0, 9), st.text(max_size=2))
def test_spelled_tokens_spell_a_beginning(text: str, cut: int, other: str) -> None:
    """Tokens of one byte spell any beginning of a text in whole characters, and nothing more."""
    numbers = [*(text + other).encode(), 999]
    pieces = {n: bytes([n]) for n in range(256)}
    found = b"".join(t.text for t in find_spelling(numbers, pieces, text[:cut])).decode()
    assert text[:cut] == found


@given(st.text(), st.integers(0, 9))
def test_text_and_tape_spell_the_middle(middle: str, cut: int) -> None:
    """Wherever the tape begins, even inside a character, the text before it and the tape together are the middle."""
    data = middle.encode()
    tape = tuple(Token(byte, bytes([byte])) for byte in data[cut:])
    text, kept = split_tape(middle, tape)
    assert text + b"".join(t.text for t in kept).decode() == middle
    assert kept == tape[len(tape) - len(kept) :]


@given(st.text("ab", max_size=20), st.text("ab", max_size=20), st.text("ab", max_size=20))
def test_what_two_texts_have_in_common_is_found(same: str, a: str, b: str) -> None:
    """As a loop over the characters finds it; of bytes, too."""
    a = same + a
    b = same + b
    n = next((n for n, pair in enumerate(zip(a, b, strict=False)) if len({*pair}) == 2), None)
    expected = min(len(a), len(b)) if n is None else n
    assert n_common(a, b) == expected
    assert n_common(a.encode(), b.encode()) == expected
