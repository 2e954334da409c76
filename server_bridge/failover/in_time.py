"""An answer of one server that must grow in time, while another server could go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from server_bridge.protocol import BackendTimeout, Model, Prompt, Reply, Request

# A completion may wait so long for a prompt on a server that has nothing of it, in steps of about
# STEP_S.
COLD_S = 1.0
STEP_S = 0.25
# Where another server can go on: of an answer that does not grow, whatever else is sent.
TEXT_S = 2.0


class Cold(BackendTimeout):
    """The server is healthy, but holds nothing of this prompt: warm it in steps."""


async def grow(
    model: Model, request: Request, limit_s: float | None
) -> AsyncGenerator[Reply, None]:
    """Yield the answer. Raises BackendTimeout where it does not grow for *limit_s*."""
    clock = asyncio.get_running_loop().time
    silent_s = 0.0
    async with aclosing(model.stream(request)) as replies:
        while True:
            began = clock()
            try:
                async with asyncio.timeout(limit_s and limit_s - silent_s):
                    reply = await anext(replies, None)
            except TimeoutError:
                raise BackendTimeout(f"{model.state.url} writes no text") from None
            if reply is None:
                return
            silent_s = 0.0 if reply.text else silent_s + clock() - began
            yield reply


async def catch_up(model: Model, prompt: Prompt) -> None:
    """
    Warm *prompt* on a server it is new to. Raises Cold where that takes too long for a completion.
    """
    end = time.monotonic() + COLD_S
    while (await model.warm(prompt, round(model.state.prefill_per_s * STEP_S))).left:
        if time.monotonic() > end:
            raise Cold(f"{model.state.url} is still evaluating the prompt")
