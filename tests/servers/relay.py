"""A relay in front of a server, which counts what it is asked and remembers the texts that it says."""

from __future__ import annotations

import json
import re
import socket
import socketserver
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

ASKED = re.compile(rb"(GET|POST) (\S+) HTTP/1")
CHUNK = re.compile(rb"\r\n[0-9a-f]+\r\n")  # the frame of a piece of a chunked body
TEXT = re.compile(r'"(?:text|content)":\s*("(?:[^"\\]|\\.)*")')
PIECE = 1 << 16


class Relay(socketserver.ThreadingTCPServer):
    """Passes all on to *url*, piece by piece as it comes, and closes what the other side closes."""

    daemon_threads = True

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self.behind = (place.hostname or "", place.port or 80)
        self.asked: Counter[str] = Counter()  # by method and path
        self.said = bytearray()
        super().__init__(("127.0.0.1", 0), _Connection)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def n_asked(self) -> int:
        """How many texts were asked for."""
        paths = ("/completion", "/v1/completions", "/v1/chat/completions", "/infill")
        return sum(self.asked[f"POST {path}"] for path in paths)

    @property
    def text(self) -> str:
        """All texts that were said, one after the other."""
        said = CHUNK.sub(b"", bytes(self.said)).decode("utf-8", "replace")
        return "".join(str(json.loads(found)) for found in TEXT.findall(said))


class _Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Relay)
        with suppress(OSError), socket.create_connection(self.server.behind) as behind:
            back = threading.Thread(target=self._pass_back, args=(behind,), daemon=True)
            back.start()
            with suppress(OSError):
                while piece := self.request.recv(PIECE):
                    if found := ASKED.match(piece):
                        path = found[2].decode("latin-1").partition("?")[0]
                        self.server.asked[f"{found[1].decode()} {path}"] += 1
                    behind.sendall(piece)
            _shut(behind)
            back.join()

    def _pass_back(self, behind: socket.socket) -> None:
        with suppress(OSError):
            while piece := behind.recv(PIECE):
                assert isinstance(self.server, Relay)
                self.server.said += piece
                self.request.sendall(piece)
        _shut(self.request)


def _shut(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)


@contextmanager
def relay(url: str) -> Iterator[Relay]:
    """A running relay."""
    with Relay(url) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()
