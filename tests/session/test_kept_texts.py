"""Every text on disk says whose it is, and goes when that is private or gone, alone."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fim_lsp import events
from fim_lsp.cli.setup import forget
from fim_lsp.documents import Position
from fim_lsp.session.session import Session
from fim_lsp.session.state import state_file
from fim_lsp.settings.config import Config, PrivacyConfig, ProjectRules, RingConfig, StateConfig
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.machine import private_files
from server_bridge.protocol import Prompt
from tests.fake_backend import FakeBackend
from tests.typist import QUICK, Typist

pytestmark = [
    pytest.mark.usefixtures("short_rests"),
    pytest.mark.promise("what-is-kept"),
]

CODE = "def freight(weight):\n    rate = 7\n    return weight * rate\n" * 8
NO_RING = dataclasses.replace(QUICK, ring=RingConfig(chunks=0))


class Kept:
    """A folder of workspaces, and one of what was saved of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"

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

    def ignore(self, *roots: str, fimignore: Callable[[Path], object] = bool) -> None:
        for root in roots or ("w",):
            (self.folder / root / ".gitignore").write_text("a.py\n")
        fimignore(self.folder / "w/.fimignore")

    def lose_ring(self) -> None:
        """Ignore the file after the workspace's own was replaced: the state is still there."""
        state_file.path_of(self.cache, "w").unlink()
        self.ignore()

    def replace_by_folder(self, name: str) -> None:
        (self.folder / name).unlink()
        (self.folder / name).mkdir()

    def move_behind_link(self, name: str) -> None:
        """Move a folder of the cache to another disk, as a user may; the file is ignored, too."""
        elsewhere = self.folder / "elsewhere"
        (self.cache / name).rename(elsewhere)
        (self.cache / name).symlink_to(elsewhere)
        self.ignore()


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


@contextmanager
def snapshots(cache: Path, to: Path) -> Iterator[list[Path]]:
    """Copy *cache* before each change of a file in it: what a process that is killed then leaves."""
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
            for path in taken[-1].rglob("*.*"):
                os.utime(path, (0, 0))
            is_on = True

    sys.addaudithook(see)
    yield taken
    is_on = False


@pytest.mark.engine
@pytest.mark.parametrize(("config", "n_before"), [(QUICK, 1), (NO_RING, 0)])
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
    assert [cache for cache in killed if [*cache.rglob("*.bin")]]
    for state in (state for cache in killed for state in cache.rglob("*.bin")):
        assert state.with_name(f"{state.name}.json").exists()
    kept.ignore()
    for cache in [*killed, kept.cache]:
        left = await kept.judge(cache)
        assert [path for path in left if "a.py" in path.read_text("utf-8", "replace")] == []
        for state in cache.rglob("*.bin"):
            files = json.loads(state.with_name(f"{state.name}.json").read_bytes())["files"]
            assert (kept.folder / "w/a.py").as_uri() not in files


def unreadable(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = os.stat

    def refuse(path, *arguments, **options):
        if str(path).startswith(str(kept.folder / "w")):
            raise OSError(errno.EIO, "Input/output error", str(path))
        return stat(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refuse)


EVENTS: dict[str, Callable[[Kept, pytest.MonkeyPatch], object]] = {
    "nothing": lambda kept, _: None,
    "ignored": lambda kept, _: kept.ignore(),
    "both ignored": lambda kept, _: kept.ignore("w", "x"),
    "both ignored, no rules in w": lambda kept, _: kept.ignore("w", "x", fimignore=Path.mkdir),
    "deleted": lambda kept, _: (kept.folder / "w/a.py").unlink(),
    "renamed": lambda kept, _: (kept.folder / "w/a.py").rename(kept.folder / "w/b.py"),
    "a folder": lambda kept, _: kept.replace_by_folder("w/a.py"),
    "unreadable": unreadable,
    "ignored, and its ring aged out": lambda kept, _: kept.lose_ring(),
    "slots behind a link": lambda kept, _: kept.move_behind_link("slots"),
    "notes behind a link": lambda kept, _: kept.move_behind_link("workspaces"),
    "all behind a link": lambda kept, _: kept.move_behind_link("."),
}


def private(**privacy: Any) -> Config:
    return dataclasses.replace(QUICK, privacy=PrivacyConfig(**privacy))


def unknown_in_w(folder: Path) -> Config:
    rules = ProjectRules(os.path.realpath(folder / "w"), (), ".fim-lsp.toml is wrong")
    return private(projects=(rules,))


def keeps_nothing_of_x(folder: Path) -> Config:
    own = dataclasses.replace(QUICK, state=StateConfig(save=False))
    return dataclasses.replace(QUICK, projects=((str(folder / "x"), own),))


CONFIGS: dict[str, Callable[[Path], Config]] = {
    "": lambda _: QUICK,
    "all is hidden": lambda _: private(exclude=("*",)),
    "not known": lambda _: private(unknown="late"),
    "not known in w": unknown_in_w,
    "x keeps nothing": keeps_nothing_of_x,
}


@pytest.mark.promise("rules-act-at-once")
@pytest.mark.parametrize(
    ("event", "config", "roots", "left"),
    [
        ("nothing", "", "w x", "w x"),
        ("ignored", "", "w x", "x"),
        ("ignored", "", "w", "x"),
        ("ignored", "", "x", "w x"),  # what counts in other projects is not known
        ("deleted", "", "w x", "x"),
        ("deleted", "", "x", "w x"),
        ("renamed", "", "w x", "x"),
        ("a folder", "", "w x", "x"),
        ("unreadable", "", "w x", "w x"),
        ("ignored, and its ring aged out", "", "w x", "x"),
        ("slots behind a link", "", "w x", "x"),
        ("notes behind a link", "", "w x", "x"),
        ("all behind a link", "", "w x", "x"),
        ("nothing", "all is hidden", "x", "w"),  # what the settings of a clone hide is its own
        ("nothing", "all is hidden", "w x", ""),
        ("both ignored", "not known", "w x", "w x"),
        ("both ignored", "not known in w", "w x", "w"),
        ("both ignored, no rules in w", "", "w x", "w"),
        ("nothing", "x keeps nothing", "w x", "w"),  # the user's `fim.state.save` is another matter
    ],
)
async def test_what_is_private_or_gone_goes_alone(
    kept: Kept, event: str, config: str, roots: str, left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ring, state and note of a file, where its project is open, its rules are known and its disk answers."""
    for root in ("w", "x"):
        _store(kept.cache, kept.write(f"{root}/a.py"), root)
    EVENTS[event](kept, monkeypatch)
    await kept.judge(None, *roots.split(), config=CONFIGS[config](kept.folder))
    assert _list_stored(kept) == {name for root in left.split() for name in _names(root)}


async def test_the_settings_of_a_folder_count_where_a_part_of_it_was_open_before(kept: Kept):
    """The folder of a project takes the place of one in it, in the same window."""
    _store(kept.cache, kept.write("x/part/a.py"), "x")
    session = Session(keeps_nothing_of_x(kept.folder), lambda _: FakeBackend(), kept.cache)
    for root in ("x/part", "x"):
        session.handle(events.FoldersChanged(((kept.folder / root).as_uri(),)))
        await session.wait_judged()
    assert not _list_stored(kept)
    await session.aclose()


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


async def test_workspaces_not_opened_for_longest_age_out(kept: Kept, monkeypatch):
    """The folder does not grow for ever; their states still have a name."""
    monkeypatch.setattr(state_file, "N_WORKSPACES", 2)
    for n in range(4):
        _store(kept.cache, kept.write(f"w{n}/a.py"), f"w{n}")
        at = n if n != 2 else 4e9  # before the clock was set back
        os.utime(state_file.path_of(kept.cache, f"w{n}"), (at, at))
    state_file.store(kept.cache, "last", state_file.SavedWorkspace())
    left = {path.name for path in (kept.cache / "workspaces").iterdir()}
    assert left == {state_file.path_of(kept.cache, name).name for name in ("w3", "last")}
    kept.ignore("w0")
    await kept.judge(None, "w0", "w1")
    assert not (kept.cache / "slots/w0.bin").exists()
    assert (kept.cache / "slots/w1.bin").exists()


@pytest.mark.parametrize(
    ("name", "is_old"),
    [
        ("slots/x.bin", True), ("slots/.x.bin.json.abc", True), ("workspaces/.y.json.abc", True),
        ("slots/z.bin.json", True), ("workspaces/.y.json.abc", False),
    ],
)  # fmt: skip
async def test_what_has_no_name_goes(kept: Kept, name: str, *, is_old: bool) -> None:
    """A state without a note, what was half written, a note of an earlier version; not what is being written."""
    _store(kept.cache, kept.write("w/a.py"), "w")
    (kept.cache / name).write_text("{}")
    if is_old:
        os.utime(kept.cache / name, (0, 0))
    await kept.judge()
    assert _list_stored(kept) == {*_names("w"), *(() if is_old else [Path(name).name])}


async def test_what_cannot_be_deleted_is_told(kept: Kept, monkeypatch, caplog, capsys):
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
    assert forget(kept.cache, has_server=False) == 1
    assert "w.bin" in capsys.readouterr().out


def _nothing(*_: object, **__: object) -> None:
    """Delete no folder."""


def _store(cache: Path, file: Path, name: str) -> None:
    """Write what a session saves: the workspace's file, a state, and the note on it."""
    uri = file.as_uri()
    state_file.store(cache, name, state_file.SavedWorkspace(files=(uri,)))
    private_files.write(cache / f"slots/{name}.bin", name.encode())
    private_files.write(cache / f"slots/{name}.bin.json", json.dumps({"files": [uri]}).encode())


def _names(name: str) -> set[str]:
    """Return the names of the files that `_store` writes."""
    return {f"{name}.bin", f"{name}.bin.json", state_file.path_of(Path(), name).name}


def _list_stored(kept: Kept) -> set[str]:
    folders = (kept.cache / "slots", kept.cache / "workspaces")
    return {path.name for folder in folders for path in folder.iterdir()}
