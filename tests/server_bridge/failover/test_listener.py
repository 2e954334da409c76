"""Which user listens: read from the system's own tables, before anything is sent."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from server_bridge.failover import local_servers
from server_bridge.failover.local_servers import (
    AnotherUser,
    Listener,
    among,
    in_processes,
    only_ours,
)
from server_bridge.http.client import Http, Trust
from server_bridge.machine import sockets
from tests.server_bridge.machine.test_sockets import HEAD, ROW
from tests.server_bridge.recorder import recorder

pytestmark = pytest.mark.promise("known-servers-only")

linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
little_endian = pytest.mark.skipif(sys.byteorder != "little", reason="the rows are a PC's")
ME = os.geteuid() if hasattr(os, "geteuid") else 0
LOOPBACK = "0100007F"
ANY = "00000000"
LAN = "0700000A"
LOOPBACK_6 = "0" * 24 + "01000000"
ANY_6 = "0" * 32
MAPPED = "0000000000000000FFFF00000100007F"
MAPPED_ANY = "0000000000000000FFFF000000000000"
PORT = 8012


def row(address: str, uid: int, inode: int = 7, *, port: int = PORT, state: str = "0A") -> str:
    """Return a socket as Linux prints it (proc(5))."""
    remote = f"{'0' * len(address)}:0000"
    return ROW.format(f"{address}:{port:04X}", remote, state, uid, inode)


@little_endian
@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([], None),
        ([row(LOOPBACK, ME + 1)], Listener(False, (7,))),
        ([row(ANY, ME)], Listener(True, (7,))),
        ([row(ANY_6, ME + 1)], Listener(False, (7,))),
        ([row(MAPPED, ME + 1)], Listener(False, (7,))),
        ([row(MAPPED_ANY, ME)], Listener(True, (7,))),
        ([row(LAN, ME)], None),
        ([row(LOOPBACK, ME, port=8013)], None),
        ([row(LOOPBACK, ME, state="01")], None),
        # The exact address answers, not the one for all; of several for all any may.
        ([row(ANY, ME + 1, 1), row(LOOPBACK, ME, 2)], Listener(True, (2,))),
        ([row(LOOPBACK, ME + 1, 2), row(ANY_6, ME, 1)], Listener(False, (2,))),
        ([row(ANY, ME, 1), row(ANY_6, ME + 1, 2)], Listener(False, (1, 2))),
        ([row(LOOPBACK, ME, 1), row(MAPPED, ME + 1, 2)], Listener(False, (1, 2))),
    ],
)
def test_the_tables_tell_whose_a_socket_is(rows: list[str], found: Listener | None, tmp_path):
    """By the address that answers at 127.0.0.1."""
    tables = (tmp_path / "tcp", tmp_path / "tcp6")
    for table, length in zip(tables, (8, 32), strict=True):
        mine = [each for each in rows if len(each.split()[1]) == length + 5]
        table.write_text(HEAD + "".join(mine))
    assert among(sockets.at_port(sockets.read_tables(tables), PORT)) == found


@contextmanager
def listening(address: str) -> Iterator[int]:
    """A socket of this user that listens; yields its port."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as one:
        one.bind((address, 0))
        one.listen()
        yield one.getsockname()[1]


def by_kernel(port: int) -> Listener | None:
    """Without a way out into the tables."""
    return among(sockets.dump_listening(4, port) + sockets.dump_listening(6, port))


def in_tables(port: int) -> Listener | None:
    """As where the kernel takes no questions."""
    return among(sockets.at_port(sockets.read_tables(sockets.TABLES), port))


@linux
@pytest.mark.parametrize("look", [by_kernel, in_tables, in_processes])
@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::"])
def test_all_ways_of_looking_find_a_socket_of_ours(
    look: Callable[[int], Listener | None], address: str
) -> None:
    """What macOS and Windows use works here, too."""
    with listening(address) as port:
        first = look(port)
        assert first.is_ours
        assert look(port) == first
    assert look(port) is None


@linux
def test_another_socket_at_the_same_port_is_another_listener() -> None:
    """So that a verdict on one is not taken for one on the other."""
    with listening("127.0.0.1") as port:
        first = local_servers.listener(port)
    with socket.socket() as second:
        second.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        second.bind(("127.0.0.1", port))
        second.listen()
        assert local_servers.listener(port) not in (None, first)


@pytest.mark.parametrize(
    ("found", "says"),
    [(Listener(False, (1,)), "of another user"), (None, "whose user cannot be seen")],
)
async def test_nothing_is_sent_to_another_user(found: Listener | None, says: str, monkeypatch):
    """Not even a question, and not the key; the message names the setting that allows it."""
    monkeypatch.setattr(local_servers, "listener", lambda _: found)
    with recorder() as server:
        http = Http(server.url, trust=Trust(guard=lambda: only_ours(server.url)))
        with pytest.raises(AnotherUser, match=rf"{says}.*fim\.backend\.url"):
            await http.get("/props")
        with pytest.raises(AnotherUser):
            async for _ in http.stream("/completion", b"{}"):
                pass
        await http.aclose()
    assert server.heard == []


@pytest.mark.parametrize(
    ("address", "is_there"),
    [("127.0.0.1", True), ("0.0.0.0", True), ("::", True), ("::ffff:127.0.0.1", True),
     ("10.0.0.7", False)],
)  # fmt: skip
def test_what_listens_elsewhere_answers_for_no_other(address: str, *, is_there: bool) -> None:
    """A socket of ours at another address of this machine says nothing of the one that is asked."""
    assert local_servers._answers((address, 8012), 8012) is is_there
    assert not local_servers._answers((address, 8013), 8012)
