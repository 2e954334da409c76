"""`server_bridge.machine.sockets`: whose process is at the other end of a connection."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from server_bridge.machine import sockets


@pytest.mark.skipif(not sockets.can_tell(), reason="the system does not tell")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize("is_told", [True, False], ids=["told", "listed"])
def test_a_connection_of_our_own_is_ours(
    host: str, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.mark.skipif(not sockets.can_tell(), reason="the system does not tell")
def test_another_users_connection_is_another_users(monkeypatch: pytest.MonkeyPatch) -> None:
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
                assert sockets.peer_uid(server) == 65534
                monkeypatch.setattr(sockets, "_SOCK_DIAG", 31)
                assert sockets.peer_uid(server) == 65534
            other.wait(30)
