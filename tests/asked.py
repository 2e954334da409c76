"""What a session asks its backend for."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

from fim_lsp.session.session import Session
from server_bridge.protocol import Backend, Model, Reply, Request


def model_of(session: Session) -> Model:
    """Return the model of *session*, into which a test can put calls of its own: a choice of servers is its own model, as the fake is."""
    return cast(Model, session.connection.backend)


def requests_to(backend: Backend, seen: list[Request] | None = None) -> list[Request]:
    """Return the requests for text that *backend*, which is its own model, gets from now on, in *seen* or a new list."""
    seen = [] if seen is None else seen
    model = cast(Model, backend)
    stream = model.stream

    async def noting(request: Request) -> AsyncGenerator[Reply, None]:
        seen.append(request)
        async with aclosing(stream(request)) as replies:
            async for reply in replies:
                yield reply

    model.stream = noting  # type: ignore[method-assign]
    return seen
