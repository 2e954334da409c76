"""What the user works on comes first, and nothing is chosen twice."""

from __future__ import annotations

from typing import Any

import pytest

from fim_lsp.context.chunks import Piece, Why
from fim_lsp.context.ranking import Interest, Room, Surroundings, choose


def piece(name: str, text: str, why: Why = Why.OPENED) -> Piece:
    return Piece(name, name, 0, 1, 1, text.ljust(100, "."), why, frozenset(text.split()))


def chosen(pool: list[Piece], n_chars: int, **place: Any) -> list[str]:
    """Return the names of what is chosen for this place, best first: the one caller of `choose`."""
    blank = Surroundings("", frozenset(), frozenset(), frozenset(), {}, {}, {})
    fields = {name: place.get(name, getattr(blank, name)) for name in blank.__slots__}
    interest = Interest(Surroundings(**fields), pool)
    scored = [interest.score(p) for p in pool]
    return [p.name for p in choose(scored, interest, (), Room(n_chars, 9, 64, 0), frozenset())[0]]


ALPHA = piece("alpha", "apple pear plum")
BETA = piece("beta", "cedar maple oaks")
CASES = {
    "shares rare words with the surroundings": {"near": {"maple"}},
    "was edited lately": {"ages": {"oaks": 3}},
    "has words of this file": {"here": {"cedar": 4}},
    "lies in the file looked at last": {"files": {"beta": 0, "alpha": 1}},
    "adds what is not in sight": {"seen": {"apple", "pear"}},
}


@pytest.mark.parametrize("place", CASES.values(), ids=CASES)
def test_of_two_like_pieces_the_better_one(place: dict) -> None:
    """With room for one, the one that … is chosen."""
    assert chosen([ALPHA, BETA], 150, **place) == ["beta"]


def test_a_yank_beats_what_was_only_opened() -> None:
    """The user copied it: it will be used."""
    assert chosen([ALPHA, piece("beta", "cedar maple oaks", Why.YANKED)], 150) == ["beta"]


def test_a_copy_adds_nothing() -> None:
    """Words count once: the room goes to something else."""
    copy = piece("copy", "apple pear plum")
    assert sorted(chosen([ALPHA, copy, BETA], 250)) == ["alpha", "beta"]


def test_nothing_is_taken_that_is_all_in_sight() -> None:
    """An empty ring beats one that repeats the window."""
    assert chosen([ALPHA], 500, seen={"apple", "pear", "plum"}) == []
