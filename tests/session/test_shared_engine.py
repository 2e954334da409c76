"""What a session notes of what it shows, and what it does where another one showed what is private."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session import shared_engine
from fim_lsp.session.session import Session
from fim_lsp.session.shared_engine import SharedEngine
from fim_lsp.session.state import state_file
from server_bridge.machine import disks, locks, private_files, shown
from server_bridge.protocol import Prompt, Reply, Request, Warmed
from tests.fake_backend import FakeBackend
from tests.typist import QUICK

pytestmark = [
    pytest.mark.promise("rules-act-at-once"),
    pytest.mark.skipif(sys.platform == "win32", reason="there are no shared engines"),
]
CODE = "def add(first, second):\n    return "


class Shared(FakeBackend):
    """An engine that sessions share; *noted* is for each call what of `a.py` was noted before it."""

    def __init__(self, cache: Path, url: str = "http://127.0.0.1:1") -> None:
        super().__init__()
        self.cache = cache
        self.noted = list[bool]()
        self.state = dataclasses.replace(self.state, kind="embedded", url=url)

    def look(self) -> None:
        self.noted.append(shown.is_noted(self.cache, str(self.cache.parent / "shop/a.py")))

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        await asyncio.to_thread(self.look)
        return await super().warm(prompt, step)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        await asyncio.to_thread(self.look)
        async for reply in super().stream(request):
            yield reply


class Disk:
    """The disk of a cache folder, which hangs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.answers = threading.Event()
        self.done = {"note": threading.Event(), "end_engines": threading.Event()}
        find = locks.find
        monkeypatch.setattr(locks, "find", lambda path: self.answers.wait(60.0) and find(path))
        monkeypatch.setattr(disks, "DISK_S", 0.05)
        for module, (name, done) in zip((shown, state_file), self.done.items(), strict=True):
            monkeypatch.setattr(module, name, partial(self._do, getattr(module, name), done))

    def _do(self, work: Callable[..., None], done: threading.Event, *arguments: object) -> None:
        work(*arguments)
        done.set()

    async def answer(self, name: str) -> None:
        """Answer until the work of this *name* is done."""
        assert not self.done[name].is_set()
        self.answers.set()
        assert await asyncio.to_thread(self.done[name].wait, 60.0)
        self.answers.clear()


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """A cache folder with the file of an engine that lives."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (tmp_path / "shop/.git").mkdir(parents=True)
    (tmp_path / "shop/a.py").write_text(CODE)
    file = locks.take(cache / "engine-1.json")
    assert file is not None
    os.write(file, b'{"key": "secret"}')
    yield cache
    os.close(file)


async def ask(session: Session, cache: Path, name: str = "a.py") -> Sequence[object]:
    """Open a file and ask at its end; return the suggestions."""
    uri = (cache.parent / "shop" / name).as_uri()
    session.handle(events.FoldersChanged(((cache.parent / "shop").as_uri(),)))
    session.handle(events.Opened(uri, "python", 1, CODE))
    return (await session.complete(uri, Position(1, 11), invoked=True)).suggestions


async def test_it_is_noted_before_the_engine_gets_it(cache: Path, monkeypatch) -> None:
    """And again for the engine that takes the place of another."""
    monkeypatch.setattr(disks, "SOON_S", 60.0)  # the disk answers, however busy the machine is
    backend = Shared(cache)
    session = Session(QUICK, lambda _: backend, cache)
    assert await ask(session, cache)
    locks.hashes_file(cache / "engine-1.json").unlink()
    backend.state = dataclasses.replace(backend.state, url="http://127.0.0.1:2")
    assert await ask(session, cache, "b.py")
    assert len(backend.noted) > 1
    assert all(backend.noted)
    await session.aclose()


async def test_the_disk_is_asked_once_for_what_is_noted(cache: Path, monkeypatch) -> None:
    """A prompt with text of the same files waits for no disk, nor does one of an engine that is not shared."""
    monkeypatch.setattr(disks, "SOON_S", 60.0)
    notes: list[object] = []
    monkeypatch.setattr(shown, "note", lambda *given: notes.append(given))
    for engine in (SharedEngine(cache), SharedEngine(None)):
        engine.add("file:///shop/a.py")
        for _ in range(3):
            await engine.note_shown(("http://127.0.0.1:1", 1))
    assert len(notes) == 1


async def test_a_file_that_comes_while_others_are_noted_is_noted_too(cache, monkeypatch) -> None:
    """Before the prompt that shows it goes on, though the disk is asked for the others just then."""
    go_on = threading.Event()
    note = shown.note
    monkeypatch.setattr(shown, "note", lambda *given: go_on.wait(60.0) and note(*given))
    engine = SharedEngine(cache)
    engine.add("file:///shop/a.py")
    first = asyncio.create_task(engine.note_shown(("http://127.0.0.1:1", 1)))
    await asyncio.sleep(0)
    engine.add("file:///shop/b.py")
    second = asyncio.create_task(engine.note_shown(("http://127.0.0.1:1", 1)))
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(first, second)
    assert shown.is_noted(cache, "/shop/b.py")


PLACES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "as it was": ("shop/a.py", lambda _: None),
    "its folder is renamed": ("store/a.py", lambda root: (root / "shop").rename(root / "store")),
    "renamed": ("shop/b.py", lambda root: (root / "shop/a.py").rename(root / "shop/b.py")),
    "by a link": ("link/a.py", lambda root: (root / "link").symlink_to(root / "shop")),
    "another file": ("shop/c.py", lambda root: (root / "shop/c.py").write_text("")),
}


@pytest.mark.parametrize("what", PLACES)
async def test_a_file_is_known_at_another_place(cache: Path, what: str) -> None:
    """Where it, or its folder, was renamed or is reached by a link, and refused there."""
    name, happen = PLACES[what]
    engine = SharedEngine(cache)
    engine.add((cache.parent / "shop/a.py").as_uri())
    await engine.note_shown(("http://127.0.0.1:1", 1))
    happen(cache.parent)
    uri = (cache.parent / name).as_uri()
    await asyncio.to_thread(shared_engine._end_if_shown, cache, uri)
    assert (cache / "engine-1.json").exists() is (what == "another file")


async def test_an_engine_without_a_note_ends_and_that_is_told_once(cache, monkeypatch, caplog):
    """On a full disk or in a read-only folder: what it was shown is nowhere noted, so it goes."""
    opened = private_files.open_private

    def refuse(path: Path, *flags: int) -> int:
        if path.suffix == ".shown":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return opened(path, *flags)

    monkeypatch.setattr(private_files, "open_private", refuse)
    session = Session(QUICK, lambda _: Shared(cache), cache)
    assert await ask(session, cache)
    assert await ask(session, cache, "b.py")
    assert not (cache / "engine-1.json").exists()
    assert sum("not noted" in record.message for record in caplog.records) == 1
    await session.aclose()


async def test_nothing_is_noted_of_what_goes_to_another_server(cache: Path) -> None:
    """Which no file of ours can end."""
    session = Session(QUICK, lambda _: FakeBackend(), cache)
    assert await ask(session, cache)
    await session.aclose()
    assert not locks.hashes_file(cache / "engine-1.json").exists()


@pytest.mark.promise("bounded-work")
async def test_a_disk_that_hangs_is_told_when_it_answers(cache: Path, monkeypatch) -> None:
    """No request waits for it; what it says late of a file that is private counts."""
    disk = Disk(monkeypatch)
    backend = FakeBackend()
    backend.state = Shared(cache).state
    shows = Session(QUICK, lambda _: backend, cache)
    assert await ask(shows, cache)
    await disk.answer("note")
    (cache.parent / "shop/.gitignore").write_text("*.py\n")
    refuses = Session(QUICK, lambda _: FakeBackend(), cache)
    assert not await ask(refuses, cache)
    await refuses.wait_judged()
    assert (cache / "engine-1.json").exists()
    await disk.answer("end_engines")
    assert not (cache / "engine-1.json").exists()
    await shows.aclose()
    await refuses.aclose()
