"""
A web server that is not llama.cpp: gives one answer to everything, or one per path, and notes what
it is told. Where it has no answer for a path it closes the connection; `data:` is sent as events.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Recorder(ThreadingHTTPServer):
    """*heard* is a list of (method, path, body, key) in order of arrival."""

    def __init__(self, port: int, status: int, answer: bytes | dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.status, self.answer = status, answer
        self.headers: dict[str, str] = {}
        self.heard: list[tuple[str, str, bytes, str | None]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Recorder

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.heard.append((self.command, self.path, body, self.headers["Authorization"]))
        answer = self.server.answer
        if isinstance(answer, dict):
            if self.path not in answer:
                return
            answer = answer[self.path]
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        if answer.startswith(b"data:"):
            self.send_header("Content-Type", "text/event-stream")
        else:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = _answer  # noqa: N815 (http.server's names)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@contextmanager
def recorder(
    status: int = 200, answer: bytes | dict[str, bytes] = b'{"status": "ok"}', port: int = 0
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
