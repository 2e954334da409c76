"""The rules by which llama.cpp reuses a prompt; that they are its rules, test_contract shows."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from server_bridge.mirror import Mirror, shared

small = st.lists(st.integers(0, 2), max_size=40)


def packed(*numbers: int) -> bytes:
    """Ids as the mirror wants them."""
    return array("i", numbers).tobytes()


def run(mirror: Mirror, slot: int, *numbers: int) -> int | None:
    """Expect, then settle a request that generated nothing."""
    prompt = packed(*numbers)
    expected = mirror.expected(prompt)
    mirror.settle(slot, prompt, prompt)
    return expected


@given(small, small)
def test_shared_is_the_common_beginning(a: list[int], b: list[int]) -> None:
    """It counts ids from the start up to the first that differs."""
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    assert shared(packed(*a), packed(*b)) == shared(packed(*b), packed(*a)) == n


def test_the_last_token_is_always_evaluated() -> None:
    """The same prompt again costs one token."""
    mirror = Mirror(1)
    assert run(mirror, 0, 1, 2, 3) is None
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
    assert mirror.expected(packed(1, 2, 3)) is None
