"""The rules by which llama.cpp reuses a prompt; that they are its rules, test_contract shows."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server_bridge.fim.layout import count_shared
from server_bridge.llama.checkpoints import Kind, ModelMemory
from server_bridge.llama.mirror import Mirror, Outlook
from server_bridge.llama.slots import ExclusiveSlots

small = st.lists(st.integers(0, 2), max_size=40)


def packed(*numbers: int) -> bytes:
    """Ids as the mirror wants them."""
    return array("i", numbers).tobytes()


def run(mirror: Mirror, slot: int, *numbers: int) -> int | None:
    """Expect, then settle a request that generated nothing."""
    prompt = packed(*numbers)
    expected = mirror.expect_reused(prompt)
    mirror.settle(slot, prompt, prompt)
    return expected


@given(small, small)
def test_shared_is_the_common_beginning(a: list[int], b: list[int]) -> None:
    """It counts ids from the start up to the first that differs."""
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert count_shared(packed(*a), packed(*b)) == count_shared(packed(*b), packed(*a)) == n


A, B, C = [*range(50)], [*range(100, 150)], [*range(200, 250)]
RUNS: dict[str, tuple[int, list[tuple[int, list[int], int | None]]]] = {  # slots; prompts, reused
    "the last token is always evaluated": (
        1, [(0, [1, 2, 3], 0), (0, [1, 2, 3], 2), (0, [1, 2, 3, 4, 5], 3), (0, [1, 2, 9], 2)],
    ),
    "an unused slot has nothing": (2, [(1, A, 0), (0, B, 0), (1, [*A, 7], 50)]),
    "what a slot would lose is saved and comes back": (
        1, [(0, A, 0), (0, B, 0), (0, [*A, 7], 50), (0, [*B, 7], 50)],
    ),
    "an idle slot is saved before it is taken": (
        2, [(1, A, 0), (0, B, 0), (1, C, None), (0, [*A, 7], 50)],
    ),
    # What follows a long common beginning is not saved: this is what one slot per file is for.
    "a slot that keeps half gives up the rest": (
        1, [(0, [*A[:40], 1, 1, 1], 0), (0, [*A[:40], 2, 2, 2], 40), (0, [*A[:40], 1, 1, 1], 40)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("n_slots", "runs"), RUNS.values(), ids=RUNS)
def test_what_is_reused(n_slots: int, runs: list[tuple[int, list[int], int | None]]) -> None:
    """Of each prompt, behind those before it."""
    mirror = Mirror(n_slots)
    for slot, numbers, n_reused in runs:
        n_expected = run(mirror, slot, *numbers)
        assert n_reused in (n_expected, None)


def test_after_a_failure_nothing_is_known() -> None:
    """A request that failed may have left anything."""
    mirror = Mirror(1)
    run(mirror, 0, 1, 2, 3)
    mirror.forget()
    assert mirror.outlook(packed(1, 2, 3)) is None


def test_clearing_brings_back_what_another_slot_holds() -> None:
    """A named slot with foreign content loads a copy of the best there is; an empty one loads nothing."""
    mirror = Mirror(2)
    run(mirror, 0, *range(50))
    prompt = packed(*range(40), 7)
    assert mirror.expect_reused(prompt, 1) == 0
    assert mirror.expect_cleared(prompt) == 40
    mirror.settle(1, packed(99), packed(99), named=True)
    assert mirror.expect_reused(prompt, 1) == 40
    mirror.settle(1, prompt, prompt, named=True)
    assert mirror.expect_reused(packed(*range(50), 7), 0) == 50


def test_copies_of_states_are_counted() -> None:
    """What clearing a slot copies besides keys and values, every state of every slot, may cost too much."""
    mirror = Mirror(2, memory=ModelMemory(Kind.RECURRENT, state_bytes=1000))
    long, other = packed(*range(100)), packed(*range(40), *range(200, 220))
    mirror.settle(0, long, long)
    mirror.settle(1, other, other, named=True)
    assert mirror.state_bytes == 2 * (1 + 1) * 1000
    prompt = packed(*range(100), 7)
    assert mirror.expect_cleared(prompt) - mirror.expect_reused(prompt, 1) == 100
    for price, clears in ((60, True), (200, False)):
        slots = ExclusiveSlots(mirror, 2, lambda price=price: price)  # type: ignore[misc]
        slots.note_use("other", 0)
        slots.note_use("document", 1)
        assert slots.choose("document", prompt).clear == clears


def test_what_others_may_have_saved_is_not_foretold() -> None:
    """On a shared server a prompt that is looked for in the memory may find more than we know of."""
    mirror = Mirror(2, exclusive=False)
    run(mirror, 0, *range(50))
    assert mirror.outlook(packed(*range(50), 7), 0) == Outlook(50, loaded=False, cut=False)
    unlike = mirror.outlook(packed(*range(100, 150)), 0)
    assert not unlike.sure


def test_a_server_that_saves_nothing_is_found_out() -> None:
    """After three misses in a row nothing is expected from its memory any more."""
    mirror = Mirror(1)
    for _ in range(3):
        run(mirror, 0, *range(50))
        run(mirror, 0, *range(100, 150))
        assert mirror.expect_reused(packed(*range(50), 7)) == 50
        mirror.note_load(50, 0)
    run(mirror, 0, *range(50))
    run(mirror, 0, *range(100, 150))
    assert mirror.expect_reused(packed(*range(50), 7)) == 0
