"""The server that tests answer with."""

from __future__ import annotations

import asyncio

from tests.tcp_server import tcp_server


async def test_it_ends_while_a_connection_closes() -> None:
    """Which is no error: one that no test may catch would leave the fixtures of this test to all that follow."""
    answered = asyncio.Event()

    async def answer(_reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        answered.set()

    async with tcp_server(answer) as host:
        name, port = host.split(":")
        _, writer = await asyncio.open_connection(name, int(port))
        await answered.wait()
    writer.close()
    await writer.wait_closed()
