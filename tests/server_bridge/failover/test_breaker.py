"""When a broken server is asked again."""

from __future__ import annotations

import pytest

from server_bridge.failover.breaker import LONGEST_S, UNASKED_S, UNRELATED_S, Breaker, delay


def test_a_failure_opens_and_time_half_opens() -> None:
    """After a failure nothing is sent for a while; then one probe is, and its end decides."""
    breaker = Breaker("me")
    assert breaker.is_closed
    breaker.fail(10.0)
    assert not breaker.is_closed
    assert not breaker.is_half_open(10.0)
    assert breaker.is_half_open(10.25)
    breaker.succeed()
    assert breaker.is_closed
    assert not breaker.is_half_open(10.25)


def test_one_slow_answer_is_forgiven() -> None:
    """The second in a row is a failure; an answer in between starts the count again."""
    breaker = Breaker("me")
    breaker.slow(0)
    breaker.succeed()
    breaker.slow(0)
    assert breaker.is_closed
    breaker.slow(0)
    assert not breaker.is_closed


@pytest.mark.parametrize(
    ("named", "wrong", "longest"),
    [
        (True, False, LONGEST_S),
        (True, True, LONGEST_S),
        (False, False, UNASKED_S),
        (False, True, UNRELATED_S),
    ],
)
def test_waits_double_up_to_what_is_decent(named: bool, wrong: bool, longest: float) -> None:
    """A server that was named is asked again soon, one that was only found on a usual port seldom."""
    breaker, waits = Breaker("me", named), []
    for _ in range(12):
        breaker.fail(0.0, wrong=wrong)
        waits.append(breaker.retry_at)
    assert waits[0] <= 0.25
    assert longest / 2 <= waits[-1] <= longest


def test_clients_of_one_server_do_not_come_back_together() -> None:
    """Each client has a delay of its own, and always the same."""
    delays = [delay(4, LONGEST_S, f"client {n}") for n in range(100)]
    assert delays == [delay(4, LONGEST_S, f"client {n}") for n in range(100)]
    assert len({round(d, 3) for d in delays}) > 90
    assert max(delays) - min(delays) > 0.4 * max(delays)


def test_a_server_that_asks_for_time_gets_it() -> None:
    """Never asked sooner than it says, and not by all of its clients at once."""
    waits = []
    for n in range(100):
        breaker = Breaker(f"client {n}")
        breaker.fail(0.0, at_work=True, least_s=20.0)
        waits.append(breaker.retry_at)
    assert min(waits) >= 20
    assert max(waits) <= 30
    assert len({round(wait, 1) for wait in waits}) > 50
