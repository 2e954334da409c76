"""
Tasks that are under way: asyncio keeps none, so each is held until it ends. After the end of those
that they are for, none begins.

The newest piece of work of each kind (`Newest`): the one way in which newer work takes the place of
older. Work claims its kind when it begins, and asks after each wait whether it is still the newest
before it writes what outlives it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

LAST_S = 0.3  # for a step on the wire: a step cut short leaves an unknown cache


class Tasks(set[asyncio.Task[Any]]):
    """
    The tasks that were started here and have not ended. *are_over*: a task that is started is
    cancelled before it begins.
    """

    are_over = False

    def start(self, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
        """Start *work*, and hold its task until it ends."""
        task = asyncio.create_task(work, name=name)
        self.add(task)
        task.add_done_callback(self.discard)
        if self.are_over:
            task.cancel()
        return task

    def end(self) -> None:
        """End all tasks, and begin none again."""
        self.are_over = True
        for task in self:
            task.cancel()

    async def aclose(self, within_s: float | None = 0.0) -> None:
        """
        Let none begin any more, and end those that take longer than *within_s*; None: wait for all.
        """
        self.are_over = True
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.gather(*self, return_exceptions=True), within_s)


class Claim(Generic[K]):
    """One piece of work on *key*; *end* stops it when it is not the newest any more."""

    def __init__(self, claims: dict[K, Claim[K]], key: K, end: Callable[[], object]) -> None:
        self._claims = claims
        self._key = key
        self.end = end

    @property
    def is_newest(self) -> bool:
        """Return whether no other work on its key was begun since, and it was not released."""
        return self._claims.get(self._key) is self

    def release(self) -> None:
        """End the claim: the work is done. A newer one stays as it is."""
        if self.is_newest:
            del self._claims[self._key]


class Newest(Generic[K]):
    """The claims by key, one of each."""

    def __init__(self) -> None:
        self._claims: dict[K, Claim[K]] = {}

    def claim(self, key: K, end: Callable[[], object] = lambda: None) -> Claim[K]:
        """Begin work on *key*, which ends the work before it."""
        if before := self._claims.get(key):
            before.end()
        mine = self._claims[key] = Claim(self._claims, key, end)
        return mine

    def drop(self, key: K) -> None:
        """End the work on *key*, if there is any; no claim is the newest then."""
        if before := self._claims.pop(key, None):
            before.end()
