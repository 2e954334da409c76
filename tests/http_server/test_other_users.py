"""Programs of other users are not answered, however they connect."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator

import pytest

from fim_lsp.http_server import connections
from fim_lsp.http_server.connections import HttpRequest, ListeningPort, Response
from server_bridge.machine import sockets

ASK = b"GET /page/state HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
RUBBISH = b"GET / HTTP/1.1\r\n" * 5000

ASK_AS_ANOTHER = """
import os, socket, sys
"".encode("idna")  # read before the user may not
os.setuid(65534)
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
try:
    connection.sendall(sys.stdin.buffer.read())
    if sys.argv[2] == "half":
        connection.shutdown(socket.SHUT_WR)
    print(connection.makefile("rb").read())
except OSError:  # closed already, at whatever point
    print(b"")
"""

pytestmark = [
    pytest.mark.skipif(not sockets.can_tell(), reason="the system does not tell"),
    pytest.mark.promise("your-programs-only"),
]


async def handle(_request: HttpRequest) -> Response:
    return Response(200, {}, b"def private(): ...")


@pytest.fixture
async def listener(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ListeningPort]:
    monkeypatch.setattr(connections, "UNREAD_S", 0.1)
    found = await connections.listen(0, lambda _: None, handle, lambda _: None)
    yield found
    await found.aclose()


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="takes another user")
@pytest.mark.parametrize("tells", ["kernel", "tables"])
@pytest.mark.parametrize("sent", [ASK, ASK + RUBBISH], ids=["alone", "more follows"])
@pytest.mark.parametrize("ends", ["whole", "half"])
async def test_another_user(listener, ends: str, sent: bytes, tells: str, monkeypatch) -> None:
    """Neither an open connection nor one that is shut down behind the request is answered."""
    if tells == "tables":
        monkeypatch.setattr(sockets, "_SOCK_DIAG", 31)  # there is no such protocol
    program = [sys.executable, "-I", "-c", ASK_AS_ANOTHER, str(listener.port), ends]
    other = await asyncio.create_subprocess_exec(
        *program, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await other.communicate(sent)
    assert said.strip() == b"b''"


async def test_a_process_that_cannot_be_seen(listener, monkeypatch) -> None:
    """Where the system tells of users, a connection of which it tells nothing is refused."""
    monkeypatch.setattr(sockets, "peer_uid", lambda _: None)
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(ASK)
    said = b""
    with contextlib.suppress(ConnectionResetError):
        said = await asyncio.wait_for(reader.read(), 10)
    assert said == b""
    writer.close()
