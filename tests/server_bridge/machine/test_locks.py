"""Files by which processes share another one: what they say is true, whichever was killed."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from server_bridge.machine import locks

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "engine-1.json"


def take(path: Path) -> int:
    """Return the file of a process that is to be started: there is none."""
    file = locks.take(path)
    assert file is not None
    return file


def test_one_is_started_and_found(path: Path) -> None:
    """Nothing while it starts, what it wrote after that, in a file that only this user may read."""
    users = locks.join(path)
    file = take(path)
    assert (locks.find(path), locks.take(path)) == (b"", None)
    os.write(file, b"here")
    assert locks.find(path) == b"here"
    assert path.stat().st_mode & 0o777 == 0o600
    os.close(file)
    locks.leave(path, users)


def test_a_look_at_a_fresh_file_takes_no_lock_away(path, monkeypatch) -> None:
    """Another process that looks has it locked for a moment, just when it was made."""
    real = os.open

    def look_when_made(name: Path, flags: int, mode: int = 0o777) -> int:
        file = real(name, flags, mode)
        if flags & os.O_EXCL:
            look = path.open("rb")
            assert locks._lock(look.fileno(), shared=True)
            threading.Timer(0.05, look.close).start()
        return file

    users = locks.join(path)
    monkeypatch.setattr(os, "open", look_when_made)
    file = take(path)
    assert (locks.find(path), locks.take(path)) == (b"", None)
    os.close(file)
    locks.leave(path, users)


@pytest.mark.promise("your-programs-only")
def test_what_a_process_that_ended_wrote_counts_for_nothing(path: Path) -> None:
    """Its lock went with it; the file of the next one is another."""
    users = locks.join(path)
    file = take(path)
    os.write(file, b"here")
    held = path.open("rb")
    os.close(file)
    assert locks.find(path) is None
    file = take(path)
    assert (locks.find(path), held.read()) == (b"", b"here")
    held.close()
    os.close(file)
    locks.leave(path, users)


def test_files_are_deleted_once_no_process_uses_them(path: Path) -> None:
    """The last user deletes what was left behind; one that lives deletes them itself."""
    first = locks.join(path)
    second = locks.join(path)
    file = take(path)
    assert not locks.delete_unused(path)
    locks.leave(path, first)
    assert (locks.is_used(path), path.exists()) == (True, True)
    os.close(file)
    locks.leave(path, second)
    assert [*path.parent.iterdir()] == []
    assert not locks.is_used(path)
    assert locks.delete_unused(path)


def test_a_file_that_others_can_read_is_not_believed(path: Path) -> None:
    """Its key could be known to another user; another one takes its place."""
    users = locks.join(path)
    file = take(path)
    path.chmod(0o644)
    assert locks.find(path) is None
    other = take(path)
    assert os.fstat(file).st_nlink == 0
    os.close(file)
    os.close(other)
    locks.leave(path, users)


def test_the_only_user_knows_that_it_is(path: Path) -> None:
    """As soon as another one comes or goes; the look costs no user its lock."""
    first = locks.join(path)
    assert locks.is_alone(path, first)
    second = locks.join(path)
    assert [locks.is_alone(path, each) for each in (first, second)] == [False, False]
    locks.leave(path, second)
    assert locks.is_alone(path, first)
    assert locks.is_used(path)
    locks.leave(path, first)


def test_what_another_program_has_locked_is_waited_for_a_moment_only(path: Path) -> None:
    """The file of the users by one that joins, and the folder by a request not at all."""
    users = locks.join(path)
    folder = os.open(path.parent, os.O_RDONLY)
    assert locks._lock(folder)
    began = time.monotonic()
    assert not locks.is_alone(path, users)
    assert time.monotonic() - began < locks.HELD_S / 2
    os.close(folder)
    os.close(users)
    held = os.open(locks.users_file(path), os.O_RDWR)
    assert locks._lock(held)
    with pytest.raises(TimeoutError):
        locks.join(path)
    os.close(held)
    locks.leave(path, locks.join(path))


@pytest.mark.parametrize("at", [1.0, 4e9])
def test_a_clock_that_jumps_takes_no_file_of_a_living_process(path: Path, at: float) -> None:
    """Weeks ahead or back, while no session uses it: it still has its note of what it was shown."""
    file = take(path)
    note = locks.hashes_file(path)
    note.touch(0o600)
    for each in (path, note):
        os.utime(each, (at, at))
    os.close(take(path.with_name("engine-2.json")))
    assert path.exists()
    assert note.exists()
    os.close(file)
    os.close(take(path.with_name("engine-3.json")))
    assert note.exists() is (at > time.time())


def test_files_in_use_do_not_grow_old(path: Path) -> None:
    """Programs that clean up delete old files; the next start those of machines that are gone."""
    users = locks.join(path)
    file = take(path)
    left = path.with_name("engine-0.users")
    left.touch()
    files = path, locks.users_file(path), left
    for each in files:
        os.utime(each, (1.0, 1.0))
    assert locks.is_used(path)
    assert [time.time() - each.stat().st_mtime < 60 for each in files] == [True, True, False]
    (folder := path.with_name("engine-3.json")).mkdir()
    for each in (*files, folder):
        os.utime(each, (1.0, 1.0))
    os.close(take(path.with_name("engine-2.json")))  # after a week of the machine's sleep, too
    assert [each.exists() for each in files] == [True, True, False]
    os.close(file)
    locks.leave(path, users)
