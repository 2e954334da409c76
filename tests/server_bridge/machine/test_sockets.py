"""`server_bridge.machine.sockets`: what Linux's tables say of sockets, and whose process is at the other end of one."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from server_bridge.machine import sockets
from server_bridge.machine.sockets import Socket, end

pytestmark = pytest.mark.promise("your-programs-only")

HEAD = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
    "timeout inode\n"
)
ROW = (
    "   1: {} {} {} 00000000:00000000 00:00000000 00000000  {}        0 {} 1 "
    "0000000000000000 20 4 0 10 -1\n"
)
HERE = "0100007F:1F90"
THERE = "0100007F:D431"
ENDS = end("127.0.0.1", 8080), end("127.0.0.1", 54321)


@pytest.mark.skipif(sys.byteorder != "little", reason="the rows are a PC's")
@pytest.mark.parametrize(
    ("row", "found"),
    [
        ((HERE, THERE, "01", 1000, 77), Socket(*ENDS, 1, 1000, 77)),
        ((HERE, "00000000:0000", "0A", 5, 7), Socket(ENDS[0], end("0.0.0.0", 0), 10, 5, 7)),
        (
            ("00000000000000000000000001000000:0001", "0000000000000000FFFF00000100007F:0002", "01",
             5, 7),
            Socket(end("::1", 1), end("127.0.0.1", 2), 1, 5, 7),
        ),
    ],
)  # fmt: skip
def test_a_row(row: tuple[object, ...], found: Socket, tmp_path: Path) -> None:
    """Of both families; IPv4 in IPv6 is IPv4."""
    table = tmp_path / "tcp"
    table.write_text(HEAD + ROW.format(*row))
    assert sockets.read_tables((table, tmp_path / "tcp6")) == [found]


@pytest.mark.parametrize(
    ("state", "inode", "is_known"), [(1, 77, True), (1, 0, False), (4, 77, True), (6, 0, False)]
)
def test_only_what_a_process_has_open_has_a_user(
    state: int, inode: int, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one half is shut down; of a socket that is closed the table says root."""
    found = Socket(*ENDS, state, 0, inode)
    monkeypatch.setattr(sockets, "_query_kernel", lambda *_: [found])
    assert sockets.find_connected(*ENDS) == (found if is_known else None)


@pytest.mark.skipif(not sockets.can_tell(), reason="the system does not tell")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("is_told", [True, False], ids=["told", "listed"])
def test_a_connection_of_our_own_is_ours(host: str, is_told: bool, monkeypatch) -> None:
    """Over both families, also where its sending half is shut down; once it is closed nothing is known."""
    if not is_told:
        monkeypatch.setattr(sockets, "_SOCK_DIAG", 31)  # there is no such protocol
    own = host.removeprefix("::ffff:")
    family, client_family = (
        socket.AF_INET6 if ":" in each else socket.AF_INET for each in (own, host)
    )
    try:
        listener = socket.create_server((own, 0), family=family)
    except OSError:
        pytest.skip(f"no {own} here")
    with listener, socket.socket(client_family) as client:
        client.connect((host, listener.getsockname()[1]))
        server, _ = listener.accept()
        with server:
            assert sockets.peer_uid(server) == os.getuid()
            client.shutdown(socket.SHUT_WR)
            assert sockets.peer_uid(server) == os.getuid()
            client.close()
            assert sockets.peer_uid(server) is None


def test_where_the_system_does_not_tell_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the kernel nor its tables, as on macOS and Windows."""
    monkeypatch.delattr(socket, "AF_NETLINK", raising=False)
    monkeypatch.setattr(sockets, "TABLES", ())
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as server,
    ):
        assert sockets.peer_uid(server) is None
