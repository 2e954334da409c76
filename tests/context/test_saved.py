"""A ring survives a restart, in doubt; anything else gives an empty one."""

from __future__ import annotations

import json

import pytest

from fim_lsp.context.chunks import Source
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import Limits, Ring
from fim_lsp.context.saved import as_json, from_json
from fim_lsp.context.turn import View, turn

A = Source("a", "a.py", "python", 1, ("alpha = 1\n", "beta = alpha\n"))
B = Source("b", "b.py", "python", 1, ("gamma = 2\n", "delta = gamma\n"))
VIEW = View("a", 0, 0, 2)


def memory() -> Memory:
    made = Memory(Limits(16, 64, 6000))
    made.opened(A)
    made.opened(B)
    made.accept(turn(made.snapshot(VIEW)))
    return made


def test_a_ring_comes_back_as_it_was_once_its_files_were_looked_at() -> None:
    """Nothing of it is shown before; then the same texts, so that a saved cache fits."""
    before = memory()
    after = Memory(before.limits)
    after.ring = from_json(json.loads(json.dumps(as_json(before.ring))))

    assert after.visible(VIEW) == ()
    assert [source.uri for source in after.unsure()] == ["b"]
    after.opened(B)
    assert [c.text for c in after.visible(VIEW)] == [c.text for c in before.visible(VIEW)] != []
    assert after.ring.credit == before.ring.credit


def test_what_is_not_true_any_more_is_not_saved() -> None:
    """A piece of a deleted file stays away."""
    made = memory()
    made.deleted("b")

    assert as_json(made.ring)["chunks"] == []


GOOD = as_json(memory().ring)
BROKEN = [
    None, [], "x", {}, {**GOOD, "version": 99}, {**GOOD, "credit": "much"}, {**GOOD, "chunks": 3},
    {**GOOD, "chunks": [3]}, {**GOOD, "chunks": [[{}]]}, {**GOOD, "chunks": [[{"uri": 1}]]},
    {**GOOD, "chunks": [[GOOD["chunks"][0][0] | {"why": "because"}]]},  # type: ignore[index]
]  # fmt: skip


@pytest.mark.parametrize("value", BROKEN)
def test_anything_else_gives_an_empty_ring(value: object) -> None:
    """Never an error, whatever stands in the file."""
    assert from_json(value).chunks == Ring().chunks
