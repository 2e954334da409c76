"""
A web server that is not llama.cpp: gives one answer to everything, one per path, or what a function
makes of the request, and notes what it is told. Where it has no answer for a path it closes the
connection; `data:` is sent as events, and what was recorded of a server, from `HTTP/` on, as it is.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple


class Heard(NamedTuple):
    """A request; *key* is its header `Authorization`."""

    method: str
    path: str
    body: bytes
    key: str | None


Answer = bytes | dict[str, bytes] | Callable[[Heard], tuple[int, bytes]]


class Recorder(ThreadingHTTPServer):
    """*heard* are the requests in order of arrival."""

    def __init__(self, port: int, status: int, answer: Answer) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.status = status
        self.answer = answer
        self.headers: dict[str, str] = {}
        self.heard: list[Heard] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Recorder

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        heard = Heard(self.command, self.path, body, self.headers["Authorization"])
        self.server.heard.append(heard)
        status = self.server.status
        answer = self.server.answer
        if callable(answer):
            status, answer = answer(heard)
        elif isinstance(answer, dict):
            if self.path not in answer:
                return
            answer = answer[self.path]
        if answer.startswith(b"HTTP/"):
            self.wfile.write(answer)
            return
        self.send_response(status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        is_stream = answer.startswith(b"data:")
        if is_stream and "Content-Type" not in self.server.headers:
            self.send_header("Content-Type", "text/event-stream")
        if not is_stream:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        for piece in answer.splitlines(keepends=True) if is_stream else [answer]:
            self.wfile.write(piece)

    do_GET = do_POST = _answer  # noqa: N815 (http.server's names)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


def events(*messages: object) -> bytes:
    """Return a stream of server-sent events and its end."""
    lines = [f"data: {json.dumps(message)}\n\n" for message in messages]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def stream(*messages: str, is_whole: bool = False) -> bytes:
    """
    Return the bytes of a streamed answer with *messages* as its data, as uvicorn sends them:
    without the last chunk, unless it *is_whole*, because the connection was dropped.
    """
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    head += b"transfer-encoding: chunked\r\n\r\n"
    pieces = [f"data: {message}\r\n\r\n".encode() for message in messages]
    chunks = [b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces]
    return head + b"".join(chunks) + b"0\r\n\r\n" * is_whole


@contextmanager
def recorder(
    status: int = 200, answer: Answer = b'{"status": "ok"}', port: int = 0
) -> Iterator[Recorder]:
    """A running recorder."""
    with Recorder(port, status, answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
