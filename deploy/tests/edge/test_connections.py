"""Connections that nginx keeps open to llama.cpp's servers: one that ends costs no request, and no server counts as dead."""

from __future__ import annotations

import queue
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path

from deploy.tests.edge.nginx import LOGIN, PATIENCE_S, edge

IDLE_S = (
    5.0  # llama.cpp closes a connection after that, as its answers say: `Keep-Alive: timeout=5`
)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
Handle = Callable[[socketserver.StreamRequestHandler], None]


@contextmanager
def serving(handle: Handle) -> Iterator[str]:
    """Serve each connection by *handle*, in a thread; yields the address."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            handle(self)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def read(connection: socketserver.StreamRequestHandler) -> bool:
    """Read a request without a body; return whether there was one."""
    n_lines = 0
    for line in connection.rfile:
        n_lines += 1
        if line == b"\r\n":
            return True
    return n_lines > 0


def test_nginx_ends_an_idle_connection_before_llama_cpp_does(tmp_path: Path) -> None:
    """So no request is on its way to a server that is closing its connection."""
    ended = queue.Queue[str]()

    def handle(connection: socketserver.StreamRequestHandler) -> None:
        while read(connection):
            connection.wfile.write(ANSWER)
            connection.request.settimeout(IDLE_S)
            try:
                connection.request.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                ended.put("by the server")
                return
        ended.put("by nginx")

    with serving(handle) as address, edge("llama.cpp", address, tmp_path) as front:
        assert front.ask("GET", "/health")[0] == 200
        assert ended.get(timeout=PATIENCE_S) == "by nginx"


def test_a_connection_that_ends_is_no_dead_server(tmp_path: Path) -> None:
    """Each server ends one under a request, within a second: these requests and all others are answered."""
    statuses = list[int]()
    n_ended = [0]

    def handle(connection: socketserver.StreamRequestHandler, n: int) -> None:
        n_answered = 0
        while read(connection):
            if n_answered and n_ended[0] == n and len(statuses) >= 20 + 40 * n:
                n_ended[0] += 1
                return
            connection.wfile.write(ANSWER)
            n_answered += 1

    with ExitStack() as stack:
        both = [stack.enter_context(serving(partial(handle, n=n))) for n in range(2)]
        front = stack.enter_context(edge("llama.cpp", both[0], tmp_path, both[1]))
        connection = stack.enter_context(closing(front.connection()))
        for n in range(100):
            connection.request("GET", "/props", headers={**LOGIN, "X-Session-ID": str(n % 10)})
            answer = connection.getresponse()
            answer.read()
            statuses.append(answer.status)
    assert n_ended == [2]
    assert statuses == [200] * 100


def test_what_is_no_completion_has_limits_too(tmp_path: Path) -> None:
    """By member: the answer is 429, or 413 for a text that no prompt has."""
    waiting = threading.Event()

    def handle(connection: socketserver.StreamRequestHandler) -> None:
        while read(connection):
            waiting.wait(PATIENCE_S)
            connection.wfile.write(ANSWER)

    with (
        serving(handle) as address,
        edge("llama.cpp", address, tmp_path) as front,
        ExitStack() as s,
    ):
        assert front.ask("POST", "/tokenize", body=b"x" * 1_900_000)[0] == 413
        asked = [s.enter_context(closing(front.connection())) for _ in range(9)]
        for connection in asked:
            connection.request("GET", "/slots", headers=LOGIN)
        first = queue.Queue[int]()
        for connection in asked:
            threading.Thread(
                target=lambda each=connection: first.put(each.getresponse().status), daemon=True
            ).start()
        assert first.get(timeout=PATIENCE_S) == 429
        waiting.set()
        assert [first.get(timeout=PATIENCE_S) for _ in range(8)] == [200] * 8
        statuses = list[int]()
        with closing(front.connection()) as connection:
            while 429 not in statuses and len(statuses) < 1000:
                connection.request("GET", "/health", headers=LOGIN)
                answer = connection.getresponse()
                answer.read()
                statuses.append(answer.status)
    assert 150 < len(statuses) < 1000
