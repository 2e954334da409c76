"""
Another request beside one that brings no text, on a new connection.

A request may be on a connection that is dead, of a proxy that restarts or of a dropped address, or
with a server that sends comments and events for ever; or it has a place in a queue, and will be
answered. So the request stays open, and from time to time another is sent beside it, in place of
the other before: the server has two at most of them, and the first text ends the wait.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import Any, TypeVar

from server_bridge.http.client import Http
from server_bridge.http.responses import Object, optional
from server_bridge.openai.stream import ChatText, CompletionEvent
from server_bridge.protocol import BackendError, BackendUnavailable

SOON_S = 5.0  # until a server that was heard lately is asked once more
AGAIN_S = (10.0, 20.0, 40.0)  # and then, and any other; the last of these again and again

T = TypeVar("T")

log = logging.getLogger(__name__)


async def ask_further(ask: Callable[[], Awaitable[T]], url: str, *, soon: bool = True) -> T:
    """
    Call *ask* from time to time, *soon* for the first time, and return its first result; a call is
    given up before the next. Its failure says nothing of the request that is open beside it: the
    server may take requests one at a time.
    """
    first_s, *pauses = (SOON_S, *AGAIN_S) if soon else AGAIN_S
    await asyncio.sleep(first_s)
    for pause_s in itertools.chain(pauses, itertools.repeat(AGAIN_S[-1])):
        try:
            async with asyncio.timeout(pause_s):
                return await ask()
        except TimeoutError:
            log.info("openai.silent url=%s", url)
        except BackendError:
            await asyncio.sleep(pause_s)
    raise AssertionError


async def first_to_write(
    events: AsyncGenerator[Object, None], http: Http, path: str, body: bytes
) -> AsyncGenerator[Object, None]:
    """
    Yield the *events* of a request to *http*; from its first text on those of another one, equal to
    it, that writes sooner.
    """
    event = await anext(events, None)  # before a first byte, `waking` decides
    begin = partial(_begin, http, path, body)
    further = asyncio.create_task(ask_further(begin, http.url), name="ask beside")
    coming: asyncio.Future[Object | None] = asyncio.Future()
    try:
        while event is not None and not _writes(event):
            yield event
            coming = asyncio.ensure_future(anext(events, None))
            await asyncio.wait({coming, further}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                log.info("openai.overtaken url=%s", http.url)
                await end_tasks(coming)  # and with it the request
                event, events = further.result()
            else:
                event = coming.result()
        further.cancel()
        while event is not None:
            yield event
            event = await anext(events, None)
    finally:
        await end_tasks(coming)
        await events.aclose()
        [unused] = await end_tasks(further)
        if isinstance(unused, tuple):
            await unused[1].aclose()


async def end_tasks(*tasks: asyncio.Future[Any]) -> list[Any]:
    """Cancel *tasks*, and return the result of each, or why it has none."""
    for task in tasks:
        task.cancel()
    return await asyncio.gather(*tasks, return_exceptions=True)


def _writes(event: Object) -> bool:
    """Return whether *event* has text, or a model's thoughts."""
    seen = optional(CompletionEvent, event)
    choices = filter(None, (seen and seen.choices) or [])
    said = ((each.any_text, each.delta or ChatText()) for each in choices)
    return any(text or chat.reasoning or chat.reasoning_content for text, chat in said)


async def _begin(http: Http, path: str, body: bytes) -> tuple[Object, AsyncGenerator[Object, None]]:
    """Send a request on a new connection; return its first text and the events behind it."""
    events = _stream(http.another(), path, body)
    event = await anext(events, None)
    if event is None:
        raise BackendUnavailable(f"{http.url} wrote nothing")
    return event, events


async def _stream(http: Http, path: str, body: bytes) -> AsyncGenerator[Object, None]:
    """Yield the events of a request from its first text on, and close its connection."""
    is_begun = False
    try:
        async with aclosing(http.stream(path, body)) as events:
            async for event in events:
                is_begun = is_begun or _writes(event)
                if is_begun:
                    yield event
    finally:
        await http.aclose()
