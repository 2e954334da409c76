"""A web server that is not llama.cpp: gives one answer to everything and notes what it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Recorder(ThreadingHTTPServer):
    """*heard* is a list of (method, path, body, key) in order of arrival."""

    def __init__(self, port: int, status: int, answer: bytes) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.status, self.answer = status, answer
        self.heard: list[tuple[str, str, bytes, str | None]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Recorder

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.heard.append((self.command, self.path, body, self.headers["Authorization"]))
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    do_GET = do_POST = _answer  # noqa: N815 (http.server's names)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@contextmanager
def recorder(
    status: int = 200, answer: bytes = b'{"status": "ok"}', port: int = 0
) -> Iterator[Recorder]:
    """A running recorder."""
    with Recorder(port, status, answer) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()
