"""What is known behind a cursor: of a text on screen, kept, or being decoded, by one rule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from fim_lsp.documents import Position, open_document
from fim_lsp.prompt.frame import Frame, Header, compose
from fim_lsp.prompt.window import Window
from fim_lsp.session.answering.completion import Completion
from fim_lsp.session.answering.generation import Generation
from fim_lsp.session.answering.life import StreamEvent, StreamState
from fim_lsp.session.answering.texts import KnownText, KnownTexts
from fim_lsp.session.quietness import Quietness
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.workspaces import Workspaces
from fim_lsp.session.stats import Stats
from fim_lsp.settings.config import Config
from fim_lsp.suggest.cursor import Candidate, Odds
from fim_lsp.suggest.known import Displayed, Known, Said
from fim_lsp.suggest.request import CompletionRequest, request_at
from fim_lsp.tasks import Newest
from server_bridge.protocol import Health, State, Token

MODEL = "qwen"
STATE = State(Health.READY, "fake", model=MODEL, n_ctx=4096)
ABOVE = "def f():\n"
SHOWN = Window(0, 0, "", "")  # all of the document is the middle
SURE = -0.01
UNSURE = -9.0


def request(typed: str, *, invoked: bool = False) -> CompletionRequest:
    """Return a request behind *typed*, in the line below `ABOVE`."""
    document = open_document("file:///a.py", "python", 1, ABOVE + typed)
    lines = (ABOVE + typed).split("\n")
    place = Position(len(lines) - 1, len(lines[-1]))
    return request_at(document, place, "a.py", Config(), STATE, invoked=invoked)


def decoding(
    typed: str, text: str, state: StreamState = StreamState.GENERATING, logprob: float = SURE
) -> Generation:
    """Return a generation that began behind *typed* and says *text* so far."""
    frame = Frame(Header("shop", (), "a.py"), SHOWN)
    prompt = compose(frame, ABOVE + typed)
    asked = request(typed)
    began = Completion(asked, SHOWN, ABOVE + typed, prompt, 128)
    began.raw = prompt.forced + text
    began.state = state
    spelled = (prompt.forced, SURE), (text, logprob)
    began.tokens = tuple(Token(1, part.encode(), sure) for part, sure in spelled)
    began.is_unsure = logprob < began._least
    documents = OpenDocuments(Workspaces(), Stats(), Quietness(lambda: 0.0))
    doc = documents.open("file:///a.py", "python", 1, ABOVE + typed)
    doc.move_to(doc.place_at(asked.position))
    doc.view.ladder.install(frame)
    return Generation(began, doc)


class Row(NamedTuple):
    """*source* says *text*, which began behind *before*; *typed* stands there now."""

    before: str
    text: str
    typed: str
    left: str | None  # None: the model is to be asked
    whole: bool = True


ROWS = {
    "nothing was typed since": Row("    ret", "urn x", "    ret", "urn x"),
    "typed along": Row("    ret", "urn x", "    return", " x"),
    "something else": Row("    ret", "urn x", "    ref", None),
    "all, and more may follow": Row("    ret", "urn x", "    return x", None),
    "part of a longer one": Row("    ret", "urn x\n    y = 1", "    return x\n    y", " = 1"),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("source", ["kept", "decoded", "said"])
def test_what_is_left_is_the_same_everywhere(source: str, row: Row) -> None:
    """Of a text that is kept, of one that is being decoded, and of the text itself."""
    known = KnownText()
    place = request(row.typed)
    if source == "kept":
        known.kept.put(request(row.before).cursor, Candidate(row.text, row.whole), MODEL)
        found = known.at(place, MODEL)
    elif source == "decoded":
        found = decoding(row.before, row.text, StreamState.WHOLE).completion.at(place)
    else:
        said = Said(row.before + row.text, len(row.before), row.whole)
        rest = said.find_rest(row.typed)
        is_left = rest is not None and not said.is_typed(row.typed, place.cursor)
        found = Known((rest,) if rest and is_left else ())
    assert [candidate.text for candidate in found.candidates] == [row.left] * (row.left is not None)


@pytest.mark.parametrize(
    ("typed", "left"),
    [
        ("    ret", "urn total(1)"),
        ("    return", " total(1)"),
        ("    return total(1", ""),  # one character is not worth a key: known, and nothing
        ("    return total(1)", None),
        ("    ref", None),
        ("    re", None),  # what was before it is not its own
    ],
)
def test_what_is_on_screen_stays(typed: str, left: str | None) -> None:
    """While it is typed along, before anything that is kept; not where the user asks by hand."""
    displayed = Displayed(request("    ret").cursor, Candidate("urn total(1)"), MODEL)
    found = displayed.at(request(typed), MODEL)
    assert (found and found.candidates[0].text) == left
    assert not displayed.at(request(typed, invoked=True), MODEL)
    assert not displayed.at(request(typed), "another model")
    assert not displayed._replace(lasts=False).at(request(typed), MODEL)


@pytest.mark.parametrize(
    "change", [{"after": ")"}, {"above": ("def g():",)}, {"below": ("x = 1",)}, {"language": "lua"}]
)
def test_what_is_on_screen_stays_there_only(change: dict[str, Any]) -> None:
    """Other text around it, or a text of another language: the screen does not say."""
    here = request("    ret")
    screen = Displayed(here.cursor, Candidate("urn total(1)"), MODEL)
    assert screen.at(here, MODEL) is not None
    assert screen.at(replace(here, cursor=replace(here.cursor, **change)), MODEL) is None


@pytest.mark.parametrize(
    ("generation", "typed", "known"),
    [
        (decoding("    ret", "urn"), "    ret", Known(is_over=False, is_settled=False)),
        (decoding("    ret", "urn x\n"), "    ret",
         Known(is_over=False, is_settled=False, has_line=True)),
        (decoding("    ret", "urn x\n"), "    return x", Known(is_over=False, is_settled=False)),
        (decoding("    ret", "urn x", StreamState.WHOLE), "    ret", Known(is_settled=False)),
        (decoding("    ret", "urn x", StreamState.SHORT), "    ret", Known(is_settled=False)),
        (decoding("    ret", "urn", logprob=UNSURE), "    ret",
         Known(is_over=False, is_settled=True)),
        (decoding("    ret", "urn"), "    ref", Known()),
        (decoding("    ret", ""), "    return", Known(is_over=False, is_settled=False)),
    ],
)  # fmt: skip
def test_how_far_a_generation_is(generation: Generation, typed: str, known: Known) -> None:
    """Whether more comes, more can be shown, and a whole line is there."""
    found = generation.completion.at(request(typed))
    assert found._replace(candidates=()) == known
    assert bool(found.candidates) == (known != Known())


def test_a_generation_that_rests_is_over_until_it_is_joined() -> None:
    """What came is the answer then."""
    generation = decoding("    ret", "urn")
    known = KnownTexts()
    known.begin(generation)
    generation.happen(StreamEvent.KEY)
    assert generation.completion.at(request("    ret")).is_over
    generation.join(Newest[str]().claim(""))
    assert not generation.completion.at(request("    ret")).is_over


def test_what_ended_is_kept_and_no_longer_joined() -> None:
    """Its text is found where it began, once."""
    generation = decoding("    ret", "urn x", StreamState.WHOLE)
    known = KnownTexts()
    known.begin(generation)
    assert known.joinable(generation.doc, request("    ret")) is generation
    for _ in range(2):
        known.keep(generation, MODEL)
    assert known.joinable(generation.doc, request("    ret")) is None
    assert [
        one.text for one in known.find(generation.doc, request("    ret"), MODEL).candidates
    ] == ["urn x"]


def test_the_odds_go_with_the_text() -> None:
    """Of what is left, those of its own tokens; a token that is typed in part tells nothing."""
    said = Said("    return x", 7, odds=(Odds(3, -0.5), Odds(5, -0.25)))
    left = said.find_rest("    return")
    assert left is not None
    assert left.odds == (Odds(2, -0.25),)
    part = said.find_rest("    returnx"[:9])
    assert part is not None
    assert part.odds == (Odds(1, None), Odds(3, -0.25))
