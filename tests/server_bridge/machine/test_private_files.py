"""Files that other users must not read, and must not have written."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from server_bridge.http.api_key import ServedKey
from server_bridge.machine import private_files
from server_bridge.protocol import BackendUnusable

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="modes and owners are Unix's"),
    pytest.mark.promise("readable-by-you-only"),
]


def test_what_is_written_only_its_owner_reads(tmp_path: Path) -> None:
    """The file and its folder, whatever the umask and whatever stood there before."""
    path = tmp_path / "folder" / "8012.key"
    before = os.umask(0)
    try:
        private_files.write(path, b"old")
        path.chmod(0o666)
        private_files.write(path, b"new")
    finally:
        os.umask(before)
    assert private_files.read(path) == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in tmp_path.rglob("*")] == ["folder", "8012.key"]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    """What it leads to stays as it is."""
    path = tmp_path / "page"
    target = tmp_path / "target"
    target.write_bytes(b"old")
    path.symlink_to(target)
    private_files.write(path, b"new")
    assert (path.read_bytes(), target.read_bytes()) == (b"new", b"old")
    assert not path.is_symlink()


def test_threads_that_write_at_once_all_succeed(tmp_path: Path) -> None:
    """The file is one of theirs, whole, and nothing is left beside it."""
    path = tmp_path / "page"
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: private_files.write(path, b"%d" % n * 9), range(64)))
    assert len(set(path.read_bytes().decode())) <= 2
    assert [each.name for each in tmp_path.iterdir()] == ["page"]


SPOILS: dict[str, Callable[[Path], object]] = {
    "readable": lambda path: path.chmod(0o640),
    "writable": lambda path: path.chmod(0o602),
    "a link": lambda path: path.symlink_to(path.rename(path.with_name("target"))),
    "a pipe": lambda path: os.mkfifo(path.rename(path.with_suffix("")).with_name(path.name), 0o600),
}


@pytest.mark.parametrize("how", SPOILS)
def test_what_others_could_have_touched_is_not_believed(how: str, tmp_path: Path) -> None:
    """Nor does a pipe hang the reader."""
    path = tmp_path / "8012.key"
    private_files.write(path, b"s3cret")
    SPOILS[how](path)
    with pytest.raises(OSError):
        private_files.read(path)


def test_a_file_of_another_user_is_not_believed(tmp_path, monkeypatch) -> None:
    """They know what is in it."""
    private_files.write(tmp_path / "8012.key", b"s3cret")
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    with pytest.raises(private_files.NotPrivate, match="another user"):
        private_files.read(tmp_path / "8012.key")


async def test_a_key_that_others_can_read_is_refused_with_the_fix(tmp_path: Path) -> None:
    """No key and no server is one thing, a key that is known to others is another."""
    key = ServedKey(tmp_path, 8012)
    assert await key() == ""
    private_files.write(key.path, b"s3cret\n")
    assert await key() == "s3cret"
    key.path.chmod(0o644)
    with pytest.raises(BackendUnusable, match="delete it") as caught:
        await key()
    assert "s3cret" not in str(caught.value)


@pytest.mark.promise("odd-input")
@pytest.mark.parametrize(
    "data", [b"", b"\xff", b"[" * 100_000, b"1" + b"0" * 5000, b"1e999", b'{"n": []}', b"null"]
)
def test_a_file_that_holds_anything_else_is_the_default(tmp_path: Path, data: bytes) -> None:
    """Deep, huge, not UTF-8, of another shape: it never ends what reads it."""
    path = tmp_path / "state.json"
    private_files.write(path, data)

    def parse(data: bytes) -> int:
        return int(json.loads(data)["n"] if data[:1] == b"{" else json.loads(data))

    assert private_files.restore(path, parse, -1) == -1
    assert private_files.restore(tmp_path / "none", parse, -2) == -2
    private_files.write(path, b'{"n": 3}')
    assert private_files.restore(path, parse, -1) == 3


def test_windows_has_neither_modes_nor_owners(tmp_path, monkeypatch) -> None:
    """There the folder of the user is private; what is no file is refused all the same."""
    path = tmp_path / "key"
    path.write_bytes(b"x")
    path.chmod(0o666)
    with pytest.raises(private_files.NotPrivate):
        private_files.read(path)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "geteuid")
    assert private_files.read(path) == b"x"
