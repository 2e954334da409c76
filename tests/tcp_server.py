"""A TCP server on this machine that answers with a function, and leaves no connection open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from ssl import SSLContext

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def tcp_server(
    answer: Answer, port: int = 0, certificate: SSLContext | None = None
) -> AsyncIterator[str]:
    """
    Yield the host and port of a server that runs *answer* for each connection; *port* 0 is one that
    is free.

    A client that closes or resets its connection ends *answer*, and so does the end of the server.
    The server closes every connection and waits for it: asyncio of Python 3.11.2 closes none by
    itself where *answer* raises.
    """
    running: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, asyncio.IncompleteReadError):
                await answer(reader, writer)
        finally:
            writer.close()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        running[writer] = asyncio.ensure_future(serve(reader, writer))

    server = await asyncio.start_server(accept, "127.0.0.1", port, ssl=certificate)
    try:
        yield "{}:{}".format(*server.sockets[0].getsockname())
    finally:
        server.close()
        for task in running.values():
            task.cancel()
        results = await asyncio.gather(*running.values(), return_exceptions=True)
        for writer in running:  # of a task that had not begun, too
            writer.close()
            with suppress(OSError):
                await (
                    writer.wait_closed()
                )  # by one task only: a task that is cancelled there cancels all
        await server.wait_closed()
    failed = [result for result in results if isinstance(result, Exception)]
    assert not failed, failed
