"""
Connecting to several servers at once: how long to wait for which.

Plan. The ones that the user named start together; those on usual ports follow when no named one is left,
or none was quick. The best one that is ready wins. A better one that is silent is waited for a moment,
and a second where only the last resort is left, which has to be started first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from server_bridge.failover.endpoint import Endpoint

GRACE_S = 0.5  # for a better one while another is ready
HEAD_START_S = 0.5  # for the named ones, before other servers on this machine are asked
LIMIT_S = 1.0  # before the last resort is started; a completion takes two seconds at most
FOREVER_S = 600.0  # where there is nothing else; the backend's own limits are shorter


async def connect(left: list[Endpoint]) -> None:
    """
    Connect those of *left* that are better than the first that is ready.

    Returns when the best one is ready, or when waiting longer would cost more than it is worth. Those
    that cannot be connected are taken out of *left*.
    """
    started, begun = time.monotonic(), set[Endpoint]()
    while True:
        elapsed = time.monotonic() - started
        for endpoint in _due(left, elapsed):
            if endpoint not in begun:
                endpoint.connect()
                begun.add(endpoint)
        awaited = [e for e in _before_ready(left) if e.attempt and not e.is_overdue]
        if not awaited or elapsed >= _patience(left):
            break
        ends = [end for end in (HEAD_START_S, _patience(left)) if end > elapsed]
        await wait_for_first([e.attempt for e in awaited if e.attempt], started + min(ends))
    for endpoint in awaited:
        endpoint.is_overdue = True
    for endpoint in begun:
        if not endpoint.is_ready and not endpoint.attempt:
            left.remove(endpoint)


async def wait_for_first(tasks: Sequence[asyncio.Task[None]], at: float | None) -> None:
    """Return when one of *tasks* is done, or at that time of the monotonic clock."""
    timeout = None if at is None else max(0.0, at - time.monotonic())
    if tasks:
        await asyncio.wait(tasks, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    elif timeout is not None:
        await asyncio.sleep(timeout)


def readiness(endpoint: Endpoint) -> int:
    """Return the order in which endpoints are taken: ready, to connect, too slow to connect."""
    if endpoint.is_ready:
        return 0
    return 2 if endpoint.is_overdue else 1


def _due(left: list[Endpoint], elapsed: float) -> list[Endpoint]:
    """Return those to start connecting after so many seconds."""
    better = _before_ready(left)
    is_open = elapsed >= HEAD_START_S or not any(_may_be_quick(endpoint) for endpoint in better)
    return [endpoint for endpoint in better if endpoint.named or is_open]


def _may_be_quick(endpoint: Endpoint) -> bool:
    """Return whether it was named, and may be ready in a moment."""
    is_untried = endpoint.attempt is None and endpoint.breaker.is_closed
    return (
        endpoint.named and not endpoint.is_overdue and (is_untried or endpoint.attempt is not None)
    )


def _patience(left: list[Endpoint]) -> float:
    """Return how many seconds to wait for a better one, by what there is instead."""
    if any(endpoint.is_ready for endpoint in left):
        return GRACE_S
    return LIMIT_S if any(endpoint.last for endpoint in left) else FOREVER_S


def _before_ready(left: list[Endpoint]) -> list[Endpoint]:
    """Return those before the first that is ready, without the last resort."""
    n_better = next((n for n, endpoint in enumerate(left) if endpoint.is_ready), len(left))
    return [endpoint for endpoint in left[:n_better] if not endpoint.last]
