"""`failover.endpoints.choose`: which server a call goes to next, and how long it waits there."""

from __future__ import annotations

from typing import Any, cast

import pytest

from server_bridge.failover.endpoint import Endpoint
from server_bridge.failover.endpoints import CONNECT_S, choose
from server_bridge.http.responses import Loading
from server_bridge.protocol import BackendError, BackendUnavailable, BackendUnusable, Health, State

NOW = 100.0
ERRORS: dict[str, BackendError] = {
    "failed": BackendUnavailable("gone"),
    "resting": BackendUnavailable("gone"),
    "unusable": BackendUnusable("a wrong key"),
    "unusable, resting": BackendUnusable("a wrong key"),
    "loading": Loading("it loads"),
}


class Idle:
    """A backend of which only the state is read."""

    def __init__(self, *, is_ready: bool) -> None:
        self.state = State(Health.READY if is_ready else Health.UNKNOWN, "fake", "http://a")


def endpoint(words: str) -> Endpoint:
    last = words.startswith("last ")
    kind = words.removeprefix("last ")
    made = Endpoint(cast("Any", Idle(is_ready=kind == "ready")), strict=True, last=last)
    made.error = ERRORS.get(kind)
    made.rests_until = NOW + 1 if "resting" in kind else 0.0
    return made


@pytest.mark.parametrize(
    ("kinds", "n_passed", "expected"),
    [
        ("ready", 0, (0, 0.0)),
        ("new", 0, (0, None)),  # there is no other to go to
        ("new; new", 0, (0, CONNECT_S)),
        ("new; ready", 0, (0, CONNECT_S)),
        ("failed; ready", 0, (0, 0.0)),  # it is connected again beside the call
        ("failed; new", 0, (0, CONNECT_S)),
        ("failed; ready", 1, (1, 0.0)),
        ("resting; new", 0, (1, None)),
        ("resting; resting", 0, None),
        ("new; resting", 0, (0, None)),
        ("unusable; ready", 0, (0, CONNECT_S)),
        ("unusable; ready", 1, None),  # the user has to change something, and wants no other
        ("unusable, resting; ready", 0, None),
        ("ready; unusable, resting", 1, None),
        ("loading; last new", 1, None),  # the last resort is not worth starting now
        ("loading; last ready", 1, (1, 0.0)),
        ("failed; last new", 1, (1, None)),
        ("ready; ready", 2, None),
    ],
)
def test_the_next_step_of_a_call(
    kinds: str, n_passed: int, expected: tuple[int, float | None] | None
) -> None:
    """By what is known of each server, and which ones the call went to before."""
    endpoints = [endpoint(words) for words in kinds.split("; ")]
    step = choose(endpoints, endpoints[:n_passed], NOW)
    assert (step and (endpoints.index(step[0]), step[1])) == expected


def test_what_an_attempt_waited_already_counts() -> None:
    """A call that comes while a server is being connected waits for the rest only."""
    first = endpoint("new")
    second = endpoint("new")
    first.began = NOW - 0.75 * CONNECT_S
    first._attempt = cast("Any", type("Task", (), {"done": lambda _: False})())
    assert choose([first, second], [], NOW) == (first, 0.25 * CONNECT_S)
