"""Why there is no suggestion: the last answer at the place says it, else a request that shows nothing."""

from __future__ import annotations

import pytest

from fim_lsp.documents import Position
from fim_lsp.session.session import Session
from tests.typist import Typist

HEADER = "def price(weight):"


@pytest.fixture
async def typist(session: Session) -> Typist:
    return Typist(session)


async def test_the_indentation_that_an_editor_takes_back_is_no_deletion(typist: Typist) -> None:
    """Neovim takes it off a line that is left empty: the answer where the user typed is what counts."""
    typist.type(HEADER)
    typist.type("\n    ")
    await typist.ask()
    before = await typist.session.explain(typist.uri, typist.cursor)
    n_answers = len(typist.session.counters.answers)
    typist.backspace(4)
    after = await typist.session.explain(typist.uri, Position(1, 0))
    assert (after.answer, after.position) == (before.answer, Position(1, 0))
    assert after.answer.outcome != "after a deletion"
    assert len(typist.session.counters.answers) == n_answers


async def test_nor_is_it_where_no_request_came_between(typist: Typist) -> None:
    """Enter and Escape, as fast as keys come."""
    typist.type(HEADER)
    await typist.ask()
    typist.type("\n    ")
    typist.backspace(4)
    after = await typist.session.explain(typist.uri, typist.cursor)
    assert after.answer.outcome != "after a deletion"


@pytest.mark.parametrize("taken", [1, 7])
async def test_a_deletion_is_one(typist: Typist, taken: int) -> None:
    """Of anything but blanks."""
    typist.type(HEADER)
    await typist.ask()
    typist.backspace(taken)
    explained = await typist.session.explain(typist.uri, typist.cursor)
    assert explained.answer.outcome == "after a deletion"


async def test_a_deletion_elsewhere_is_none(typist: Typist) -> None:
    """A client that shows less of the text below the cursor deleted nothing at the cursor."""
    typist.type(f"{HEADER}\n    return wei\n\nprint(price(3))\n")
    typist.cursor = Position(1, 14)
    typist.replace(Position(2, 0), Position(4, 0), "")
    await typist.ask()
    explained = await typist.session.explain(typist.uri, typist.cursor)
    assert explained.answer.outcome != "after a deletion"


async def test_the_last_answer_is_that_of_its_place(typist: Typist) -> None:
    """Elsewhere it is found out what one would get, which is no request: nothing is counted."""
    typist.type(f"{HEADER}\n    return weight")
    await typist.ask(invoked=True)
    asked = await typist.session.explain(typist.uri, typist.cursor)
    assert asked.by_hand
    before = typist.session.stats()
    elsewhere = await typist.session.explain(typist.uri, Position(0, 3))
    assert not elsewhere.by_hand
    assert elsewhere.answer.outcome == "before other code"
    assert typist.session.stats() == before


COUNTED = ("requests", "outcomes", "filters", "latencyMs", "last", "shown")


async def test_to_ask_why_is_no_request(typist: Typist) -> None:
    """The model is asked what it would say; the request that follows gets it, and is the first."""
    typist.type(f"{HEADER}\n    return weight * ra")
    before = typist.session.stats()
    for _ in range(2):
        why = await typist.session.explain(typist.uri, typist.cursor)
        after = typist.session.stats()
        assert [after[name] for name in COUNTED] == [before[name] for name in COUNTED]
    suggestions = await typist.ask()
    assert [each.text for each in suggestions] == [each.text for each in why.answer.suggestions]
    assert suggestions
    assert typist.counted("requests") == 1


async def test_a_look_elsewhere_leaves_no_trace(typist: Typist) -> None:
    """What is kept of the document is as before, and nothing is evaluated behind the answer."""
    others = (f"def area_{n}(width, height):\n    return width * hei\n\n\n" for n in range(60))
    typist.type(f"{''.join(others)}def add(first, second):\n    return fi")
    await typist.ask()
    await typist.session.wait_idle()
    doc = typist.session._open.by_uri[typist.uri]

    def list_kept() -> list[object]:
        known, stats = doc.view.known, typist.session.stats()
        kept = [*doc.view.ladder.at_hand, *known.generations, doc.displayed, doc.place]
        return [*kept, doc.view.n_connected, doc.used, stats["completions"]]

    before = list_kept()
    why = await typist.session.explain(typist.uri, Position(1, 22))
    assert why.answer.suggestions
    assert (await typist.session.report(typist.uri)).segments
    assert list_kept() == before
    assert not typist.session._lane._jobs
