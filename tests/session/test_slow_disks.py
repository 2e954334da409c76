"""A disk that does not answer, rules that change in bursts, folders that go away."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session import judging
from fim_lsp.session.session import Session
from fim_lsp.session.state import state_file, verdicts, workspaces
from fim_lsp.workspace import explorer, files, git_files
from tests.clock import on_clock
from tests.fake_backend import FakeBackend
from tests.fuzz import FUZZ, in_turn
from tests.typist import QUICK, Typist, wait_explored, wait_judged

pytestmark = [pytest.mark.promise("private-if-unsure")]

CODE = "def freight(weight):\n    rate = '{}'\n    return weight * rate\n"


class Disks:
    """Two workspaces, and a session in both; `hang` makes looks at some files wait."""

    def __init__(self, folder: Path) -> None:
        self.backend = FakeBackend()
        self.roots = [folder / "one", folder / "two"]
        self.session = Session(QUICK, lambda _: self.backend, folder / "cache")
        for root in self.roots:
            (root / "sub").mkdir(parents=True)
        self.answers = threading.Event()
        self.n_looks = 0

    def open(self, path: Path, uri: str = "") -> Typist:
        path.parent.mkdir(exist_ok=True)
        path.write_text(CODE.format(path.stem))
        roots = tuple(root.as_uri() for root in self.roots)
        if self.session._workspaces.roots != roots:
            self.session.handle(events.FoldersChanged(roots))
        self.session.handle(events.Opened(uri or path.as_uri(), "python", 1, path.read_text()))
        return self.typist(path, uri)

    def typist(self, path: Path, uri: str = "") -> Typist:
        """Return a user at the end of a document that is open."""
        typist = Typist.__new__(Typist)
        typist.session = self.session
        typist.uri = uri or path.as_uri()
        typist._version = 1
        lines = typist.document.lines
        typist.cursor = Position(len(lines) - 1, len(lines[-1]))
        return typist

    def hang(self, monkeypatch: pytest.MonkeyPatch, *places: Path) -> None:
        """Let looks at what is in *places* wait."""
        for module, name in ((verdicts, "why_private"), (workspaces, "reread")):
            real = getattr(module, name)

            def look(file, *arguments, _real=real, **options):
                self.n_looks += 1
                if any(Path(file).is_relative_to(place) for place in places):
                    self.answers.wait(60.0)
                return _real(file, *arguments, **options)

            monkeypatch.setattr(module, name, look)

    @property
    def sent(self) -> str:
        return repr([*self.backend.seen, *self.backend.warmed])


@pytest.fixture
async def disks(tmp_path: Path) -> AsyncIterator[Disks]:
    disks = Disks(tmp_path)
    await disks.session.connection.wait_ready()
    yield disks
    disks.answers.set()
    await wait_judged(disks.session)
    await disks.session.aclose()


async def answer(typist: Typist) -> str:
    """Return the outcome of a request by hand."""
    asked = typist.session.complete(typist.uri, typist.cursor, invoked=True)
    return (await asyncio.wait_for(asked, 5.0)).end.key


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand, too, no longer than while typing."""
    monkeypatch.setattr(judging, "BY_HAND_S", 0.0)


async def test_by_hand_a_busy_machine_is_waited_for(disks: Disks, monkeypatch: pytest.MonkeyPatch):
    """The look takes longer than it may while typing; without it the message speaks of no privacy."""
    disks.hang(monkeypatch, disks.roots[0])
    monkeypatch.setattr(judging, "LIMIT_S", 0.05)
    main = disks.open(disks.roots[0] / "a.py")
    early = await disks.session.complete(main.uri, main.cursor, invoked=True)
    assert "too early" in early.end.words
    assert "is private, nothing" not in early.end.words
    monkeypatch.setattr(judging, "BY_HAND_S", 60.0)
    asked = asyncio.create_task(answer(main))
    await asyncio.sleep(0.2)
    assert not asked.done()
    disks.answers.set()
    assert await asked == "backend"


@pytest.mark.parametrize("n_hanging", [40] if FUZZ == 1 else [1, 40, 300])
async def test_a_disk_that_hangs_stops_its_own_documents(disks: Disks, monkeypatch, n_hanging: int):
    """Others are answered at once, in its workspace, too; its own are, once the disk answers."""
    one, two = disks.roots
    slow = one / "sub"
    disks.hang(monkeypatch, slow)
    hanging = []
    for n in range(n_hanging):
        hanging.append(disks.open(slow / f"h{n}.py"))
        await asyncio.sleep(0)  # each is a message of its own
    loop = asyncio.get_running_loop()
    for healthy in (disks.open(one / "a.py"), disks.open(two / "b.py")):
        began = loop.time()
        assert await answer(healthy) == "backend"
        assert loop.time() - began < verdicts.LIMIT_S
    assert "not judged" in await answer(hanging[0])
    began = loop.time()
    assert "not judged" in await answer(hanging[0])  # it is not waited for twice
    assert loop.time() - began < verdicts.LIMIT_S / 2
    assert "h0" not in disks.sent
    disks.answers.set()
    await wait_judged(disks.session)
    assert await answer(hanging[0]) == "backend"


async def test_a_disk_that_begins_to_hang_takes_its_text_out_of_prompts(disks: Disks, monkeypatch):
    """A rule changes: what was shown before is not, until it is judged by the new rule."""
    one, _ = disks.roots
    disks.open(one / "sub/slow.py")
    main = disks.open(one / "a.py")
    await wait_judged(disks.session)
    for _ in range(2):
        main.type("\n    return freight")
        assert "private" not in await answer(main)
        await disks.session.wait_idle()
    main.type("(")
    assert "private" not in await answer(main)
    assert "slow" in repr(disks.backend.seen[-1]), "the ring must be at work"
    disks.hang(monkeypatch, one / "sub")
    disks.session.handle(events.FilesChanged(((one / ".gitignore").as_uri(),), ()))
    disks.backend.seen.clear()
    disks.backend.warmed.clear()
    for key in "weight":
        main.type(key)
        assert "private" not in await answer(main)
    await disks.session.wait_idle()
    assert "slow" not in disks.sent


async def test_what_is_saved_on_a_disk_that_hangs_is_waited_for_once(
    disks: Disks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each of 30 folders is asked once, and what is private elsewhere goes meanwhile."""
    one, two = disks.roots
    (two / "b.py").touch()
    uris = [(one / f"sub/{n}/a.py").as_uri() for n in range(30)]
    for n, uri in enumerate(uris):
        (one / f"sub/{n}").mkdir()
        (one / f"sub/{n}/a.py").touch()
        state_file.store(tmp_path / "cache", f"w{n}", state_file.SavedWorkspace(files=(uri,)))
    disks.hang(monkeypatch, one)
    disks.session.handle(events.FoldersChanged((one.as_uri(), two.as_uri())))
    loop = asyncio.get_running_loop()
    for n in range(3):
        kept = state_file.SavedWorkspace(files=((two / "b.py").as_uri(), *uris[:n]))
        state_file.store(tmp_path / "cache", "two", kept)
        (two / ".gitignore").write_text("b.py\n")
        began = loop.time()
        disks.session.handle(events.FilesChanged(((two / ".gitignore").as_uri(),), ()))
        await disks.session._persistence.wait_audited()
        assert loop.time() - began < len(uris) / 3 * verdicts.LIMIT_S
        assert not state_file.path_of(tmp_path / "cache", "two").exists()
    assert disks.n_looks <= len(uris) + 3


async def test_listings_of_a_disk_that_hangs_do_not_pile_up(disks: Disks, monkeypatch):
    """Whatever changes, a workspace waits with one, and no other work with it."""
    main = disks.open(disks.roots[0] / "a.py")
    listed: list[object] = []

    def list_files(*arguments):
        listed.append(arguments[0])
        disks.answers.wait(60.0)
        return files.list_files(*arguments)

    monkeypatch.setattr(explorer, "list_files", list_files)
    found = next(iter(disks.session._workspaces)).files
    for _ in range(20):
        found.explore("a.py", disks.session.config)
        await asyncio.sleep(0.001)
        found.forget()
        await asyncio.sleep(0)
    await asyncio.wait_for(asyncio.to_thread(main.type, "x"), 5.0)
    assert len(listed) <= 1
    found.explore("a.py", disks.session.config)
    disks.answers.set()
    await wait_explored(found)
    assert "a.py" in found.index.entries


async def test_no_event_is_handled_by_a_look_at_git_s_configuration(disks: Disks, monkeypatch):
    """It may be on a disk that hangs, and the event loop waits for no disk."""
    threads: list[str] = []

    def look(*_, **__) -> None:
        threads.append(threading.current_thread().name)

    main = disks.open(disks.roots[0] / "a.py")
    await wait_judged(disks.session)
    monkeypatch.setattr(git_files, "read_rules", look)
    disks.session.handle(events.Saved(main.uri))
    disks.session.handle(events.FilesChanged((main.uri,), ()))
    disks.session.handle(events.Closed(main.uri))
    assert threading.current_thread().name not in threads


@pytest.mark.promise("rules-act-at-once")
@pytest.mark.parametrize(("gap_s", "n_judgements"), [(0.0, 1), (0.001, 1), (0.02, 11)])
@on_clock
async def test_many_changes_of_rules_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gap_s: float, n_judgements: int
) -> None:
    """300 events while 40 files are open are one look at each; while they last there is one now and then."""
    disks = Disks(tmp_path)
    await disks.session.connection.wait_ready()
    one, _ = disks.roots
    typists = [disks.open(one / f"f{n}.py") for n in range(40)]
    await wait_judged(disks.session)
    disks.hang(monkeypatch)
    for _ in range(300):
        disks.session.handle(events.FilesChanged(((one / ".gitignore").as_uri(),), ()))
        await asyncio.sleep(gap_s)
    assert await answer(typists[0]) == "backend"
    await wait_judged(disks.session)
    assert len(typists) <= disks.n_looks <= n_judgements * len(typists)
    await disks.session.aclose()


# -- folders that go away --------------------------------------------------------------------------


def link(folder: Path) -> None:
    folder.with_name("other").mkdir()
    folder.symlink_to(folder.with_name("other"))


# What takes the place of a folder that is deleted: an empty one as where a disk was mounted; another
# one, as of a build, may have the number of the old one, and its file that of the old file.
SPOILS: list[Callable[[Path], object]] = [
    Path.exists, Path.mkdir, lambda folder: make_again(folder / "secret.py", ""), link, Path.touch,
]  # fmt: skip


async def watched(disks: Disks, file: Path) -> None:
    disks.session.handle(events.FilesChanged(((file.parent / ".gitignore").as_uri(),), ()))


async def deleted_rule(disks: Disks, file: Path) -> None:
    disks.session.handle(events.FilesChanged((), ((file.parent / ".gitignore").as_uri(),)))


async def opened_again(disks: Disks, file: Path, text: str = CODE.format("secret")) -> None:
    disks.session.handle(events.Closed(file.as_uri()))
    disks.session.handle(events.Opened(file.as_uri(), "python", 1, text))


async def folders_changed(disks: Disks, file: Path) -> None:
    disks.session.handle(events.FoldersChanged((disks.roots[1].as_uri(),)))
    await wait_judged(disks.session)
    disks.session.handle(events.FoldersChanged((disks.roots[0].as_uri(),)))


async def twice(disks: Disks, file: Path) -> None:
    for _ in range(2):
        await watched(disks, file)
        await wait_judged(disks.session)
        assert await answer(disks.typist(file))


AGAIN = [watched, deleted_rule, opened_again, folders_changed, twice]


@pytest.mark.parametrize(
    ("where", "spoil", "again"),
    [*in_turn(["root"], SPOILS, AGAIN), *in_turn(["sub"], SPOILS, AGAIN[1:])],
)
async def test_what_was_private_stays_so_when_its_folder_goes(
    disks: Disks, where: str, spoil, again
) -> None:
    """However it goes, and whatever has the file judged again; the editor still shows its text."""
    root = disks.roots[0]
    file = root / "sub/secret.py"
    (root / "sub/.gitignore").write_text("secret.py\n")
    secret = disks.open(file)
    await wait_judged(disks.session)
    assert "private" in await answer(secret)
    folder = root if where == "root" else root / "sub"
    shutil.rmtree(folder)
    spoil(folder)
    await again(disks, file)
    await wait_judged(disks.session)
    outcome = await answer(disks.typist(file))
    await disks.session.wait_idle()
    assert "private" in outcome
    assert "secret" not in disks.sent


SPELLINGS = {
    "a cell": ("file://", "vscode-notebook-cell:"),
    "encoded": ("secret", "s%65cret"),
    "a step up": ("/sub/", "/sub/../sub/"),
    "this machine": ("file:///", "file://localhost/"),
}


@pytest.mark.parametrize(("spelling", "spoil"), in_turn(SPELLINGS, SPOILS))
async def test_another_name_for_it_stays_private_too(disks: Disks, spelling: str, spoil) -> None:
    """A cell of a notebook, a new one, and other spellings of the URI, when the folder went."""
    root = disks.roots[0]
    file = root / "sub/secret.py"
    (root / "sub/.gitignore").write_text("secret.py\n")
    uri = file.as_uri().replace(*SPELLINGS[spelling])
    cells = ("#1", "#2") if spelling == "a cell" else ("", "")
    first = disks.open(file, file.as_uri() if not cells[0] else uri + cells[0])
    assert "private" in await answer(first)
    shutil.rmtree(root / "sub")
    spoil(root / "sub")
    disks.session.handle(events.Closed(first.uri))
    disks.session.handle(events.Opened(uri + cells[1], "python", 1, CODE.format("secret")))
    assert "private" in await answer(disks.typist(file, uri + cells[1]))
    await disks.session.wait_idle()
    assert "secret" not in disks.sent


async def test_what_was_never_judged_stays_so_when_its_disk_is_taken_out(disks: Disks, monkeypatch):
    """It hung while the file was opened, then its place was empty; on disk again, it is judged."""
    root = disks.roots[0]
    file = root / "sub/secret.py"
    disks.hang(monkeypatch, root / "sub")
    secret = disks.open(file)
    assert "not judged" in await answer(secret)
    shutil.rmtree(root / "sub")
    (root / "sub").mkdir()
    disks.answers.set()
    await wait_judged(disks.session)
    for _ in range(2):
        assert "cannot be judged" in await answer(secret)
    await disks.session.wait_idle()
    assert "secret" not in disks.sent
    file.touch()
    assert await answer(secret) == "backend"


def make_again(file: Path, text: str, *, rule: str = "") -> None:
    if file.parent.exists():
        file.parent.rename(file.parent.with_name("old"))
    file.parent.mkdir()
    file.write_text(text)
    (file.parent / ".gitignore").write_text(rule)


async def same_text(disks: Disks, file: Path) -> list[str]:
    """With the next request, without any event."""
    file.parent.rename(file.parent.with_name("old"))
    await watched(disks, file)
    kinds = [await answer(disks.typist(file))]
    make_again(file, CODE.format("secret"))
    return [*kinds, await answer(disks.typist(file))]


async def opened_with_its_new_text(disks: Disks, file: Path) -> list[str]:
    make_again(file, CODE.format("new"))
    await watched(disks, file)
    kinds = [await answer(disks.typist(file))]
    await opened_again(disks, file, CODE.format("new"))
    return [*kinds, await answer(disks.typist(file))]


async def saved(disks: Disks, file: Path) -> list[str]:
    make_again(file, "")
    await watched(disks, file)
    kinds = [await answer(disks.typist(file))]
    (file.parent / file.name).write_text("\ufeff" + CODE.format("secret"), "utf-8")
    return [*kinds, await answer(disks.typist(file))]


async def never_judged(disks: Disks, file: Path) -> list[str]:
    """Its rules could not be read where it was."""
    (file.parent / ".gitignore").unlink()
    (file.parent / ".gitignore").mkdir()
    other = file.with_name("secret_2.py")
    kinds = [await answer(disks.open(other))]
    make_again(other, "")
    return [*kinds, await answer(disks.typist(other))]


async def rule_gone_then_file(disks: Disks, file: Path) -> list[str]:
    """What was allowed since is so without its file, too."""
    (file.parent / ".gitignore").unlink()
    await watched(disks, file)
    kinds = [await answer(disks.typist(file))]
    (file.parent / file.name).unlink()
    await watched(disks, file)
    return [*kinds, await answer(disks.typist(file))]


async def with_its_rule(disks: Disks, file: Path) -> list[str]:
    make_again(file, CODE.format("new"), rule="secret.py\n")
    await watched(disks, file)
    return [await answer(disks.typist(file))]


UNSURE = "private: it cannot be judged"


@pytest.mark.parametrize(
    ("story", "wanted"),
    [
        *((story, [UNSURE, "backend"]) for story in (same_text, opened_with_its_new_text, saved)),
        (with_its_rule, ["private: it matches"]),
        (never_judged, [UNSURE] * 2),
        (rule_gone_then_file, ["backend", "cache"]),
    ],
)
async def test_a_folder_that_is_made_again_without_the_rule(
    disks: Disks, story: Callable[[Disks, Path], Awaitable[list[str]]], wanted: list[str]
) -> None:
    """Once the file there has the text that the editor shows, it is judged like any other."""
    file = disks.roots[0] / "sub/secret.py"
    (disks.roots[0] / "sub/.gitignore").write_text("secret.py\n")
    assert "private" in await answer(disks.open(file))
    outcomes = await story(disks, file)
    assert all(map(str.startswith, outcomes, wanted)), outcomes


def replace_by_link(path: Path, to: str) -> None:
    path.rename(path.with_name("old"))
    path.symlink_to(to)


WAYS: list[Callable[[Path], None]] = [
    lambda file: replace_by_link(file, "secret.py"),
    lambda file: make_again(file, CODE.format("secret"), rule="*\n"),
    lambda file: replace_by_link(file.parent, "hidden"),
]
TELLS: dict[str, Callable[[Path], events.Event | None]] = {
    "of the file": lambda file: events.FilesChanged((file.as_uri(),)),
    "of its folder": lambda file: events.FilesChanged((file.parent.as_uri(),)),
    "that it was saved": lambda file: events.Saved(file.as_uri()),
    "of no change on disk": lambda _: None,
}


@pytest.mark.promise("files-outside-and-links")
@pytest.mark.parametrize("become", WAYS)
@pytest.mark.parametrize("told", TELLS)
async def test_what_becomes_a_way_to_a_private_file_is_judged_again(
    disks: Disks, become: Callable[[Path], None], told: str
) -> None:
    """It was not private; the client tells of the change, or not, and loads its text."""
    root = disks.roots[0]
    make_again(root / "hidden/open.py", CODE.format("secret"))
    (root / ".gitignore").write_text("secret.py\nhidden\n")
    file = root / "sub/open.py"
    assert await answer(disks.open(file)) == "backend"
    become(file)
    if (event := TELLS[told](file)) is not None:
        disks.session.handle(event)
    end = Position(len(disks.typist(file).document.lines), 0)
    disks.typist(file).replace(Position(0, 0), end, CODE.format("secret"))
    assert "private" in await answer(disks.typist(file))
    await disks.session.wait_idle()
    assert "secret" not in disks.sent


@pytest.mark.parametrize("event", [events.Saved, lambda uri: events.FilesChanged((uri,))])
async def test_what_is_generated_goes_on_while_its_file_is_saved(
    disks: Disks, monkeypatch: pytest.MonkeyPatch, event: Callable[[str], events.Event]
) -> None:
    """An editor that saves by itself, as another file, ends no text that is decoded."""
    file = disks.roots[0] / "sub/open.py"
    typist = disks.open(file)
    await wait_judged(disks.session)
    disks.backend.hold("stream")
    asked = asyncio.create_task(answer(typist))
    await disks.backend.until_held()
    file.with_name("new").write_text(file.read_text())
    file.with_name("new").rename(file)
    disks.hang(monkeypatch, file)
    disks.session.handle(event(typist.uri))
    disks.backend.release()
    assert await asked == "backend"
    assert disks.n_looks == 0
