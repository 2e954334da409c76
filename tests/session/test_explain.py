"""Why there is no suggestion: the last answer at the place says it, else a rule, or what is known."""

from __future__ import annotations

import asyncio

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session.session import Session
from tests.fake_backend import FakeBackend
from tests.typist import Typist, wait_judged

HEADER = "def price(weight):"


@pytest.fixture
async def typist(session: Session) -> Typist:
    return Typist(session)


@pytest.mark.parametrize("asks", [True, False])
async def test_the_indentation_that_an_editor_takes_back_is_no_deletion(
    typist: Typist, *, asks: bool
) -> None:
    """Neovim takes it off a line that is left empty: the answer where the user typed is what counts."""
    typist.type(HEADER)
    await typist.ask()
    typist.type("\n    ")
    if asks:  # else Enter and Escape came as fast as keys come
        await typist.ask()
        before = await typist.session.explain(typist.uri, typist.cursor)
    n_answers = len(typist.session._counters.answers)
    typist.backspace(4)
    after = await typist.session.explain(typist.uri, Position(1, 0))
    assert not asks or (after.answer, after.position) == (before.answer, Position(1, 0))
    assert after.answer.end.outcome != "after a deletion"
    assert len(typist.session._counters.answers) == n_answers


@pytest.mark.parametrize("taken", [1, 7])
async def test_a_deletion_is_one(typist: Typist, taken: int) -> None:
    """Of anything but blanks."""
    typist.type(HEADER)
    await typist.ask()
    typist.backspace(taken)
    explained = await typist.session.explain(typist.uri, typist.cursor)
    assert explained.answer.end.outcome == "after a deletion"


async def test_a_deletion_elsewhere_is_none(typist: Typist) -> None:
    """A client that shows less of the text below the cursor deleted nothing at the cursor."""
    typist.type(f"{HEADER}\n    return wei\n\nprint(price(3))\n")
    typist.cursor = Position(1, 14)
    typist.replace(Position(2, 0), Position(4, 0), "")
    await typist.ask()
    explained = await typist.session.explain(typist.uri, typist.cursor)
    assert explained.answer.end.outcome != "after a deletion"


async def test_the_last_answer_is_that_of_its_place(typist: Typist) -> None:
    """Elsewhere it is found out what one would get, which is no request: nothing is counted."""
    typist.type(f"{HEADER}\n    return weight")
    await typist.ask(invoked=True)
    asked = await typist.session.explain(typist.uri, typist.cursor)
    assert asked.by_hand
    before = typist.session.stats()
    elsewhere = await typist.session.explain(typist.uri, Position(0, 3))
    assert not elsewhere.by_hand
    assert elsewhere.answer.end.outcome == "before other code"
    assert typist.session.stats() == before


@pytest.mark.parametrize(("snoozed", "why"), [(True, "not now"), (False, "superseded")])
async def test_a_withdrawn_request_tells_no_more_than_that(
    typist: Typist, backend: FakeBackend, *, snoozed: bool, why: str
) -> None:
    """A client ends its request where the user opens a menu to ask why: a rule is the reason then."""
    await wait_judged(typist.session)
    typist.type(f"{HEADER}\n    return weight * ra")
    backend.hold()
    asked = asyncio.create_task(typist.ask())
    await backend.until_held()
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    backend.release()
    if snoozed:
        typist.session.handle(events.Snoozed(5))
    for place in (typist.cursor, None):
        explained = await typist.session.explain(typist.uri, place)
        assert (explained.answer.end.outcome, explained.position) == (why, typist.cursor)


async def test_to_ask_why_is_no_request(typist: Typist, backend: FakeBackend) -> None:
    """The model is asked nothing, and nothing is counted, remembered or evaluated for it."""
    typist.type(f"{HEADER}\n    return weight * ra")
    await wait_judged(typist.session)
    before = typist.session.stats()
    warmed = [*backend.warmed]
    why = await typist.session.explain(typist.uri, typist.cursor)
    assert why.answer.end.outcome == "not asked"
    assert (typist.session.stats(), backend.seen, backend.warmed) == (before, [], warmed)
    assert typist.session._open.by_uri[typist.uri].requests.last_answer is None
    assert not typist.session._lane._jobs


async def test_what_is_known_is_told(typist: Typist) -> None:
    """A suggestion that the user types along is on screen, also where the client does not ask again."""
    typist.type(f"{HEADER}\n    return weight * ra")
    [suggestion] = await typist.ask()
    typist.type(suggestion.text[:1])
    why = await typist.session.explain(typist.uri, typist.cursor)
    assert [each.text for each in why.answer.suggestions] == [suggestion.text[1:]]
    assert "fake" in why.answer.end.words
