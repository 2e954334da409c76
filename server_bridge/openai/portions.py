"""
Completions from servers that end a stream where another request waits: the rest in portions, each
in one go.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace

from server_bridge.openai.stream import TurnLost
from server_bridge.protocol import Reply, Request, Stop, rest

# Where a server gave the turn of a stream to another request: the wait, random so that two clients
# do not come back together, and the tokens of an answer that is not streamed, which cannot be left.
TURN_S = (0.02, 0.2)
PORTION = 32


async def wait_turn() -> None:
    """Return after a moment."""
    low, high = TURN_S
    spread = time.monotonic_ns() % 1000 / 1000  # another one for each client
    await asyncio.sleep(low + spread * (high - low))


async def stream_in_turn(
    complete: Callable[[Request], Awaitable[Reply]],
    streamed: AsyncGenerator[Reply, None],
    request: Request,
) -> AsyncGenerator[Reply, None]:
    """
    Yield the replies to *request*, which come *streamed*. Where the stream loses its turn, the rest
    is asked for in whole answers: the server interrupts none, so every client gets its turn.
    """
    so_far: list[Reply] = []
    try:
        async with aclosing(streamed) as replies:
            async for reply in replies:
                so_far.append(reply)
                yield reply
        return
    except TurnLost:
        left = rest(request, *so_far)
        await wait_turn()
    while left is not None:
        reply = await complete(replace(left, n_predict=min(left.n_predict, PORTION)))
        yield reply
        left = rest(left, reply) if reply.stop is Stop.LIMIT and reply.text else None
