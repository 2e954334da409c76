"""What a session asks its backend for."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from server_bridge.protocol import Backend, Reply, Request


def requests_to(backend: Backend, seen: list[Request] | None = None) -> list[Request]:
    """The requests for text that *backend* gets from now on, in *seen* or a new list."""
    seen = [] if seen is None else seen
    stream = backend.stream

    async def noting(request: Request) -> AsyncGenerator[Reply, None]:
        seen.append(request)
        async with aclosing(stream(request)) as replies:
            async for reply in replies:
                yield reply

    backend.stream = noting  # type: ignore[method-assign]
    return seen
