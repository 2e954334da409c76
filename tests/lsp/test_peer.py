"""`fim_lsp.lsp.peer`: whose process is at the other end of a connection."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from fim_lsp.lsp import peer
from fim_lsp.lsp.peer import Connection, established

HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
ROW = "   1: {} {} {} 00000000:00000000 00:00000000 00000000  {}        0 {} 1 0000000000000000 20 4 0 10 -1\n"
HERE, THERE = "0100007F:1F90", "0100007F:D431"


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ((HERE, THERE, "01", 1000, 77), [Connection(("127.0.0.1", 8080), ("127.0.0.1", 54321), 1000)]),
        ((HERE, THERE, "04", 1000, 77), []),  # closed at one end
        ((HERE, THERE, "06", 0, 0), []),  # closed: the table says root
        ((HERE, THERE, "01", 0, 0), []),
        ((HERE, "00000000:0000", "0A", 1000, 77), []),
        (
            ("00000000000000000000000001000000:0001", "0000000000000000FFFF00000100007F:0002", "01", 5, 7),
            [Connection(("::1", 1), ("127.0.0.1", 2), 5)],
        ),
    ],
)  # fmt: skip
def test_the_table_of_the_system_is_read(row: tuple[object, ...], found: list[Connection]) -> None:
    """Only connections that are open at both ends, because of others it does not say whose they are."""
    assert [*established(HEAD + ROW.format(*row))] == found


@pytest.mark.skipif(not peer.can_tell(), reason="the system does not tell")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("is_told", [True, False], ids=["told", "listed"])
def test_a_connection_of_our_own_is_ours(
    host: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over both families; once it is closed at the other end nothing is known."""
    if not is_told:
        monkeypatch.setattr(peer, "_NETLINK_SOCK_DIAG", 31)  # there is no such protocol
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
            assert peer.uid(server) == os.getuid()
            client.close()
            assert peer.uid(server) is None


@pytest.mark.skipif(not peer.can_tell(), reason="the system does not tell")
def test_another_users_connection_is_another_users() -> None:
    """A process that gave up its rights connects; both ways to ask say whose it is."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)
        address = listener.getsockname()
        code = (  # what is imported comes before the rights go: the files may be root's alone
            f"import os, socket; socket.create_connection({address}); os.setuid(65534);"
            f"socket.create_connection({address}).recv(1)"
        )
        with subprocess.Popen([sys.executable, "-c", code]) as other:
            listener.accept()[0].close()
            server, _ = listener.accept()
            with server:
                ends = server.getpeername(), server.getsockname()
                assert peer.uid(server) == 65534
                assert peer._listed(*ends) == 65534
            other.wait(30)
