"""Every text on disk says whose it is, and goes when that is private or gone, alone."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fim_lsp import events
from fim_lsp.cli.setup import forget
from fim_lsp.documents import Position
from fim_lsp.session.lane import Withdrawn
from fim_lsp.session.prefill import Prefill
from fim_lsp.session.session import Session
from fim_lsp.session.state import state_file
from fim_lsp.settings.config import Config, PrivacyConfig, RingConfig
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.machine import private_files
from server_bridge.protocol import Prompt
from tests.fake_backend import FakeBackend
from tests.typist import QUICK, Typist

pytestmark = [pytest.mark.security, pytest.mark.usefixtures("short_rests")]

CODE = "def freight(weight):\n    rate = 7\n    return weight * rate\n" * 8
NO_RING = dataclasses.replace(QUICK, ring=RingConfig(chunks=0))


class Kept:
    """A folder of workspaces, and one of what was saved of them."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"

    def write(self, name: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(CODE)
        return file

    def open(self, session: Session, name: str) -> Typist:
        file = self.write(name)
        root = (self.folder / name.partition("/")[0]).as_uri()
        return Typist(session, CODE, file.as_uri(), root=root)

    def engine(self, config: Config = QUICK) -> Session:
        """Return a session on llama.cpp."""
        slots = BackendSettings(kind="embedded", slots_dir=str(self.cache / "slots"))
        return Session(config, lambda _: open_backend(slots), self.cache)

    async def save(self, session: Session, *names: str) -> None:
        """Work in these files, and save."""
        typists = [self.open(session, name) for name in names]
        await session.wait_judged()
        for _ in range(2):
            for typist in typists:
                await typist.ask(invoked=True)
                await session.wait_idle()
        await session._persistence.save()

    async def judge(
        self, cache: Path | None = None, *roots: str, config: Config = QUICK
    ) -> list[Path]:
        """Let another session begin, which opens nothing; return what is on disk then."""
        session = Session(config, lambda _: FakeBackend(), cache or self.cache)
        folders = tuple((self.folder / root).as_uri() for root in roots or ("w",))
        session.handle(events.FoldersChanged(folders))
        await session.wait_judged()
        await session.aclose()
        return [*state_file.list_kept(cache or self.cache)]

    def ignore(self, root: str = "w") -> None:
        (self.folder / root / ".gitignore").write_text("a.py\n")


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


@contextmanager
def snapshots(cache: Path, to: Path) -> Iterator[list[Path]]:
    """
    Copy *cache* before each change of a file in it: what a process leaves that is killed then.
    """
    taken: list[Path] = []
    is_on = True

    def see(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal is_on
        changes = event in ("os.rename", "os.remove") or (
            event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
        )
        if is_on and changes and str(arguments[0]).startswith(str(cache)):
            is_on = False
            taken.append(to / str(len(taken)))
            shutil.copytree(cache, taken[-1])
            is_on = True

    sys.addaudithook(see)
    yield taken
    is_on = False


@pytest.mark.engine
@pytest.mark.parametrize("config", [QUICK, NO_RING])
@pytest.mark.parametrize("n_before", [0, 1])
async def test_whenever_it_is_killed_nothing_is_without_a_name(
    kept: Kept, config: Config, n_before: int
) -> None:
    """Before each write of a save, the first or a further one; then the file is ignored."""
    session = kept.engine(config)
    for _ in range(n_before):
        await kept.save(session, "w/b.py")
    with snapshots(kept.cache, kept.folder / "killed") as killed:
        await kept.save(session, "w/a.py")
        await session._persistence.wait_audited()
    await session.aclose()
    states = [cache for cache in killed if [*cache.rglob("*.bin")]]
    assert states
    for state in (state for cache in states for state in cache.rglob("*.bin")):
        assert state.with_name(f"{state.name}.json").exists()
    kept.ignore()
    for cache in [*killed, kept.cache]:
        left = await kept.judge(cache)
        assert [path for path in left if "a.py" in path.read_text("utf-8", "replace")] == []
        for state in cache.rglob("*.bin"):
            files = json.loads(state.with_name(f"{state.name}.json").read_bytes())["files"]
            assert (kept.folder / "w/a.py").as_uri() not in files


@pytest.mark.engine
@pytest.mark.parametrize("config", [QUICK, NO_RING])
async def test_another_session_in_between_hides_no_state(kept: Kept, config: Config) -> None:
    """The workspace's file is another one then, and the state of the model is still there."""
    for name in ("w/a.py", "w/c.py"):
        session = kept.engine(config)
        await kept.save(session, name)
        await session.aclose()
    assert len([*kept.cache.rglob("*.bin")]) > 1
    kept.ignore()
    await kept.judge()
    notes = "".join(path.read_text() for path in kept.cache.rglob("*.json"))
    assert "w/a.py" not in notes


@pytest.mark.engine
async def test_a_second_document_that_is_withdrawn_leaves_a_name(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one's state is on disk, the workspace's file is not."""
    session, save, n_saved = kept.engine(), Prefill.save, 0

    async def save_one(*arguments) -> bool:
        nonlocal n_saved
        n_saved += 1
        if n_saved > 1:
            raise Withdrawn("the text was changed meanwhile")
        return await save(*arguments)

    monkeypatch.setattr(Prefill, "save", save_one)
    await kept.save(session, "w/a.py", "w/b.py")
    assert [*kept.cache.rglob("*.bin")]
    assert not [*kept.cache.glob("workspaces/*")]
    await session.aclose()
    kept.ignore()
    (kept.folder / "w/b.py").unlink()
    assert await kept.judge() == []


async def test_a_session_judges_its_own_workspaces(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is private there goes; a folder that cannot be read says nothing, and other workspaces are left alone."""
    for root in ("u", "v", "w", "x"):
        _store(kept.cache, kept.write(f"{root}/a.py"), root)
        kept.ignore(root)
    (kept.folder / "x/.gitignore").unlink()
    stat = os.stat

    def refuse(path, *arguments, **options):
        if str(path).startswith(str(kept.folder / "u")):
            raise OSError(errno.EIO, "Input/output error", str(path))
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refuse)
    await kept.judge(None, "u", "w", "x")
    left = {path.name for path in (kept.cache / "slots").glob("*.bin")}
    assert left == {"u.bin", "v.bin", "x.bin"}


async def test_a_clone_deletes_nothing_of_other_projects(kept: Kept) -> None:
    """What its settings hide is its own; the same for settings that cannot be read, which hide all."""
    for root in ("w", "clone"):
        _store(kept.cache, kept.write(f"{root}/a.py"), root)
    hidden = dataclasses.replace(QUICK, privacy=PrivacyConfig(exclude=("*",)))
    await kept.judge(None, "clone", config=hidden)
    assert [path.read_text() for path in kept.cache.rglob("*.bin")] == ["w"]
    await kept.judge(None, "w", config=hidden)
    assert not [*kept.cache.rglob("*.bin")]


async def test_half_an_emoji_keeps_no_other_workspace_from_disk(kept: Kept) -> None:
    """A client may send one; JSON has no place for it."""

    class Keeping(FakeBackend):
        async def save(self, prompt: Prompt, files: tuple[str, ...] = ()) -> int:
            return 100

    backend = Keeping()
    session = Session(QUICK, lambda _: backend, kept.cache)
    await session.connection.wait_ready()
    roots = tuple((kept.folder / root).as_uri() for root in ("w", "x"))
    session.handle(events.FoldersChanged(roots))
    for root, text in (("w", "def f():\n    return 1\nx = '\ud83d'\n"), ("x", CODE)):
        uri = kept.write(f"{root}/a.py").as_uri()
        session.handle(events.Opened(uri, "python", 1, text))
        await session.wait_judged()
        await session.complete(uri, Position(1, 0), invoked=True)
        await session.wait_idle()
    await session._persistence.save()
    await session.aclose()
    kept_texts = [path.read_text() for path in (kept.cache / "workspaces").iterdir()]
    assert [roots[1] in text for text in kept_texts] == [True]


@pytest.mark.parametrize("is_one", [True, False])
async def test_what_is_gone_costs_its_own_state(kept: Kept, is_one: bool) -> None:
    """A branch was switched: other workspaces begin warm."""
    for root in ("w", "x"):
        _store(kept.cache, kept.write(f"{root}/a.py"), root)
    (kept.folder / "x/a.py").unlink()
    await kept.judge(None, *(("w",) if is_one else ("w", "x")))
    left = sorted(path.read_text() for path in kept.cache.rglob("*.bin"))
    assert left == ["w", *["x"] * is_one]


async def test_more_workspaces_than_are_kept_leave_no_state(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of one that was not opened for longest goes; its states still have a name."""
    monkeypatch.setattr(state_file, "N_WORKSPACES", 2)
    for n in range(state_file.N_WORKSPACES + 2):
        _store(kept.cache, kept.write(f"w{n}/a.py"), f"w{n}")
    kept.ignore("w0")
    await kept.judge(None, "w0", "w1")
    assert not (kept.cache / "slots/w0.bin").exists()
    assert (kept.cache / "slots/w1.bin").exists()


@pytest.mark.parametrize("linked", ["slots", "workspaces", "."])
async def test_what_is_private_is_deleted_behind_a_link(kept: Kept, linked: str) -> None:
    """A user may keep states on another disk; so does `fim-lsp forget`."""
    _store(kept.cache, kept.write("w/a.py"), "w")
    folder, elsewhere = kept.cache / linked, kept.folder / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    kept.ignore()
    assert await kept.judge() == []
    assert [path for path in elsewhere.rglob("*.*") if path.name != "days.json"] == []


@pytest.mark.parametrize(
    "name", ["slots/x.bin", "slots/.x.bin.json.abc", "workspaces/.y.json.abc", "slots/z.bin.json"]
)
async def test_what_has_no_name_goes(kept: Kept, name: str) -> None:
    """A state without a note, what was half written, a note of an earlier version."""
    _store(kept.cache, kept.write("w/a.py"), "w")
    (kept.cache / name).write_text("{}")
    assert {path.name for path in await kept.judge()} == {
        "w.bin.json", state_file.path_of(kept.cache, "w").name,
    }  # fmt: skip
    assert not (kept.cache / name).exists()


async def test_what_cannot_be_deleted_is_told(
    kept: Kept, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capsys
) -> None:
    """By a line in the log, and by `fim-lsp forget`."""
    _store(kept.cache, kept.write("w/a.py"), "w")
    kept.ignore()
    unlink = Path.unlink

    def refuse(path: Path, **options: bool) -> None:
        if path.suffix == ".bin":
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, **options)

    monkeypatch.setattr(Path, "unlink", refuse)
    await kept.judge()
    assert "w.bin" in caplog.text
    monkeypatch.setattr(shutil, "rmtree", _nothing)
    assert forget(kept.cache) == 1
    assert "w.bin" in capsys.readouterr().out


def _nothing(*_: object, **__: object) -> None:
    """Delete no folder."""


def _store(cache: Path, file: Path, name: str) -> None:
    """Write what a session saves: the workspace's file, a state, and the note on it."""
    uri = file.as_uri()
    state_file.store(cache, name, state_file.SavedWorkspace(files=(uri,)))
    private_files.write(cache / f"slots/{name}.bin", name.encode())
    private_files.write(cache / f"slots/{name}.bin.json", json.dumps({"files": [uri]}).encode())
