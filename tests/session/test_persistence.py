"""A session that ends and another that begins where it was."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fim_lsp.context.ring import Ring
from fim_lsp.documents import Position
from fim_lsp.session.session import Session
from fim_lsp.session.state import state_file
from fim_lsp.settings.config import Config, StateConfig
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Backend
from tests.fake_backend import FakeBackend
from tests.real_code import LONG, read_lines
from tests.typist import BRIEF, Typist

pytestmark = [pytest.mark.usefixtures("short_rests"), pytest.mark.promise("what-is-kept")]

CODE = read_lines(LONG, 0, 100)
OTHER = read_lines(LONG, 900, 980)
HALF = "\nclass Parser:\n    def __init__(self, na"
FEW = 8


class Machine:
    """Folders and servers that outlive a session; *start* is a new process of a server."""

    def __init__(self, cache: Path, start: Callable[[], Backend] | None = None) -> None:
        self.cache = cache
        self.disk: list[tuple[int, ...]] = []  # of the backend without a model
        self.start = start or (lambda: FakeBackend(disk=self.disk))

    @asynccontextmanager
    async def session(self, config: Config = BRIEF) -> AsyncIterator[Session]:
        """A session as a new process would have it, and its end."""
        async with aclosing(Session(config, lambda _: self.start(), self.cache)) as session:
            yield session

    def kept(self) -> list[str]:
        """Return the names of the files of the cache folder."""
        return [path.name for path in self.cache.rglob("*") if path.is_file()]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "cache")


@pytest.fixture
def real(tmp_path: Path) -> Machine:
    """On llama.cpp, which writes its slots to disk."""
    cache = tmp_path / "cache"
    settings = BackendSettings(kind="embedded", slots_dir=str(cache / "slots"))
    return Machine(cache, lambda: open_backend(settings))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a workspace with two files."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "cart.py").write_text(CODE + HALF)
    (folder / "freight.py").write_text(OTHER)
    return folder


def at(session: Session, root: Path, name: str = "cart.py") -> Typist:
    """Return a user who opens a file, the cursor at its end."""
    uri = (root / name).as_uri()
    return Typist(session, (root / name).read_text(), uri=uri, root=root.as_uri())


async def work(machine: Machine, root: Path, config: Config = BRIEF) -> int:
    """Work in a session with two files; returns what its first completion evaluated."""
    async with machine.session(config) as ours:
        at(ours, root, "freight.py")
        typist = at(ours, root)
        await ours.wait_judged()
        await typist.ask(invoked=True)
        cold = typist.counted("tokens", "evaluated")
        await ours.wait_idle()
        await typist.ask(invoked=True)
        await ours.wait_idle()
        assert typist.counted("ring", "chunks") > 0
    return cold


async def again(
    machine: Machine, root: Path, config: Config = BRIEF, name: str = "cart.py"
) -> dict[str, int]:
    """Return the first completion of another session: what it cost, and what stands in the ring."""
    async with machine.session(config) as ours:
        typist = at(ours, root, name)
        await typist.ask(invoked=True)
        assert typist.counted("streams") > 0
        assert typist.counted("mirror", "wrong") == 0
        n_evaluated = typist.counted("tokens", "evaluated") - typist.counted("streams")
        n_chunks = typist.counted("ring", "chunks")
        await ours.wait_idle()  # what is half evaluated for the next request would be lost
        return {"evaluated": n_evaluated, "chunks": n_chunks}


@pytest.mark.promise("readable-by-you-only")
@pytest.mark.engine
async def test_only_the_owner_may_read_what_is_kept(real: Machine, root: Path) -> None:
    """Everything lies in folders of mode 0700 and files of mode 0600, and forgetting leaves nothing."""
    await work(real, root)
    kept = [*real.cache.rglob("*")]
    assert [path for path in kept if path.suffix == ".bin"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept if path.is_dir()} == {0o700}
    assert state_file.forget(real.cache) > 0
    assert [*real.cache.rglob("*")] == []
    assert state_file.forget(real.cache) == 0


async def test_another_file_of_the_workspace_begins_with_its_ring(machine: Machine, root: Path):
    """A file that was not in use finds the ring evaluated, and only its window is not."""
    (root / "new.py").write_text(OTHER[:2000])
    await work(machine, root)
    first = await again(machine, root, name="new.py")
    assert 0 < first["evaluated"] < 800
    assert first["chunks"] > 0


async def test_what_changed_meanwhile_is_seen(machine: Machine, root: Path) -> None:
    """A chunk of a file that was edited or became private elsewhere is not shown again."""
    await work(machine, root)
    assert (await again(machine, root))["evaluated"] <= FEW
    (root / "freight.py").write_text("# all new\n")
    changed = await again(machine, root)
    assert changed["evaluated"] > FEW
    (root / ".gitignore").write_text("freight.py\n")
    async with machine.session() as ours:
        typist = at(ours, root)
        await typist.ask(invoked=True)
        shown = await ours.report(typist.uri)
        assert shown.segments
        assert not [part for part in shown.segments if "freight.py" in part.part]


async def test_who_deleted_all_leaves_as_everybody_does(machine: Machine, root: Path) -> None:
    """Nothing is saved of a text that is gone, and nothing fails."""
    async with machine.session() as ours:
        typist = at(ours, root)
        await typist.ask(invoked=True)
        await ours.wait_idle()
        typist.replace(Position(0, 0), typist.cursor, "")
        typist.cursor = Position(0, 0)
        await typist.ask()
    assert machine.disk == []


async def test_who_wants_nothing_kept_has_nothing_kept(machine: Machine, root: Path) -> None:
    """With fim.state.save off no file is written and none is read."""
    off = replace(BRIEF, state=StateConfig(save=False))
    await work(machine, root, off)
    assert not (machine.cache / "workspaces").exists()
    assert machine.disk == []
    await work(machine, root)
    assert (machine.cache / "workspaces").exists()
    assert machine.disk
    assert (await again(machine, root, off))["chunks"] == 0


async def test_who_wants_it_no_more_has_nothing_left(machine: Machine, root: Path) -> None:
    """Of workspaces that are not open, too: their rules are not known, and need not be."""
    await work(machine, root)
    assert machine.kept()
    async with machine.session() as ours:
        ours.configure(replace(BRIEF, state=StateConfig(save=False)))
    assert machine.kept() == []


async def test_saving_that_is_on_again_keeps_what_is_there_at_the_end(machine: Machine, root: Path):
    """The user switched it off and on at once: what was deleted meanwhile is saved again."""
    async with machine.session() as ours:
        await at(ours, root).ask(invoked=True)
        await ours.wait_idle()
        await ours._persistence.save()
        ours.configure(replace(BRIEF, state=StateConfig(save=False)))
        ours.configure(BRIEF)
    assert len(machine.kept()) == 1


async def test_after_the_end_none_is_begun(machine: Machine, root: Path) -> None:
    """Not by a request that ended late, either."""
    async with machine.session() as ours:
        await at(ours, root).ask(invoked=True)
    save = ours._persistence._begin_save()
    await asyncio.wait([save])
    assert save.cancelled()


def test_what_another_server_deletes_meanwhile_is_no_error(tmp_path: Path, monkeypatch) -> None:
    """Saving is switched off for all editors at once: each deletes all, and one is the first."""
    kept = [tmp_path / name for name in ("slots/1", "workspaces/x.json", "serve.log")]
    for path in kept:
        path.parent.mkdir(exist_ok=True)
        path.write_text(CODE)
    scandir = os.scandir

    def look(folder: Path | str | int):
        if str(folder) == str(tmp_path / "slots") and kept[0].exists():
            kept[0].unlink()
            kept[0].parent.rmdir()
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", look)
    state_file.forget(tmp_path)
    assert [*tmp_path.rglob("*")] == []


async def test_files_outside_of_every_workspace_leave_nothing(
    machine: Machine, root: Path, tmp_path: Path
) -> None:
    """Nor do texts that have no file; what was evaluated for them is gone, too."""
    async with machine.session() as ours:
        for uri in ((root / "cart.py").as_uri(), "untitled:Untitled-1"):
            typist = Typist(ours, CODE + HALF, uri=uri, root=(tmp_path / "elsewhere").as_uri())
            await typist.ask(invoked=True)
            await ours.wait_idle()
            assert typist.counted("streams") > 0
    assert machine.kept() == []
    assert machine.disk == []


async def count_shown(typist: Typist) -> int:
    """Return the tokens of the prompt at the cursor."""
    return sum(part.tokens or 0 for part in (await typist.session.report(typist.uri)).segments)


@pytest.mark.parametrize("change", ["imports above", "a larger window", "nothing"])
async def test_a_server_that_comes_back_loads_what_was_saved(
    machine: Machine, root: Path, change: str
) -> None:
    """Its slots are empty; a window in use that moved since the save is as good as the one that was saved."""
    async with machine.session() as ours:
        typist = at(ours, root)
        ours.connection.n_connected = 1  # a server of this machine is reached at the first request
        await typist.ask(invoked=True)
        if change != "a larger window":
            await ours.wait_idle()
            await typist.ask(invoked=True)
        await ours._persistence.save()
        assert machine.disk
        await ours.wait_idle()
        if change == "imports above":
            typist.replace(Position(0, 0), Position(0, 0), "import os\nimport sys\n")
            typist.cursor = typist.cursor._replace(line=typist.cursor.line + 2)
        shown = await count_shown(typist)
        await ours.backend.aclose()
        ours.connection.n_connected = 2
        assert await typist.cost("zz") <= FEW
        assert typist.counted("streams") == 2
        if change != "a larger window":  # which grows again at rest
            assert await count_shown(typist) >= shown


@pytest.mark.parametrize("junk", ["{", '{"ring": 3}', '{"documents": {"a": 1}}'])
def test_a_file_that_cannot_be_read_is_as_good_as_none(tmp_path: Path, junk: str, caplog):
    """Junk is no error: one line in the log, and everything starts empty."""
    state_file.store(tmp_path, "shop", state_file.SavedWorkspace())
    [file] = (tmp_path / "workspaces").iterdir()
    file.write_text(junk)
    assert state_file.load(tmp_path, "shop") == state_file.SavedWorkspace()
    assert len(caplog.records) == 1
    assert state_file.load(tmp_path, "never seen") == state_file.SavedWorkspace()


def test_what_was_written_by_another_version_is_left_alone(tmp_path: Path) -> None:
    """The format may change with the program; then everything starts empty."""
    state_file.store(tmp_path, "shop", state_file.SavedWorkspace(Ring(credit=7), version="0.0.0"))
    assert state_file.load(tmp_path, "shop") == state_file.SavedWorkspace()
