"""A server on loopback that notes every request: behind nginx, or as a worker of a router."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

MODEL = "coder"
N_CTX = 16384
LISTED = {"id": MODEL, "object": "model", "owned_by": "vllm", "max_model_len": N_CTX}
EVENT = {"choices": [{"index": 0, "text": "x", "finish_reason": None}]}


class Seen(NamedTuple):
    """A request as it came."""

    line: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Upstream:
    """
    State: the requests it has *seen*, whether the client of its last stream has *left*, and whether it is *dead*.
    *stop* ends it, as a crash would: open connections get no answer, either.
    """

    address: str
    seen: list[Seen] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)
    dead: bool = False
    stop: Callable[[], None] = lambda: None

    @property
    def url(self) -> str:
        """For a router's list of workers."""
        return f"http://{self.address}"

    @property
    def completions(self) -> list[Seen]:
        """Those that had code in them."""
        return [each for each in self.seen if each.line.startswith("POST /v1/completions ")]


@contextmanager
def upstream() -> Iterator[Upstream]:
    """Listens while the block runs; answers like a model server, and does nothing."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    found = server.noted = Upstream(f"127.0.0.1:{server.server_port}")  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def stop() -> None:
        server.noted.dead = True  # type: ignore[attr-defined]
        server.shutdown()
        server.server_close()

    found.stop = stop
    try:
        yield found
    finally:
        stop()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        noted: Upstream = self.server.noted  # type: ignore[attr-defined]
        if noted.dead:
            self.close_connection = True
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        noted.seen.append(Seen(self.requestline, dict(self.headers), body))
        if b'"stream":true' in body.replace(b" ", b""):
            self._stream(noted, is_whole=b'"prompt"' in body)
        elif self.path == "/v1/models":
            self._send({"object": "list", "data": [LISTED]})
        elif self.path == "/v1/completions":
            self._send({**EVENT, "model": MODEL, "usage": {}})
        else:
            self._send({"status": "ok", "model_id": MODEL, "model_path": MODEL})

    def _send(self, value: object) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _stream(self, noted: Upstream, *, is_whole: bool) -> None:
        """One event; then nothing until the client leaves, or where it *is_whole* the end."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: %s\n\n" % json.dumps(EVENT).encode())
        if is_whole:
            end = {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}
            self.wfile.write(b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(end).encode())
        elif not self.rfile.read(1):
            noted.left.set()

    def __getattr__(self, name: str) -> Callable[[], None]:
        """Return every method of HTTP, as `http.server` looks for it."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def log_message(self, format: str, *args: object) -> None:
        """Not to the terminal."""
