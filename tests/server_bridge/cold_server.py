"""
An OpenAI-style server that loads its model at the first request, and gives up when the client hangs
up, as Ollama does. It loads until a test says that it has.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.tcp_server import tcp_server

MODEL = "qwen2.5-coder-7b"
LISTED = {"data": [{"id": MODEL, "owned_by": "library"}]}


class ColdServer:
    """
    *says* is what it answers; the counts are of loads, and *bodies* of what was asked while it had
    no model.
    """

    def __init__(self, says: str = "value_one + value_two") -> None:
        choice = {"text": says, "finish_reason": "stop"}
        self.says = says
        self.url = ""
        self.listed = json.dumps(LISTED).encode()
        self.stream = b"data: %s\n\ndata: [DONE]\n\n" % json.dumps({"choices": [choice]}).encode()
        self.is_loaded = False
        self.status = 200
        self.queues = False  # it says at once that the request waits its turn
        self.n_begun = self.n_given_up = 0
        self.bodies: list[Any] = []
        self.asked = asyncio.Event()
        self._may_end = asyncio.Event()

    def finish_loading(self) -> None:
        """Have the load under way, if there is one, end well."""
        self._may_end.set()

    def unload(self) -> None:
        """Forget the model, as after minutes without a request."""
        self.is_loaded = False
        self._may_end.clear()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            size = int((head.partition(b"content-length:")[2] or b"0\r").split(b"\r")[0])
            body = await reader.readexactly(size)
            if is_queued := self.queues and head.startswith(b"post"):
                writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n: PROCESSING\n\n")
            if head.startswith(b"post") and not self.is_loaded:
                await self._load(reader, json.loads(body))
            if is_queued:
                writer.write(self.stream)
                return
            if head.startswith(b"post") and not self.is_loaded:
                return
            answer = self.stream if head.startswith(b"post") else self.listed
            status = self.status if head.startswith(b"post") else 200
            writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n" % (status, len(answer)))
            writer.write(answer)

    async def _load(self, reader: asyncio.StreamReader, body: Any) -> None:
        self.n_begun += 1
        self.bodies.append(body)
        self.asked.set()
        ends = asyncio.ensure_future(self._may_end.wait())
        hangs_up = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({ends, hangs_up}, return_when=asyncio.FIRST_COMPLETED)
        self.is_loaded = ends.done()
        self.n_given_up += not self.is_loaded
        for task in (ends, hangs_up):
            task.cancel()
        await asyncio.gather(ends, hangs_up, return_exceptions=True)


@asynccontextmanager
async def cold_server(**how: Any) -> AsyncIterator[ColdServer]:
    """A running one."""
    server = ColdServer(**how)
    async with tcp_server(server.answer) as host:
        server.url = f"http://{host}"
        yield server
