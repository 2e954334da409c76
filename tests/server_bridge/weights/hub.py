"""A hub for tests: a real HTTP server that redirects, knows ranges, and can be told to go wrong."""

from __future__ import annotations

import contextlib
import hashlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from server_bridge.weights.table import OfferedModel

CONTENT = bytes(range(256)) * 40_000  # 10 MB: several pieces


def model(content: bytes = CONTENT) -> OfferedModel:
    return OfferedModel(
        "small", "someone/Small-GGUF", "abc123", "small.gguf", len(content),
        hashlib.sha256(content).hexdigest(), 1, {}, "MIT", is_free=True,
    )  # fmt: skip


@dataclass
class Hub:
    """
    What it holds, and how it answers: *ranges* or all of it always, and after so many
    bytes each of *cuts* ends one answer. *page*, a status and a text of unknown
    length, is all that it ever answers. *asked* are the first bytes that were asked for.
    """

    content: bytes = CONTENT
    ranges: bool = True
    cuts: list[int] = field(default_factory=list)
    asked: list[int] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""
    page: tuple[int, bytes] | None = None


@contextlib.contextmanager
def serving(hub: Hub, tls: ssl.SSLContext | None = None) -> Iterator[Hub]:
    """Run *hub* on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            hub.paths.append(self.path)
            if not self.path.startswith("/cdn/"):
                self._head(302, {"Location": "/cdn/blob", "Content-Length": "0"})
                return
            start = int(self.headers["Range"].partition("=")[2].rstrip("-"))
            hub.asked.append(start)
            if hub.page is not None:
                status, text = hub.page
                self._head(status, {"Transfer-Encoding": "chunked"})
                chunk = b"%x\r\n%b\r\n" % (len(text), text) if text else b""
                self.wfile.write(chunk + b"0\r\n\r\n")
                return
            start = start if hub.ranges else 0
            if start >= len(hub.content):
                self._head(416, {"Content-Length": "0"})
                return
            body = hub.content[start:]
            self._head(206 if hub.ranges else 200, {"Content-Length": str(len(body))})
            if hub.cuts:
                self.wfile.write(body[: hub.cuts.pop(0)])
                self.close_connection = True
            else:
                self.wfile.write(body)

        def _head(self, status: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    hub.url = f"{scheme}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
