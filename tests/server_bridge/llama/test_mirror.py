"""The rules by which llama.cpp reuses a prompt; that they are its rules, test_contract shows."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from server_bridge.llama.checkpoints import Kind, ModelMemory
from server_bridge.llama.mirror import Mirror, Outlook, count_shared
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


def test_the_last_token_is_always_evaluated() -> None:
    """The same prompt again costs one token."""
    mirror = Mirror(1)
    assert run(mirror, 0, 1, 2, 3) == 0
    assert run(mirror, 0, 1, 2, 3) == 2
    assert run(mirror, 0, 1, 2, 3, 4, 5) == 3
    assert run(mirror, 0, 1, 2, 9) == 2


def test_an_unused_slot_has_nothing() -> None:
    """A prompt like none before goes to an unused slot, which starts empty."""
    mirror = Mirror(2)
    run(mirror, 1, *range(50))
    assert run(mirror, 0, *range(100, 150)) == 0
    assert run(mirror, 1, *range(50), 7) == 50


def test_what_a_slot_would_lose_is_saved_and_comes_back() -> None:
    """Two texts alternate on one slot without being evaluated again."""
    mirror = Mirror(1)
    run(mirror, 0, *range(50))
    assert run(mirror, 0, *range(100, 150)) == 0
    assert run(mirror, 0, *range(50), 7) == 50
    assert run(mirror, 0, *range(100, 150), 7) == 50


def test_an_idle_slot_is_saved_before_it_is_taken() -> None:
    """What lay in another slot is found again even when that slot has been used for something else."""
    mirror = Mirror(2)
    run(mirror, 1, *range(50))
    run(mirror, 0, *range(100, 150))
    run(mirror, 1, *range(200, 250))
    assert run(mirror, 0, *range(50), 7) == 50


def test_a_slot_that_keeps_half_gives_up_the_rest() -> None:
    """What follows a long common beginning is not saved: this is what one slot per file is for."""
    mirror = Mirror(1)
    run(mirror, 0, *range(40), 1, 1, 1)
    assert run(mirror, 0, *range(40), 2, 2, 2) == 40
    assert run(mirror, 0, *range(40), 1, 1, 1) == 40


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
    assert unlike is not None
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
