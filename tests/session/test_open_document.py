"""What is remembered of an open document, by its verdicts."""

from __future__ import annotations

import pytest

from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.prompt.frame import Frame, Header
from fim_lsp.prompt.window import Window
from fim_lsp.session.answering.texts import KnownTexts
from fim_lsp.session.lane import Withdrawn
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.session import Session
from fim_lsp.session.state.model_view import ModelView
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.workspaces import Workspaces
from fim_lsp.session.stats import Stats
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.known import Displayed
from fim_lsp.suggest.pace import USUAL_MS
from fim_lsp.suggest.request import Suggestion
from tests.session import test_known_text as texts
from tests.typist import ROOT, rewrite, wait_judged

pytestmark = pytest.mark.promise("rules-act-at-once")

FIRST = "def area(width, height):\n    size = width * height\n    return size"
SECOND = "for order in orders:\n    ship(order)\n    print(order.name)"


@pytest.fixture
def doc() -> OpenDocument:
    opened = OpenDocuments(Workspaces(), Stats(), Quietness(lambda: 0.0))
    return opened.open(f"{ROOT}/a.py", "python", 1, f"{FIRST}\n\n{SECOND}\n")


def yanked(doc: OpenDocument) -> list[str]:
    return [piece.text for piece in doc.workspace.memory._yanks]


def test_a_copy_before_the_verdict_counts_once(doc: OpenDocument) -> None:
    """Another verdict makes it no newer than what was copied since."""
    doc.yank(FIRST)
    doc.allow()
    doc.yank(SECOND)
    doc.suspend()
    doc.allow()
    assert yanked(doc) == [FIRST, SECOND]


def test_nothing_is_remembered_of_what_is_private(doc: OpenDocument) -> None:
    """Neither its text nor copies of it, not even until it is public again."""
    doc.allow()
    assert doc.workspace.memory.knows(doc.uri)
    doc.refuse("it matches .gitignore")
    assert not doc.workspace.memory.knows(doc.uri)
    doc.yank(FIRST)
    doc.suspend()
    doc.yank(SECOND)
    doc.refuse("it matches .gitignore")
    doc.suspend()
    doc.allow()
    assert yanked(doc) == []


@pytest.mark.parametrize("how", ["another folder", "opened again", "closed"])
def test_a_view_that_is_left_shows_nothing(doc: OpenDocument, how: str):
    """Its texts end with it, and what is remembered of the document is to be judged again."""
    ended = list[ModelView]()
    doc.allow()
    view = doc.view
    view.call_at_end(lambda: ended.append(view))
    top = Position(0, 0)
    doc.acceptance.offer(doc.document, [Suggestion("1", top, top, "import os")])
    if how == "another folder":
        doc.show_in(ModelView(doc.file, doc.workspace))
    elif how == "closed":
        doc.close()
    else:
        doc.retire()
    assert ended == [view]
    assert not doc.workspace.may_show(doc.uri)
    assert doc.acceptance._stats.fates["ignored"] == (how == "closed")


def test_a_place_is_one_in_the_text_of_now(doc: OpenDocument) -> None:
    """The cursor moves to no other."""
    place = doc.place_at(Position(3, 0))
    doc.change((rewrite("x = 1\n"),), 2)
    with pytest.raises(Withdrawn, match="changed meanwhile"):
        doc.move_to(place)


def test_a_text_leads_on_from_behind_its_anchor_only(doc: OpenDocument) -> None:
    """Where there is a frame, and the cursor is known."""
    generation = texts.decoding("    ret", "urn")
    generation.doc = doc
    assert not generation.is_reachable  # no frame
    doc.view.ladder.install(Frame(Header("shop", (), "a.py"), Window(0, 3, "", "")))
    assert not generation.is_reachable  # no cursor
    doc.move_to(doc.place_at(Position(2, 0)))
    assert not generation.is_reachable
    doc.view.ladder.reset()
    doc.move_to(doc.place_at(Position(5, 0)))
    assert not generation.is_reachable


async def test_what_is_no_file_needs_no_look(session: Session, caplog: pytest.LogCaptureFixture):
    """A text of a program, by its scheme."""
    session.handle(events.Opened("git:/w/a.py", "python", 1, FIRST))
    await wait_judged(session)
    answer = await session.complete("git:/w/a.py", Position(0, 3), invoked=True)
    assert "not a file" in answer.end.words
    assert not caplog.records


def test_what_is_on_screen_is_known(doc: OpenDocument) -> None:
    """Before all that is kept."""
    doc.requests.display(
        Displayed(texts.request("    ret").cursor, Candidate("urn total(1)"), texts.MODEL)
    )
    found = KnownTexts().find(doc, texts.request("    return"), texts.MODEL)
    assert [each.text for each in found.candidates] == [" total(1)"]


@pytest.mark.parametrize("is_a_key", [True, False])
def test_only_keys_of_the_editor_tell_how_fast_its_user_types(is_a_key: bool) -> None:
    """Edits that another program's request shows come when it asks."""
    documents = OpenDocuments(Workspaces(), Stats(), Quietness(lambda: 0.0))
    top = Position(0, 0)
    doc = documents.open("untitled:a", "python", 1, "")
    for version in range(2, 20):
        documents.change(doc, events.Changed(doc.uri, version, (Edit(top, top, "x"),), is_a_key))
    assert (documents.pace.interval_ms == USUAL_MS) is not is_a_key
