"""Tasks that are under way: asyncio keeps none, so each is held until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Tasks(set[asyncio.Task[None]]):
    """The tasks that were started here and have not ended."""

    def start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        """Start *work*, and hold its task until it ends."""
        task = asyncio.create_task(work, name=name)
        self.hold(task)
        return task

    def hold(self, task: asyncio.Task[None]) -> None:
        """Hold a task that was started elsewhere until it ends."""
        self.add(task)
        task.add_done_callback(self.discard)
