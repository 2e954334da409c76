"""What a stream costs, piece by piece."""

from __future__ import annotations

from server_bridge.protocol import Timings

FIRST = Timings(prompt_n=9, cache_n=90, predicted_n=1, prompt_ms=5.0)


def test_only_the_first_piece_says_what_was_cached() -> None:
    """All that came before it in steps was evaluated, and is no find in the cache."""
    then = Timings(cache_n=99, predicted_n=2, draft_accepted_n=1)
    assert FIRST.plus(then) == Timings(9, 90, 3, 5.0, draft_accepted_n=1)
    assert Timings(prompt_n=80).plus(FIRST) == Timings(89, 10, 1, 5.0)


def test_a_part_is_what_came_since() -> None:
    """A server that counts less than before has taken nothing back."""
    assert FIRST.plus(Timings(predicted_n=2)).since(FIRST) == Timings(predicted_n=2)
    assert Timings().since(FIRST) == Timings()
