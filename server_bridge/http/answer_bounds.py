"""
The bounds of a streamed answer: a server may be broken or hostile, and never end.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TypeVar

from server_bridge.http.responses import answer_error

SILENT_S = 60.0  # an answer without new text for so long
LONGEST_TOKEN = 128  # characters: vocabularies have runs of so many spaces
SPARE_TOKENS = 8
# From the reason on until the answer ends: for the usage. Some servers hold the connection open.
END_S = 0.1

T = TypeVar("T")


class AnswerBounds:
    """
    The bounds of one answer of *n_predict* tokens: of its length, of its events, *most*, and of
    those without text, *most_empty* in a row. State: how many came, and when text came last.
    """

    def __init__(self, url: str, n_predict: int, most_empty: int, most: float = math.inf) -> None:
        self._url = url
        self._longest = LONGEST_TOKEN * (SPARE_TOKENS + n_predict)
        self._most_empty = most_empty
        self._most = most
        self._n_chars = self._n_empty = self._n_events = 0
        self._since = time.monotonic()

    def note(self, n_chars: int) -> None:
        """Note an event, with which there are *n_chars*. Raises UnexpectedAnswer."""
        now = time.monotonic()
        self._n_events += 1
        self._n_empty += 1
        if n_chars > self._n_chars:
            self._n_chars = n_chars
            self._n_empty = 0
            self._since = now
        if n_chars > self._longest or self._n_events > self._most:
            raise answer_error(self._url, "more than was asked for")
        if self._n_empty > self._most_empty or now - self._since > SILENT_S:
            raise answer_error(self._url, "events without text, and no end")


async def until_late(
    events: AsyncIterator[T], has_ended: Callable[[], bool]
) -> AsyncGenerator[T, None]:
    """Yield *events*, but none later than `END_S` behind that with which the answer *has_ended*."""
    due = None
    while True:
        if due is None and has_ended():
            due = asyncio.get_running_loop().time() + END_S
        limit = asyncio.timeout_at(due)
        try:
            async with limit:
                event = await anext(events)
        except StopAsyncIteration:
            return
        except TimeoutError:
            if limit.expired():
                return
            raise
        yield event
