"""
What each file of rules and settings can be, and what is sent then: a row for each thing that a path can be or become, a
column for each kind of file. Each cell is a session of its own.
"""

from __future__ import annotations

import asyncio
import builtins
import io
import os
import stat
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from fim_lsp import events, regular_files
from fim_lsp.documents import Position
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.rpc import JsonRpcException
from fim_lsp.session import judging, prefill
from fim_lsp.session.session import Session
from fim_lsp.session.state import verdicts
from fim_lsp.settings import files, merge
from fim_lsp.settings.config import Config
from fim_lsp.suggest.reasons import Outcome
from tests.fake_backend import FakeBackend
from tests.fuzz import FUZZ

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here"),
    pytest.mark.promise("private-if-unsure"),
]

EXCLUDE = "privacy.exclude = ['secret.py']\n"
COLUMNS = {
    "config.toml": ("home/.config/fim-lsp/config.toml", EXCLUDE),
    ".fim-lsp.toml": ("w/.fim-lsp.toml", EXCLUDE),
    ".gitignore": ("w/.gitignore", "secret.py\n"),
    ".fimignore": ("w/.fimignore", "secret.py\n"),
    "info/exclude": ("w/.git/info/exclude", "secret.py\n"),
    "excludesFile": ("home/mine", "secret.py\n"),
}
ASKED = {"completion": {"auto": True}}, {"privacy": {"exclude": ["secret.py"]}}
ALL = "all are private"
RULE = "the rule counts"
NONE = "there is no rule"


class Cell:
    """A workspace with two files, one of which the rule hides; *path* is the file of the column."""

    def __init__(self, folder: Path, column: str, patch: pytest.MonkeyPatch) -> None:
        place, self.rule = COLUMNS.get(column, ("editor", ""))
        self.folder = folder
        self.root = folder / "w"
        self.path = folder / place
        self.aside = folder / "aside"  # for what the path leads to
        self.patch = patch
        self.answers = threading.Event()  # of the disk
        self.answers.set()
        self.configuration: object = ASKED[column == "the editor"]
        self.backend = FakeBackend()
        for name in ("w/.git/objects", "w/.git/refs", "w/.git/info", "home/.config/fim-lsp"):
            (folder / name).mkdir(parents=True)
        (self.root / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (folder / "home/.gitconfig").write_text("[core]\nexcludesFile = ~/mine\n")
        for name in ("secret", "open"):
            (self.root / f"{name}.py").write_text(f"def {name}_canary(weight):\n    return ")
        real = regular_files.read_beginning

        def read(path: Path, longest: int, *, follow: bool) -> bytes | None:
            data = real(path, longest, follow=follow)
            if path == self.path and not self.answers.wait(10.0):
                raise TimeoutError
            return data

        patch.setattr(regular_files, "read_beginning", read)
        patch.setattr(prefill, "IDLE_S", 0.02)
        self.client = Client(self)

    def write(self, text: str | bytes | None = None) -> None:
        data = self.rule if text is None else text
        self.path.write_bytes(data.encode() if isinstance(data, str) else data)

    def hang(self) -> None:
        """Let the disk, or the editor, not answer."""
        self.answers.clear()
        for module in (judging, verdicts):
            self.patch.setattr(module, "LIMIT_S", 0.05)
        self.patch.setattr(judging, "BY_HAND_S", 0.0)

    async def tell(self) -> None:
        """Report that the file changed, as an editor does, or that the user's file was looked at."""
        self.client.session.handle(events.FilesChanged((self.path.as_uri(),), ()))
        self.client.reread_settings((self.path.as_uri(),))
        await self.settle()

    async def settle(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        if self.answers.is_set():
            while self.client.sources._reading or not self.client.sources._is_answered:
                await asyncio.sleep(0.001)
            await self.client.session.wait_judged()

    async def look(self) -> tuple[str, str]:
        """Return what is private, and the reason for the file that no rule hides."""
        if self.answers.is_set():
            await self.client.session.wait_idle()
        self.backend.seen.clear()
        self.backend.warmed.clear()
        reasons = {}
        for name in ("secret", "open"):
            uri = (self.root / f"{name}.py").as_uri()
            if uri not in self.client.session.documents:
                text = (self.root / f"{name}.py").read_text()
                self.client.session.handle(events.Opened(uri, "python", 1, text))
            answer = await self.client.session.complete(uri, Position(1, 11), invoked=True)
            is_private = answer.end.outcome in (Outcome.PRIVATE, Outcome.EARLY)
            assert is_private != bool(answer.suggestions), answer
            reasons[name] = answer.end.rule if is_private else ""
        sent = repr([*self.backend.seen, *self.backend.warmed])
        for name, reason in reasons.items():
            assert not reason or f"{name}_canary" not in sent, reasons
        hidden = bool(reasons["secret"]), bool(reasons["open"])
        kinds = {(True, True): ALL, (True, False): RULE, (False, False): NONE}
        return kinds[hidden], reasons["open"]


class Client(Editor):
    """An editor without a wire."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(lambda config: Session(config, lambda _: cell.backend), {})
        self.cell = cell
        self.told: list[str] = []
        self._log = Config().log  # the log of this process is not its own
        cell.patch.setattr(self.messages, "show_problems", self.told.extend)

    def start(self) -> None:
        self.roots = (self.cell.root.as_uri(),)
        quick = {"completion": {"debounceMs": 0, "minConfidence": 0, "candidates": 1}}
        self.sources.say("initializationOptions", quick)
        self.sources.expect_answer()
        self._read_files()
        self.session = self._open_session(self._config())
        self._is_open = True
        self.session.handle(events.FoldersChanged(self.roots))
        self.later(self.pull(), "pull")

    def offers(self, *_: object, **__: object) -> bool:
        return True

    async def workspace_configuration_async(self, _: object) -> list[object]:
        answer = self.cell.configuration
        await asyncio.to_thread(self.cell.answers.wait if self.cell.path.name == "editor" else bool)
        if isinstance(answer, Exception):
            raise answer
        return [answer]


@pytest.fixture
async def cell(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Cell]:
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home/.config"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setattr(files, "LIMIT_S", 0.02)
    made = Cell(tmp_path, request.param, monkeypatch)
    yield made
    made.answers.set()
    await made.settle()
    await made.client.session.aclose()


# -- what a path can be ----------------------------------------------------------------------------


Make = Callable[[Cell, Path], object]


def regular(cell: Cell, path: Path) -> None:
    path.write_text(cell.rule)


def too_large(cell: Cell, path: Path) -> None:
    path.write_text(cell.rule + "#" * 300_000)


def unreadable(cell: Cell, path: Path) -> None:
    path.write_text(cell.rule)
    real = os.open

    def refuse(name: str | Path, *rest: int) -> int:
        if os.path.realpath(name) == os.path.realpath(path):
            raise PermissionError(13, "Permission denied", str(name))
        return real(name, *rest)

    cell.patch.setattr(os, "open", refuse)


def device(cell: Cell, path: Path) -> None:
    try:
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only root may make a device")


def encoded(name: str) -> Make:
    return lambda cell, path: path.write_bytes(cell.rule.encode(name))


def linked(to: Make) -> Make:
    def link(cell: Cell, path: Path) -> None:
        to(cell, cell.aside)
        path.symlink_to(cell.aside)

    return link


def hard_link(cell: Cell, path: Path) -> None:
    cell.aside.write_text(cell.rule)
    os.link(cell.aside, path)


def unlink_and_write(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


def write_unnoticed(path: Path, text: str) -> None:
    """Leave size and time of change as they were."""
    about = path.stat()
    path.write_text(text)
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


def make_a_folder(path: Path, _: str) -> None:
    path.unlink()
    path.mkdir()


def while_read(change: Callable[[Path, str], object]) -> Make:
    """The rule comes while the file, which has none, is being read."""

    def write(cell: Cell, path: Path) -> None:
        path.write_text("#" * (len(cell.rule) - 1) + "\n")
        real = builtins.open
        todo = [cell.rule]

        def open_it(name: object, *rest: object, **options: object) -> object:
            file: io.BufferedReader = real(name, *rest, **options)  # type: ignore[call-overload]
            if name == path and todo:
                file.peek()  # the reader gets what is there now
                change(path, todo.pop())
            return file

        cell.patch.setattr(builtins, "open", open_it)

    return write


A = ALL
R = RULE
N = NONE
# of the user's settings, the project's, .gitignore, .fimignore, .git/info/exclude, core.excludesFile
THINGS: dict[str, tuple[Make, str]] = {
    "absent": (lambda *_: None, "N N N N N N"),
    "regular": (regular, "R R R R R R"),
    "empty": (lambda _, path: path.touch(), "N N N N N N"),
    "too large": (too_large, "A A A A A A"),
    "unreadable": (unreadable, "A A A A A A"),
    "a folder": (lambda _, path: path.mkdir(), "A A A A A A"),
    "a pipe": (lambda _, path: os.mkfifo(path), "A A A A A A"),
    "a device": (device, "A A A A A A"),
    # git follows no link of the name .gitignore, and a project may bring one for its settings
    "/dev/null": (lambda _, path: path.symlink_to(os.devnull), "N A A N N N"),
    "a link": (linked(regular), "R A A R R R"),
    "a link to a large file": (linked(too_large), "A A A A A A"),
    "a link to an unreadable file": (linked(unreadable), "A A A A A A"),
    "a link to a device": (linked(device), "A A A A A A"),
    "dangling": (lambda cell, path: path.symlink_to(cell.aside), "A A A A A A"),
    "a loop": (lambda _, path: path.symlink_to(path), "A A A A A A"),
    "UTF-16": (encoded("utf-16"), "A A A A A A"),
    "UTF-16 without a mark": (encoded("utf-16-be"), "A A A A A A"),
    "with a byte order mark": (encoded("utf-8-sig"), "R R R R R R"),
    "a hard link": (hard_link, "R R R R R R"),
    "replaced while it is read": (while_read(unlink_and_write), "R R R R R R"),
    "written while it is read": (while_read(Path.write_text), "R R R R R R"),
    "written unnoticed while it is read": (while_read(write_unnoticed), "R R R R R R"),
    "made a folder while it is read": (while_read(make_a_folder), "A A A A A A"),
    "deleted while it is read": (while_read(lambda path, _: path.unlink()), "N N N N N N"),
}


def list_cells() -> Iterator[object]:
    """Yield a row for each cell; without scripts/test-security two of each thing, in turn."""
    for n_row, (row, (make, marks)) in enumerate(THINGS.items()):
        cells = [*zip(COLUMNS, marks.split(), strict=True)]
        for column, mark in cells if FUZZ > 1 else cells[n_row % 3 :: 3]:
            wanted = {"A": ALL, "R": RULE, "N": NONE}[mark]
            yield pytest.param(column, make, wanted, id=f"{column} is {row}")


@pytest.mark.promise("files-outside-and-links")
@pytest.mark.parametrize(("cell", "make", "wanted"), [*list_cells()], indirect=["cell"])
async def test_what_a_file_of_rules_is(cell: Cell, make: Make, wanted: str) -> None:
    """What cannot be read hides all; the reason names the file and how to mend it."""
    make(cell, cell.path)
    cell.client.start()
    await cell.settle()
    kind, reason = await cell.look()
    assert kind == wanted, reason
    if kind is ALL:
        assert cell.path.name in reason
        if cell.path.suffix == ".toml":
            [told] = {*cell.client.told}
            assert str(cell.path) in told
            assert told.endswith(merge.UNTIL_MENDED)


# -- what it can become ----------------------------------------------------------------------------


async def late_at_the_start(cell: Cell) -> list[str]:
    cell.write() if cell.path.name != "editor" else None
    cell.hang()
    return [await start(cell), await answered(cell)]


async def late_at_a_change(cell: Cell) -> list[str]:
    before = await start_without(cell)
    cell.hang()
    return [before, await change(cell), await answered(cell)]


async def gone_and_back(cell: Cell) -> list[str]:
    cell.write() if cell.path.name != "editor" else None
    kinds = [await start(cell)]
    if cell.path.name == "editor":
        cell.configuration = None
        await cell.client.pull()
    else:
        cell.path.unlink()
        await cell.tell()
    kinds.append((await cell.look())[0])
    return [*kinds, await change(cell)]


async def emptied_and_back(cell: Cell) -> list[str]:
    """As an editor writes it that does not write beside it."""
    cell.write()
    kinds = [await start(cell)]
    for text in ("", cell.rule):
        cell.write(text)
        await cell.tell()
        kinds.append((await cell.look())[0])
    return kinds


async def wrong_and_mended(cell: Cell) -> list[str]:
    kinds = [await start_without(cell)]
    cell.path.unlink(missing_ok=True)
    cell.path.mkdir()
    await cell.tell()
    kinds.append((await cell.look())[0])
    cell.path.rmdir()
    return [*kinds, await change(cell)]


async def refused(cell: Cell) -> list[str]:
    """It said that it can be asked."""
    cell.configuration = JsonRpcException(message="no")
    return [await start(cell)]


async def start(cell: Cell) -> str:
    cell.client.start()
    await cell.settle()
    return (await cell.look())[0]


async def start_without(cell: Cell) -> str:
    if cell.path.name == "editor":
        cell.configuration = None
    return await start(cell)


async def answered(cell: Cell) -> str:
    """Let the disk answer."""
    cell.answers.set()
    await cell.settle()
    return (await cell.look())[0]


async def change(cell: Cell) -> str:
    """Have the file say the rule from now on, and tell."""
    if cell.path.name == "editor":
        cell.configuration = ASKED[1]
        cell.client.later(cell.client.pull(), "pull")
        await cell.settle()
    else:
        cell.write()
        await cell.tell()
    return (await cell.look())[0]


FILES = [*COLUMNS]
SETTINGS = FILES[:2]
STORIES: list[tuple[Callable[[Cell], Awaitable[list[str]]], list[str], list[str]]] = [
    (late_at_the_start, [*FILES, "the editor"], [ALL, RULE]),
    (late_at_a_change, [*FILES, "the editor"], [NONE, ALL, RULE]),
    (gone_and_back, [*FILES, "the editor"], [RULE, NONE, RULE]),
    (emptied_and_back, SETTINGS, [RULE, ALL, RULE]),
    (emptied_and_back, FILES[2:], [RULE, NONE, RULE]),
    (wrong_and_mended, FILES, [NONE, ALL, RULE]),
    (refused, ["the editor"], [NONE]),
]


@pytest.mark.parametrize(
    ("cell", "story", "wanted"),
    [
        pytest.param(column, story, wanted, id=f"{column} {story.__name__}")
        for n, (story, columns, wanted) in enumerate(STORIES)
        for column in (columns if FUZZ > 1 else columns[n % 2 :: 2] or columns)
    ],
    indirect=["cell"],
)
async def test_what_a_file_of_rules_becomes(
    cell: Cell, story: Callable[[Cell], Awaitable[list[str]]], wanted: list[str]
) -> None:
    """While it is not known what a file says, all is private; what comes back counts again."""
    assert await story(cell) == wanted
