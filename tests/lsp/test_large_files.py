"""`fim_lsp.lsp.large_files`: which documents the session is told of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.documents import Document, Edit, Position, apply_edits, open_document
from fim_lsp.events import Changed, Closed, Event, Opened
from fim_lsp.lsp import large_files
from fim_lsp.lsp.large_files import LargeFiles

U = "file:///a"
MOST = 20


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that tests can reach."""
    monkeypatch.setattr(large_files, "DOCUMENT_CHARS", MOST)


class Session:
    """What the session knows from the events that pass, and which documents were told of."""

    def __init__(self) -> None:
        self.documents: dict[str, Document] = {}
        self.told: list[str] = []
        self.files = LargeFiles(self.told.append)

    def hear(self, event: Event) -> list[Event]:
        passed = self.files.filter_event(event, self.documents.get)
        for each in passed:
            match each:
                case Opened(uri):
                    self.documents[uri] = open_document(*each)
                case Changed(uri, version, edits):
                    self.documents[uri] = apply_edits(self.documents[uri], edits, version)
                case Closed(uri):
                    self.documents.pop(uri, None)
        return passed


def inserted(line: int, column: int, text: str) -> Changed:
    at = Position(line, column)
    return Changed(U, 2, (Edit(at, at, text),))


def open_with(text: str) -> Session:
    session = Session()
    session.hear(Opened(U, "python", 1, text))
    return session


def test_a_small_document_passes() -> None:
    """All that happens to it, as it came."""
    session = open_with("x" * MOST)
    for event in (inserted(0, 0, ""), Changed(U, 3, ("y",)), Closed(U)):
        assert session.hear(event) == [event]
    assert session.told == []


def test_a_large_document_is_not_heard_of() -> None:
    """Nothing that happens to it; it is told of once, and closed it is nothing."""
    session = open_with("x" * (MOST + 1))
    assert session.hear(inserted(0, 0, "y")) == []
    assert session.documents == {}
    assert session.told == [U]
    session.hear(Closed(U))
    assert repr(session.files) == "<LargeFiles []>"
    session.hear(Opened(U, "python", 1, "x"))
    assert U in session.documents


def test_a_document_that_grows_is_closed_and_one_that_shrinks_opened() -> None:
    """With the text that it has by then."""
    session = open_with("a\n" * 5)
    session.hear(inserted(1, 1, "b\n" * 6))
    assert session.documents == {}
    session.hear(inserted(0, 0, "c"))
    [event] = session.hear(Changed(U, 4, (Edit(Position(1, 0), Position(8, 0), ""),)))

    assert event == Opened(U, "python", 4, "ca\na\na\na\n")
    assert session.told == [U]


def test_what_is_inserted_and_deleted_again_does_not_count() -> None:
    """The length is counted before a document is taken for large."""
    session = open_with("")
    for _ in range(3 * MOST):
        session.hear(inserted(0, 0, "x"))
        session.hear(Changed(U, 3, (Edit(Position(0, 0), Position(0, 1), ""),)))

    assert session.told == []


edits = st.lists(
    st.one_of(
        st.text("ab\n", max_size=30),
        st.builds(
            lambda a, b, text: Edit(min(a, b), max(a, b), text),
            st.builds(Position, st.integers(0, 9), st.integers(0, 9)),
            st.builds(Position, st.integers(0, 9), st.integers(0, 9)),
            st.text("ab\n", max_size=9),
        ),
    ),
    max_size=3,
)


@given(st.text("ab\n", max_size=40), st.lists(edits, max_size=12))
def test_what_the_session_has_is_what_the_client_has(
    text: str, changes: list[list[Edit | str]]
) -> None:
    """Or nothing; and nothing that is too large."""
    session, client = open_with(text), open_document(U, "python", 1, text)
    for number, change in enumerate(changes):
        client = apply_edits(client, change, number)
        session.hear(Changed(U, number, tuple(change)))
        if U in session.documents:
            assert session.documents[U].text == client.text
            assert len(client.text) <= MOST
        elif any(edit.start.line != edit.end.line for edit in change if isinstance(edit, Edit)):
            assert len(client.text) > MOST
