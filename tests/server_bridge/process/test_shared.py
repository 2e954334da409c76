"""One engine for all editors of a user, whichever of them starts it, leaves it or is killed."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from itertools import permutations
from pathlib import Path

import psutil
import pytest

from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.slots import ExclusiveSlots, SharedSlots
from server_bridge.machine import disks, locks, processes
from server_bridge.machine.addresses import port_of
from server_bridge.process import embedded
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import BUNDLED, EmbeddedSettings
from server_bridge.protocol import BackendUnavailable, BackendUnusable, Request
from tests.fuzz import FUZZ
from tests.server_bridge.prompts import prompt
from tests.tcp_server import tcp_server
from tests.test_tidy import ROOT

if sys.platform != "win32":
    import fcntl

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks"),
]
# By default tests/e2e/test_windows.py kills editors and their engine.
with_the_security_tests = pytest.mark.skipif(FUZZ == 1, reason="run by scripts/test-security")

REQUEST = Request(prompt("    def "), n_predict=4)
PATIENCE_S = 60.0  # only a test that fails waits so long
# It says after each line of its stdin which process has answered it.
EDITOR = """
import asyncio, sys
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.protocol import BackendError, Request
from tests.server_bridge.prompts import prompt
async def answer(backend):
    while True:
        try:
            await (await backend.connect()).complete(Request(prompt("    def "), n_predict=4))
            return backend.pid
        except BackendError:
            await asyncio.sleep(0.05)
async def main():
    backend = Embedded(EmbeddedSettings(**{settings!r}))
    while await asyncio.to_thread(sys.stdin.readline):
        print(await answer(backend), flush=True)
    await backend.aclose()
asyncio.run(main())
"""


class Editor:
    """An editor's process; an engine may be started by it."""

    def __init__(self, settings: EmbeddedSettings) -> None:
        source = EDITOR.format(settings=asdict(settings))
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", source],
            stdin=pipe,
            stdout=pipe,
            text=True,
            cwd=ROOT,
            start_new_session=True,
        )

    def ask(self) -> Editor:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self

    def engine(self) -> psutil.Process:
        """Return the process that answered."""
        return psutil.Process(int(self.process.stdout.readline()))

    def end(self, number: int = signal.SIGKILL) -> None:
        os.killpg(self.process.pid, number)
        self.process.wait(PATIENCE_S)
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[EmbeddedSettings]:
    """A model of the user's, with an engine that ends soon after the last editor; files go with it."""
    model = tmp_path / "model.gguf"
    folder = tmp_path / "cache"
    shutil.copy(BUNDLED, model)
    yield EmbeddedSettings(str(model), shared=str(folder / "engine-1"), unused_s=0.5)
    wait_until(lambda: not [*folder.glob("*")], "the end of all engines")


@pytest.fixture
def start(settings: EmbeddedSettings) -> Iterator[Callable[[], Editor]]:
    """Start editors; they are killed at the end."""
    editors: list[Editor] = []

    def start() -> Editor:
        editors.append(Editor(settings))
        return editors[-1]

    yield start
    for editor in editors:
        if editor.process.returncode is None:
            editor.end()


def running(settings: EmbeddedSettings) -> list[tuple[str, int, int]]:
    return locks.list_shared(Path(settings.shared).parent)


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_all_that_start_at_once_have_one(settings, start) -> None:
    """One of them starts it; it is told how much memory it takes for how many."""
    editors = [start().ask() for _ in range(3)]
    [engine] = {editor.engine() for editor in editors}
    [(model, memory, n_users)] = running(settings)
    assert (model, n_users) == ("model.gguf", 3)
    assert memory > 20e6
    assert engine.ppid() not in {editor.process.pid for editor in editors}


def test_the_first_may_go(start: Callable[[], Editor]) -> None:
    """The engine that it started goes on for the others, and then ends."""
    first = start()
    second = start()
    engine = first.ask().engine()
    first.end()
    assert second.ask().engine() == engine
    second.process.stdin.close()  # it says goodbye
    engine.wait(PATIENCE_S)


@pytest.mark.promise("your-programs-only")
@with_the_security_tests
def test_one_that_is_killed_while_the_engine_loads_leaves_it_to_the_other(settings, start) -> None:
    """At whatever moment: the engine goes on, or the other editor starts one."""
    file = settings.find_file()
    for wait_s in (0.0, 0.05, 0.1, 0.2):
        first = start().ask()
        second = start().ask()
        wait_until(file.exists, "the file of an engine that starts")
        threading.Event().wait(wait_s)
        first.end()
        engine = second.engine()
        assert len(running(settings)) == 1
        second.end()
        engine.wait(PATIENCE_S)


@pytest.mark.promise("your-programs-only")
@with_the_security_tests
def test_killed_in_any_order_there_is_one_or_none(settings, start) -> None:
    """
    Each process in turn, in every order; those that are left are answered by one engine, three
    seconds later than it takes to start one here and now.
    """
    for order in permutations("abe"):
        began = time.monotonic()
        editors = {name: start() for name in "ab"}
        [engine] = {editor.ask().engine() for editor in editors.values()}
        start_s = time.monotonic() - began
        for name in order:
            if name == "e":
                engine.kill()
            else:
                editors.pop(name).end()
            began = time.monotonic()
            for editor in editors.values():
                editor.ask()
            found = {editor.engine() for editor in editors.values()}
            assert time.monotonic() - began <= start_s + 3.0
            assert len(found) == bool(editors)
            assert len(running(settings)) <= 1
            [engine] = found or [engine]
        for editor in editors.values():
            editor.end()


@pytest.mark.promise("your-programs-only")
async def test_it_is_used_like_a_server_that_others_use(settings: EmbeddedSettings) -> None:
    """Behind a key that is in its file alone, which only this user may read."""
    first = Embedded(settings)
    second = Embedded(replace(settings, log="/dev/null"))
    text = (await (await first.connect()).complete(REQUEST)).text
    engine = psutil.Process(first.pid)
    await second.connect()
    assert second.pid == first.pid
    await first.aclose()
    assert (await (await second.connect()).complete(REQUEST)).text == text
    file = settings.find_file()
    assert file.stat().st_mode & 0o777 == 0o600
    key = str(second._server._link._http._key)
    assert key in file.read_text()
    assert key not in repr(engine.cmdline()) + repr(engine.environ())
    client = LlamaServer(second.state.url)
    with pytest.raises(BackendUnusable, match="key"):
        await client.connect()
    await client.aclose()
    await second.aclose()


@pytest.mark.promise("your-programs-only")
async def test_what_listens_at_its_port_after_it_gets_nothing(settings: EmbeddedSettings) -> None:
    """Neither the key nor a prompt, although the editor was not told yet that the engine ended."""
    backend = Embedded(settings)
    heard = list[bytes]()
    model = await backend.connect()
    backend._watching.cancel()
    engine = psutil.Process(backend.pid)
    engine.kill()
    engine.wait(PATIENCE_S)

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1))

    async with tcp_server(hear, port_of(backend.state.url)):
        with pytest.raises(BackendUnavailable, match="the engine ended"):
            await model.complete(REQUEST)
    assert heard == [b""]
    await backend.aclose()


async def test_slots_are_named_only_while_one_editor_uses_it(settings: EmbeddedSettings) -> None:
    """So a window alone has what it evaluated aside, and two do not break each other's prompts."""
    first = Embedded(settings)
    second = Embedded(settings)
    policies = []
    for backend in (first, second, first):
        await (await backend.connect()).complete(REQUEST)
        policies.append(type(backend._server._connected.cache.client.slots))
    await second.aclose()
    await (await first.connect()).complete(replace(REQUEST, prompt=prompt("    return ")))
    policies.append(type(first._server._connected.cache.client.slots))
    assert policies == [ExclusiveSlots, SharedSlots, SharedSlots, ExclusiveSlots]
    await first.aclose()


@pytest.mark.promise("bounded-work")
@pytest.mark.parametrize("later", [False, True])
async def test_a_cache_folder_that_does_not_answer_holds_nothing(
    settings: EmbeddedSettings, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    """At the start it has an engine of its own, later the one that it met; a late lock is given up."""
    answers = threading.Event()
    left = threading.Event()
    real = os.open
    leave = locks.leave

    def leave_and_tell(path: Path, users: int) -> None:
        leave(path, users)
        left.set()

    def wait(path: str, *arguments: int, **options: int) -> int:
        if str(path).startswith(str(Path(settings.shared).parent)):
            answers.wait(PATIENCE_S)
        return real(path, *arguments, **options)

    monkeypatch.setattr(locks, "leave", leave_and_tell)
    monkeypatch.setattr(disks, "DISK_S", 0.1)
    backend = Embedded(settings)
    if later:
        monkeypatch.setattr(disks, "DISK_S", PATIENCE_S)
        await backend.connect()
        monkeypatch.setattr(disks, "DISK_S", 0.1)
    Path(settings.shared).parent.mkdir(exist_ok=True)
    monkeypatch.setattr(os, "open", wait)
    for _ in range(3):
        assert (await (await backend.connect()).complete(REQUEST)).text
        assert backend.state.is_ready
    assert (psutil.Process(backend.pid).ppid() == os.getpid()) is not later
    await backend.aclose()
    answers.set()
    assert await asyncio.to_thread(left.wait, PATIENCE_S)


async def test_one_whose_file_is_gone_ends_and_is_ready_nowhere(settings) -> None:
    """So that what is private is forgotten by all; each editor notices without a request."""
    first = Embedded(settings)
    second = Embedded(settings)
    await first.connect()
    await second.connect()
    ended = asyncio.Event()
    second.on_change = ended.set
    settings.find_file().unlink()
    await ended.wait()
    assert not second.state.is_ready
    assert second.pid is None
    assert (await (await second.connect()).complete(REQUEST)).text
    await first.aclose()
    await second.aclose()


async def test_a_model_that_cannot_be_loaded_leaves_nothing(settings: EmbeddedSettings) -> None:
    """Each editor is told why."""
    Path(settings.model).write_bytes(b"none")  # noqa: ASYNC240
    backends = [Embedded(settings) for _ in range(2)]
    for backend in backends:
        with pytest.raises(BackendUnusable, match=r"fim\.backend\.model"):
            await backend.connect()
    for backend in backends:
        await backend.aclose()


def hold(path: Path, flags: int = os.O_RDWR | os.O_CREAT, data: bytes = b"") -> int:
    """Have another program lock *path*, with *data* in it."""
    file = os.open(path, flags, 0o600)
    if data:
        os.write(file, data)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


LOCKED = {"silent": b"", "another version": b'{"url": "", "port": 1}'}
LINKS = {"the users are a link": ".users", "a full disk": ".json"}
IN_THE_WAY = ("no folder", "its folder is locked", "a FIFO", *LOCKED, *LINKS)


def put_in_the_way(what: str, path: Path) -> int | None:
    """Do what *what* says; return what is to be closed."""
    if what == "no folder":
        path.parent.write_text("")
        return None
    path.parent.mkdir()
    if what == "a FIFO":
        os.mkfifo(locks.users_file(path))
    elif what in LINKS:
        target = "/dev/full" if what == "a full disk" else path.parent / "none"
        path.with_suffix(LINKS[what]).symlink_to(target)
    elif what in LOCKED:
        return hold(path, data=LOCKED[what])
    else:
        return hold(path.parent, os.O_RDONLY)
    return None


@pytest.mark.promise("your-programs-only")
@pytest.mark.parametrize("what", IN_THE_WAY)
async def test_without_a_place_for_its_file_each_has_its_own(what: str, tmp_path, monkeypatch):
    """It works as before, whatever lies there; nothing is made elsewhere."""
    new_child = Embedded._new_child
    start_s = embedded.START_S

    async def start_in_time(backend: Embedded) -> dict[str, str]:
        monkeypatch.setattr(embedded, "START_S", start_s)
        return await new_child(backend)

    if what in ("its folder is locked", "silent"):  # which are waited for
        monkeypatch.setattr(embedded, "START_S", 0.5)
        monkeypatch.setattr(Embedded, "_new_child", start_in_time)
    model = tmp_path / "model.gguf"
    shutil.copy(BUNDLED, model)
    settings = EmbeddedSettings(str(model), shared=str(tmp_path / "cache" / "engine"), unused_s=0.5)
    path = settings.find_file()
    assert path
    held = put_in_the_way(what, path)
    if what == "a full disk":
        monkeypatch.setattr(locks, "take", lambda path: os.open(path, os.O_WRONLY))
    backend = Embedded(settings)
    await backend.connect()
    assert psutil.Process(backend.pid).ppid() == os.getpid()
    assert not (tmp_path / "cache" / "none").exists()
    await backend.aclose()
    if held is not None:
        os.close(held)


@pytest.mark.parametrize("change", ["renamed", "linked", "read-only"])
def test_no_engine_stays_when_its_folder_changes(change: str, settings, start, tmp_path) -> None:
    """A user moves the cache, a backup links to the file and it is deleted, a disk becomes read-only."""
    editor = start()
    engine = editor.ask().engine()
    path = settings.find_file()
    assert path
    if change == "renamed":
        path.parent.rename(tmp_path / "old")
    elif change == "linked":
        (tmp_path / "copy").hardlink_to(path)
        path.unlink()
    else:
        path.parent.chmod(0o500)
    editor.end()
    engine.wait(PATIENCE_S)
    shutil.rmtree(path.parent, ignore_errors=True)


@pytest.mark.promise("your-programs-only")
def test_what_is_elsewhere_is_another(settings, monkeypatch, tmp_path) -> None:
    """
    Another context, another version; a container with the same home, behind the same numbers and ports;
    machines of one name whose homes lie on one disk, by what is made at each start of a machine.
    """
    others = replace(settings, n_ctx=4096), replace(settings, shared=settings.shared + "2")
    files = [each.find_file() for each in (settings, *others)]
    boot = tmp_path / "sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    for processes_at, boot_id in (("/none", ""), (tmp_path, "one\n"), (tmp_path, "two\n")):
        monkeypatch.setattr(processes, "PROCESSES", Path(processes_at))
        boot.write_text(boot_id)
        files.append(settings.find_file())
    assert len({*files}) == 6


async def test_it_serves_where_the_system_tells_nothing_of_processes(settings, monkeypatch) -> None:
    """Some sandboxes have no /proc."""
    monkeypatch.setattr(processes, "PROCESSES", Path("/none"))
    backend = Embedded(settings)
    model = await backend.connect()
    assert (await model.complete(REQUEST)).text
    assert backend.state.is_ready
    await backend.aclose()
