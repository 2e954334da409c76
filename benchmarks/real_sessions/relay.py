"""
What a client and its model server say to each other, passed on byte by byte and noted.

    python -m benchmarks.real_sessions.relay URL FILE

prints its address and relays until its stdin ends; then FILE has the requests for text, as JSON. It is a process of
its own, so that what reads the editor's screen delays no client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.real_sessions.scores import Request

HEAD = re.compile(rb"[A-Z]+ (\S+) HTTP/1.1\r\n(?:[^\r]+\r\n)*\r\n")
LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.IGNORECASE)
EVENT = re.compile(rb"^(?:data: )?(\{.*\})\r?$", re.MULTILINE)
FOR_TEXT = ("/infill", "/completion")
READ = 1 << 16


@contextlib.contextmanager
def relayed(url: str, file: Path) -> Iterator[str]:
    """The address at which *url* answers, too, until the block ends; what is asked for is noted in *file*."""
    command = [sys.executable, "-m", "benchmarks.real_sessions.relay", url, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            yield child.stdout.readline().decode().strip()
        finally:
            child.stdin.close()


def requests(file: Path) -> tuple[Request, ...]:
    """Return what was noted of requests for text, in order of their beginning."""
    return tuple(sorted(Request(**noted) for noted in json.loads(file.read_text("utf-8"))))


class Exchange:
    """A request and what came of its answer so far."""

    def __init__(self, path: str, body: bytes) -> None:
        self.began = self.last = time.monotonic()
        self.first = 0.0
        self._answer = b""
        self._asked: dict[str, Any] = json.loads(body) if path in FOR_TEXT else {}

    def took(self, data: bytes) -> None:
        """Append a part of the answer."""
        self.last = time.monotonic()
        self._answer += data
        if not self.first and b'"content":"' in self._answer.replace(b'"content":""', b""):
            self.first = self.last

    def noted(self) -> Request | None:
        """It in figures; None where no text was asked for."""
        if not self._asked.get("n_predict"):
            return None
        events = [json.loads(event) for event in EVENT.findall(self._answer)]
        text, last = "".join(event.get("content", "") for event in events), (events or [{}])[-1]
        ended = last.get("stop") or (last and not self._asked.get("stream"))
        how = "closed" if not ended else "whole" if text else "empty"
        return Request(self.began, self.first, self.last, self._n_prompt(last), text, how)

    def _n_prompt(self, last: dict[str, Any]) -> int:
        """Return the tokens of the prompt: as sent, or what the slot held behind the answer less what was decoded."""
        if isinstance(prompt := self._asked["prompt"], list):
            return len(prompt)
        return max(0, int(last.get("tokens_cached", 0)) - int(last.get("timings/predicted_n", 0)))


class Relay:
    """See the module. State: all exchanges so far."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._exchanges: list[Exchange] = []

    async def run(self) -> None:
        """Relay for ever."""
        server = await asyncio.start_server(self._pass, "127.0.0.1")
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await asyncio.Event().wait()

    def write(self, file: Path) -> None:
        """Note what was asked for so far."""
        noted = [exchange.noted() for exchange in self._exchanges]
        file.write_text(json.dumps([each._asdict() for each in noted if each]), "utf-8")

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(self._host, self._port)
        current: list[Exchange] = []
        tasks = {
            asyncio.ensure_future(self._ask(reader, there[1], current)),
            asyncio.ensure_future(_answer(there[0], writer, current)),
        }
        _, open_ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in open_:
            task.cancel()  # a client that hangs up is how it cancels: pass it on
        for side in (writer, there[1]):
            side.close()

    async def _ask(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, current: list[Exchange]
    ) -> None:
        """Pass requests on as they come, and begin an exchange with each."""
        seen = b""
        while data := await source.read(READ):
            sink.write(data)
            seen += data
            while head := HEAD.match(seen):
                length = LENGTH.search(head[0])
                end = head.end() + (int(length[1]) if length else 0)
                if len(seen) < end:
                    break
                current[:] = [Exchange(head[1].decode(), seen[head.end() : end])]
                self._exchanges += current
                seen = seen[end:]
            await sink.drain()


async def _answer(
    source: asyncio.StreamReader, sink: asyncio.StreamWriter, current: list[Exchange]
) -> None:
    """Pass answers back, each to its exchange."""
    while data := await source.read(READ):
        sink.write(data)
        for exchange in current:
            exchange.took(data)
        await sink.drain()


def main() -> None:
    """Relay until stdin ends."""
    url = urlsplit(sys.argv[1])
    relay = Relay(url.hostname or "", url.port or 0)
    threading.Thread(target=asyncio.run, args=(relay.run(),), daemon=True).start()
    sys.stdin.read()
    relay.write(Path(sys.argv[2]))


if __name__ == "__main__":
    main()
