"""
Tasks that are under way: asyncio keeps none, so each is held until it ends. After the end of those
that they are for, none begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")

LAST_S = 0.3  # for a step on the wire: what is cut short leaves an unknown cache


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
        """End all; none begins any more."""
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
