"""What a shared process was shown is known to all sessions, whatever happened to the note."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from server_bridge.machine import locks, private_files, shown

pytestmark = [
    pytest.mark.promise("rules-act-at-once"),
    pytest.mark.skipif(sys.platform == "win32", reason="there are no shared processes"),
]
A = "/shop/a.py"
B = "/shop/b.py"


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """The file of a process that lives and has a key."""
    path = tmp_path / "engine-1.json"
    file = start(path)
    yield path
    os.close(file)


def start(path: Path) -> int:
    file = locks.take(path)
    assert file is not None
    os.write(file, b'{"key": "%s"}' % os.urandom(8).hex().encode())
    return file


def cut_off(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-5])


def link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/null")


def expose_process(file: Path) -> None:
    file.with_suffix(".json").chmod(0o644)


def fill(file: Path) -> None:
    file.write_bytes(os.urandom(shown.MOST_BYTES))


def put_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def put_a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file, 0o600)


# What happens to the note, and which of the files are known after a further one: a, b, one not shown.
HAPPENS: dict[str, tuple[Callable[[Path], object], tuple[bool, bool, bool]]] = {
    "nothing": (lambda _: None, (True, True, False)),
    "a write is cut off": (cut_off, (False, True, False)),
    "it is gone": (Path.unlink, (False, True, False)),
    "it is full": (fill, (True, True, True)),
    "others can read it": (lambda file: file.chmod(0o644), (True, True, True)),
    "others can read the process's own file": (expose_process, (True, True, True)),
    "a link": (link, (True, True, True)),
    "a folder": (put_a_folder, (True, True, True)),
    "a pipe": (put_a_pipe, (True, True, True)),
}


@pytest.mark.parametrize("what", HAPPENS)
def test_what_cannot_be_read_may_have_been_shown(path: Path, what: str) -> None:
    """A note that is cut off spoils no other one; what is no note of ours knows nothing."""
    happen, known = HAPPENS[what]
    note = locks.hashes_file(path)
    shown.note(path.parent, [A])
    happen(note)
    try:
        shown.note(path.parent, [B])
    except OSError:
        assert known == (True, True, True)
    assert tuple(shown.is_noted(path.parent, name) for name in (A, B, "/shop/c.py")) == known
    assert not note.is_file() or note.stat().st_size <= shown.MOST_BYTES
    if note.is_dir() and not note.is_symlink():
        note.rmdir()


@pytest.mark.parametrize("n_written", [0, 5])
def test_on_a_full_disk_all_may_have_been_shown(path: Path, monkeypatch, n_written: int) -> None:
    """Whatever of a hash was written: a file without room for a note is told by its rights."""
    shown.note(path.parent, [A])
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:n_written]))
    with pytest.raises(OSError, match="No space left"):
        shown.note(path.parent, [B])
    assert shown.is_noted(path.parent, B)


@pytest.mark.parametrize("is_read_only", [False, True])
@pytest.mark.parametrize("why", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_process_without_a_note_ends(path: Path, monkeypatch, why: int, is_read_only: bool):
    """Where the note cannot be made; what it was shown ends with it, also in a read-only folder."""
    lock = os.open(path, os.O_RDONLY)
    assert locks.is_there(path, lock)
    opened = private_files.open_private

    def refuse(name: Path, *flags: int) -> int:
        if name == locks.hashes_file(path):
            raise OSError(why, os.strerror(why))
        return opened(name, *flags)

    def keep(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(private_files, "open_private", refuse)
    with monkeypatch.context() as folder:
        if is_read_only:
            folder.setattr(Path, "unlink", keep)
        with pytest.raises(OSError, match=os.strerror(why)):
            shown.note(path.parent, [A])
    assert not locks.is_there(path, lock)
    assert locks.find(path) is None
    assert path.exists() is is_read_only
    shown.note(path.parent, [B])  # there is none any more: nothing is said twice
    os.close(lock)


def test_many_sessions_write_at_once(path: Path) -> None:
    """None loses a note of another; only this user reads the file, and no name is in it."""
    names = [f"/shop/{n}.py" for n in range(400)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda name: shown.note(path.parent, [name, name]), names))
    assert all(shown.is_noted(path.parent, name) for name in names)
    note = locks.hashes_file(path)
    assert note.stat().st_mode & 0o777 == 0o600
    assert b"shop" not in note.read_bytes()


@pytest.mark.parametrize("left", [True, False])
def test_the_next_process_was_shown_nothing(tmp_path: Path, left: bool) -> None:
    """Its key is another one, and the file of the last one goes with it."""
    path = tmp_path / "engine-1.json"
    users = locks.join(path)
    file = start(path)
    shown.note(tmp_path, [A])
    note = locks.hashes_file(path)
    before = note.read_bytes()
    os.close(file)
    assert not shown.is_noted(tmp_path, A)
    file = start(path)
    assert not note.exists()
    if left:
        note.write_bytes(before)
        note.chmod(0o600)
    assert not shown.is_noted(tmp_path, A)
    os.close(file)
    locks.leave(path, users)
    assert [*tmp_path.iterdir()] == []


def test_rights_say_nothing_on_windows(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files have those of their folder there, and all modes look alike: the process goes on."""
    lock = os.open(path, os.O_RDONLY)
    path.chmod(0o640)
    assert not locks.is_there(path, lock)
    monkeypatch.setattr(sys, "platform", "win32")
    assert locks.is_there(path, lock)
