"""Changes of open documents into what to edit next: per workspace, nothing private, learning from "no"."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fim_lsp.documents import Edit, Position
from fim_lsp.events import Changed, Closed, FoldersChanged, NextEditShown, NextEditTaken, Opened
from fim_lsp.next_edit.engine import propose
from fim_lsp.session.edits import next_edits
from fim_lsp.session.edits.model_edits import ModelEdits
from fim_lsp.session.edits.next_edits import NextEdits
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.session import Session
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.workspaces import Workspaces
from fim_lsp.session.stats import Stats
from fim_lsp.settings.config import Config, NextEditConfig, PrivacyConfig, RingConfig
from fim_lsp.suggest.request import Suggestion
from server_bridge.bridge import Unusable
from tests.clock import on_clock
from tests.places import place
from tests.session.conftest import OpenSession
from tests.typist import wait_explored

PAGE = Path(__file__).parents[2] / "docs/next-edit.md"
W = place("w")
X = place("x")
A = f"{W}/a.py"
B = f"{W}/b.py"
OUT = f"{X}/c.py"
TEXT = "print(hight)\ncheck(hight)\narea = hight * width\ntotal = hight + 1\n"


DESKS: list[Desk] = []


@pytest.fixture(autouse=True)
def closed_desks() -> Iterator[None]:
    """End the processes that parse for them."""
    yield
    while DESKS:
        DESKS.pop().open.workspaces.close()


class Desk:
    """Open documents, and what is proposed in them."""

    def __init__(self, *uris: str) -> None:
        DESKS.append(self)
        workspaces = Workspaces()
        workspaces.roots = (W, X)
        self.stats = Stats()
        self.now = 0.0
        self.model = ModelEdits(Config(), lambda _: None)
        self.open = OpenDocuments(workspaces, self.stats, Quietness(lambda: 0.0))
        self.next_edits = NextEdits(self.open, self.stats, lambda: self.now, self.model, Config)
        for uri in uris:
            self.add(uri)

    def add(self, uri: str, text: str = TEXT) -> None:
        self.open.open(uri, "python", 1, text).allow()

    def rename(self, uri: str, line: int) -> None:
        """One more `hight` becomes `height`."""
        at = self.open.by_uri[uri].document.lines[line].index("ight")
        self._edit(uri, Edit(Position(line, at), Position(line, at), "e"))

    def undo(self, uri: str, line: int) -> None:
        """The `e` goes again."""
        at = self.open.by_uri[uri].document.lines[line].index("eight")
        self._edit(uri, Edit(Position(line, at), Position(line, at + 1), ""))

    def remove(self, uri: str, line: int) -> None:
        self._edit(uri, Edit(Position(line, 0), Position(line + 1, 0), ""))

    def _edit(self, uri: str, edit: Edit) -> None:
        self.now += 1
        doc = self.open.by_uri[uri]
        before = doc.document
        event = Changed(uri, before.version + 1, (edit,))
        self.open.change(doc, event)
        self.next_edits.follow(doc, before, event)

    async def proposed(self, uri: str = A) -> tuple[str, int, str] | None:
        self.now += 1
        edit = await self.next_edits.propose(uri)
        return edit and (edit.document.uri, edit.proposal.line, "".join(edit.proposal.after[:1]))


@pytest.fixture
def desk() -> Desk:
    """Return one with a document in which the first two lines were renamed."""
    desk = Desk(A)
    desk.rename(A, 0)
    desk.rename(A, 1)
    return desk


async def test_what_was_done_twice_is_proposed_at_the_next_place(desk: Desk) -> None:
    """And at the one after it, when that was done; counted once each, however often it is asked for."""
    assert await desk.proposed() == (A, 2, "area = height * width")
    assert await desk.proposed() == (A, 2, "area = height * width")
    desk.next_edits.mark(NextEditTaken("1"))
    desk.next_edits.mark(NextEditTaken("1"))
    desk.rename(A, 2)
    assert await desk.proposed() == (A, 3, "total = height + 1")
    assert desk.stats.next_edits == {"offered": 2, "taken": 1}


async def test_a_definition_that_was_renamed_once_asks_for_its_uses() -> None:
    """In its scope, one after the other, as in the example of the page; a process of its own parses."""
    desk = Desk()
    example = PAGE.read_text("utf-8").split("```python\n", 1)[1].split("```")[0]
    code = re.sub(r" *#.*", "", example)
    desk.open.open(A, "python", 1, code + "\n\ndef other(hight):\n    pass\n").allow()
    desk.rename(A, 0)
    assert await desk.proposed() == (A, 1, "    check(height)")
    desk.next_edits.mark(NextEditTaken("1"))
    desk.rename(A, 1)
    assert await desk.proposed() == (A, 2, "    return height * width")
    desk.rename(A, 2)
    assert await desk.proposed() is None


async def test_a_search_in_an_older_text_ends(desk: Desk) -> None:
    """The request that waits for it gets no edit, and no later source looks for one."""
    desk.now += 1
    old = asyncio.create_task(desk.next_edits.propose(A))
    await asyncio.sleep(0)
    desk.rename(A, 2)

    assert await desk.proposed() == (A, 3, "total = height + 1")
    assert await old is None
    searches = desk.open.by_uri[A].workspace.edits._searches
    assert [(each.source, each.question.edits[-1].line) for each in searches] == [
        ("open documents", 2)
    ]


async def test_a_source_that_fails_has_no_edit(desk: Desk, monkeypatch, caplog):
    """One line in the log, however many wait for it; the later ones are asked, and it is asked again."""
    questions = list[object]()
    works = propose

    def fail(*_: object) -> None:
        raise IndexError

    async def ask_model(*arguments: object) -> None:
        questions.append(arguments)

    monkeypatch.setattr(desk.model, "propose", ask_model)
    monkeypatch.setattr(next_edits, "propose", fail)
    desk.now += 1
    one, two = await asyncio.gather(desk.next_edits.propose(A), desk.next_edits.propose(A))
    assert (one, two, len(questions)) == (None, None, 1)
    assert [record.message for record in caplog.records] == ["no next edit from open documents"]

    monkeypatch.setattr(next_edits, "propose", works)
    assert await desk.proposed() == (A, 2, "area = height * width")


async def test_the_model_is_asked_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its prompt does not depend on the request."""
    desk = Desk(A, B)
    asked = list[object]()

    async def propose(*arguments: object) -> None:
        asked.append(arguments)
        await asyncio.sleep(0)

    monkeypatch.setattr(desk.model, "propose", propose)
    desk.remove(A, 3)
    desk.now += 1
    assert await asyncio.gather(*map(desk.next_edits.propose, (A, B, A))) == [None] * 3
    assert len(asked) == 1


async def test_what_was_applied_is_counted_where_the_editor_does_not_say_so(desk: Desk) -> None:
    """copilot-lsp does not run the command; what it says is that it drew the edit."""
    assert await desk.proposed()
    desk.next_edits.mark(NextEditShown("1"))
    desk.rename(A, 2)

    assert await desk.proposed() == (A, 3, "total = height + 1")
    assert desk.stats.next_edits == {"offered": 2, "shown": 1, "taken": 1}


async def test_what_was_applied_and_undone_is_not_proposed_again(desk: Desk) -> None:
    """By no other rule either; the same lines further down are, once they stand alone."""
    assert await desk.proposed() == (A, 2, "area = height * width")
    desk.rename(A, 2)
    desk.next_edits.mark(NextEditTaken("1"))
    desk.undo(A, 2)

    again = await desk.proposed()
    assert again is None or again[1] != 2
    assert again is None or "height" not in again[2]


async def test_lines_that_are_removed_one_after_the_other() -> None:
    """The next one comes to stand where the last one stood: that is no undo."""
    desk = Desk()
    desk.add(A, "log(first)\na = 1\n" * 2 + "log(first)\n" * 3)
    desk.remove(A, 0)
    desk.remove(A, 1)
    assert await desk.proposed() == (A, 2, "")
    desk.remove(A, 2)
    desk.next_edits.mark(NextEditTaken("1"))

    assert await desk.proposed() == (A, 2, "")


@pytest.mark.parametrize(
    ("text", "edits", "place", "ghost"),
    [  # both would be drawn below the same line, or on it
        (
            "open_the_till()\nx = 1\n" * 3,
            [(1, 0, "close_the_till()\n"), (4, 0, "close_the_till()\n")],
            (7, ()), Edit(Position(6, 15), Position(6, 15), "\nnow()"),
        ),
        (
            TEXT, [(0, 7, "e"), (1, 7, "e")],
            (2, ("area = hight * width",)), Edit(Position(2, 20), Position(2, 20), " / 2"),
        ),
    ],
)  # fmt: skip
async def test_ghost_text_comes_first(
    open_session: OpenSession, text: str, edits: list[tuple[int, int, str]],
    place: tuple[int, tuple[str, ...]], ghost: Edit,
) -> None:  # fmt: skip
    """What is on screen unasked is left alone; a code action is asked for, and comes."""
    session = edited(open_session, A, text, edits)
    edit = await session.next_edit(A, unasked=True)
    assert edit
    assert (edit.proposal.line, edit.proposal.before) == place
    session._open.by_uri[A].acceptance.offer(session.documents[A], [Suggestion("1", *ghost)])
    assert await session.next_edit(A, unasked=True) is None
    assert await session.next_edit(A) == edit


def edited(
    open_session: OpenSession, uri: str, text: str, edits: list[tuple[int, int, str]]
) -> Session:
    """Return a session without a server in which a document was opened and changed."""
    session = open_session(Config(), Unusable("openai", "there is none"))
    session.handle(FoldersChanged((W,)))
    session.handle(Opened(uri, "python", 1, text))
    for version, (line, column, new) in enumerate(edits, 2):
        at = Position(line, column)
        session.handle(Changed(uri, version, (Edit(at, at, new),)))
    return session


async def test_after_a_proposal_the_next_one_comes_at_once(desk: Desk) -> None:
    """It is a finished edit."""
    assert await desk.proposed()
    desk.rename(A, 2)
    assert desk.next_edits.seconds_unsettled(A) > 0
    desk.next_edits.mark(NextEditTaken("1"))

    assert desk.next_edits.seconds_unsettled(A) == 0


async def test_an_edit_counts_when_the_user_pauses() -> None:
    """Not while a word is typed."""
    desk = Desk(A)
    desk.rename(A, 0)
    desk.now -= 0.9  # the next ask is a tenth of a second after the key

    assert await desk.proposed() is None


@pytest.mark.parametrize("uri", [B, OUT])
async def test_workspaces_do_not_mix(uri: str) -> None:
    """Edits count in the other files of their workspace, and nowhere else."""
    desk = Desk(A, uri)
    for line in range(4):
        desk.rename(A, line)
    found = await desk.proposed(uri)

    assert (found is not None and found[0] == B) is (uri == B)


@pytest.mark.parametrize("is_closed", [True, False])
async def test_nothing_of_a_document_that_is_closed_or_private(desk: Desk, is_closed: bool) -> None:
    """What was edited before is not used, and while it is private nothing is remembered."""
    desk.add(B)
    if is_closed:
        desk.open.close(desk.open.by_uri[A])
    else:
        desk.open.by_uri[A].refuse("ignored")
        desk.rename(A, 2)
    assert await desk.proposed(A) is None
    assert await desk.proposed(B) is None


async def test_edits_that_were_not_saved_are_none_when_the_document_is_opened_again(
    open_session: OpenSession,
) -> None:
    """What it says now was never renamed, so nothing is to be repeated."""
    session = edited(open_session, A, TEXT, [(0, 7, "e"), (1, 7, "e")])
    session.handle(Closed(A))
    session.handle(Opened(A, "python", 1, TEXT))
    assert await session.next_edit(A, unasked=True) is None


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Return a workspace with one file that is open in the tests and one that is not."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "b.py").write_text("area = hight * width\n")
    return folder


def ignored(shop: Path) -> Config:
    (shop / ".fimignore").write_text("b.py\n")
    return Config()


def outside(shop: Path) -> Config:
    (shop / "b.py").rename(shop.parent / "b.py")
    (shop / "b.py").symlink_to(shop.parent / "b.py")
    return Config()


@pytest.mark.parametrize(
    ("settle", "title"),
    [
        (lambda _: Config(), "b.py"),
        (lambda _: Config(ring=RingConfig(files=False)), None),
        (lambda _: Config(next_edit=NextEditConfig(enabled=False)), None),
        (lambda _: Config(privacy=PrivacyConfig(exclude=("b.py",))), None),
        (ignored, None),
        (outside, None),
    ],
)
@on_clock
async def test_files_that_are_not_open(
    shop: Path, settle: Callable[[Path], Config], title: str | None
) -> None:
    """None where that is switched off, none that is private, and none that is no file of the workspace."""
    session = Session(settle(shop), lambda _: Unusable("openai", "there is none"))
    session.handle(FoldersChanged((shop.as_uri(),)))
    uri = (shop / "a.py").as_uri()
    session.handle(Opened(uri, "python", 1, "print(hight)\ncheck(hight)\n"))
    for line in (0, 1):
        at = Position(line, 7)
        session.handle(Changed(uri, line + 2, (Edit(at, at, "e"),)))
        await session.next_edit(uri, unasked=True)  # the files are listed once an edit is finished
    await wait_explored(*(each.files for each in session._workspaces))
    edit = await session.next_edit(uri)
    await session.aclose()
    assert (edit and edit.document.uri.rpartition("/")[2]) == title
