"""
The way to disks, which may not answer: a network home, an encrypted folder.

A look has a thread of its own, never the event loop's, nor one of asyncio's few: these compute, and
would all hang with one disk. A question that is asked again and again is answered by
what was seen last (`LastSeen`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")

DISK_S = 2.0  # a machine that is busy takes less
SOON_S = 0.05  # a key waits no longer for what was seen before
_THREADS = ThreadPoolExecutor(400, "disk")  # each look may hang


async def in_disk_thread(look: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Run *look* in a thread reserved for slow disks; return what it returns."""
    work = partial(look, *arguments, **options)
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work)


async def within(look: Callable[[], T], undo: Callable[[T], object] = lambda _: None) -> T:
    """
    Return what *look* returns. Raises TimeoutError, an OSError, after `DISK_S`; a result that comes
    later, or once no caller waits, is *undone*.
    """
    looking = asyncio.ensure_future(in_disk_thread(look))

    def undo_late(late: asyncio.Future[T]) -> None:
        if not late.cancelled() and late.exception() is None:
            begin(partial(undo, late.result()))

    try:
        async with asyncio.timeout(DISK_S):
            return await asyncio.shield(looking)
    except TimeoutError:
        if looking.done():
            raise
        looking.add_done_callback(undo_late)
        raise TimeoutError("its disk does not answer") from None
    except asyncio.CancelledError:
        looking.add_done_callback(undo_late)
        raise


def begin(work: Callable[[], object]) -> None:
    """Begin *work*, for whose end no caller waits."""
    _THREADS.submit(work)


class LastSeen(Generic[T]):
    """
    The last value that *look*, which never fails, saw; *seen* before the first look.
    """

    def __init__(self, look: Callable[[], T], seen: T) -> None:
        self.seen = seen
        self.looking: Future[None] | None = None
        self._look = look
        self._began = 0.0

    async def ask(self) -> T:
        """Look again; return what was seen, of now where that comes in `SOON_S`."""
        now = time.monotonic()
        if self.looking is None or self.looking.done():
            self._began = now
            self.looking = _THREADS.submit(self._see)
        if (left_s := self._began + SOON_S - now) > 0:
            await asyncio.wait([asyncio.wrap_future(self.looking)], timeout=left_s)
        return self.seen

    def _see(self) -> None:
        self.seen = self._look()
