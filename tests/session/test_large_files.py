"""Documents that are too large: in step with the editor, and nothing of them is used."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.documents import Edit, Position, apply_edits, open_document
from fim_lsp.events import Changed, Closed, Opened, RulesChanged, Saved, Yanked
from fim_lsp.session.lane import Withdrawn
from fim_lsp.session.session import Session
from fim_lsp.session.state import open_document as limits
from server_bridge.protocol import Prompt
from tests.fake_backend import FakeBackend
from tests.typist import QUICK, ROOT, rewrite, wait_judged

A = f"{ROOT}/a.py"
B = f"{ROOT}/b.py"
MOST = 60
LINE = "price = total(cart)\n"
LARGE = LINE * 4
SMALL = LINE * 2


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes that tests can reach."""
    monkeypatch.setattr(limits, "DOCUMENT_CHARS", MOST)


def start(session: Session, uri: str, text: str) -> None:
    session.handle(Opened(uri, "python", 1, text))


async def outcome(session: Session, uri: str, line: int = 1) -> str:
    answer = await session.complete(uri, Position(line, 0), invoked=True)
    await session.wait_idle()
    return answer.end.outcome


@pytest.mark.promise("odd-input")
async def test_nothing_of_a_large_document_is_used(session: Session, backend: FakeBackend) -> None:
    """Neither for suggestions in it nor for those in others; the reason is said."""
    start(session, A, LARGE.replace("total", "C4N4RY"))
    start(session, B, SMALL)
    session.handle(Yanked(A, "C4N4RY"))
    session.handle(Saved(A))
    answer = await session.complete(A, Position(1, 0), invoked=True)
    assert (answer.suggestions, answer.end.outcome) == ([], "too large")
    assert "characters get no suggestions" in answer.end.words
    assert "characters get no suggestions" in (await session.report(A)).note
    await outcome(session, B)
    assert "C4N4RY" not in repr((backend.seen, backend.warmed))
    session.handle(Closed(A))
    assert await outcome(session, A) == "not open"


async def test_work_under_way_shows_nothing_of_what_grew(session: Session) -> None:
    """A permit from before it does not count, whatever text it is for, nor once it is small."""
    start(session, A, SMALL)
    await wait_judged(session)
    doc = session._open.by_uri[A]
    at = Position(2, 0)
    permit = doc.permit()
    prompt = Prompt("repo", (), "a.py", SMALL, "", "")
    permit(prompt)
    session.handle(Changed(A, 2, (Edit(at, at, LARGE),)))
    with pytest.raises(Withdrawn, match="too large"):
        permit(prompt)
    session.handle(Changed(A, 3, (Edit(Position(1, 0), Position(6, 0), ""),)))
    await wait_judged(session)
    doc.permit()(prompt)
    with pytest.raises(Withdrawn):
        permit(prompt)


async def test_a_change_of_the_rules_does_not_make_it_usable(session: Session) -> None:
    """All documents are judged again then, but for these."""
    start(session, A, LARGE)
    session.handle(RulesChanged())
    await wait_judged(session)
    assert await outcome(session, A) == "too large"


place = st.builds(Position, st.integers(0, 9), st.integers(0, 9))
ends = st.tuples(place, place).map(sorted)
texts = st.text("ab\n", max_size=30)
edit = st.builds(lambda ends, text: Edit(ends[0], ends[1], text), ends, texts)
edits = st.lists(
    st.one_of(st.builds(rewrite, st.text("ab\n", max_size=90)), edit), min_size=1, max_size=3
)


@given(st.text("ab\n", max_size=90), st.lists(edits, max_size=12))
def test_the_text_is_that_of_the_editor(text: str, changes: list[list[Edit]]) -> None:
    """Large or not, and it is taken for large when it is."""

    async def follow() -> None:
        session = Session(QUICK, lambda _: FakeBackend())
        client = open_document(A, "", 1, text)
        start(session, A, text)
        for number, change in enumerate(changes):
            client = apply_edits(client, change, number)
            session.handle(Changed(A, number, tuple(change)))
            assert session.documents[A].text == client.text
            note = (await session.report(A)).note
            assert ("characters" in note) == (len(client.text) > MOST)
        await session.aclose()

    asyncio.run(follow())
