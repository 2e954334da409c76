"""`server_bridge.machine.sockets`: what Linux's tables say of sockets; the kernel's answers are tested where they are used."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from server_bridge.machine import sockets
from server_bridge.machine.sockets import Socket, end

HEAD = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
    "timeout inode\n"
)
ROW = (
    "   1: {} {} {} 00000000:00000000 00:00000000 00000000  {}        0 {} 1 "
    "0000000000000000 20 4 0 10 -1\n"
)
HERE, THERE = "0100007F:1F90", "0100007F:D431"
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
