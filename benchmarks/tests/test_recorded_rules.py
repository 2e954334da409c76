"""Rules that are tried on recorded answers: where a suggestion ends, and what a hole in it would save."""

import math
from functools import partial

import pytest

from benchmarks.recorded import answers, gate, holes
from benchmarks.recorded.log import SESSION, read
from benchmarks.recorded.pauses import Pause, pauses
from fim_lsp.suggest.cursor import Candidate, Odds

ABOVE = "def area(width):\n    if width:\n        "


def pause(before: str, truth: str = "", after: str = "\n") -> Pause:
    text = ABOVE + before
    return Pause(1, "a.py", text + after, len(text), 9.0, truth, False, "", 0.0)


def said(*parts: tuple[str, float]) -> Candidate:
    """Tokens, and how sure the model is of each."""
    text, odds = "", list[Odds]()
    for part, sure in parts:
        text += part
        odds.append(Odds(len(text), math.log(sure)))
    return Candidate(text, True, tuple(odds))


SURE = [("urn width", 0.95), ("\n    return 0", 0.6), ("\n", 0.9), ("\n\ndef", 0.9)]
LONGEST = partial(gate.longest, 0.3)


@pytest.mark.parametrize(
    ("wanted", "parts", "shown"),
    [
        ("any", SURE, "urn width\n    return 0"),
        ("close", SURE, "urn width"),
        ("body", SURE, "urn width"),
        ("any", [("urn width", 0.7), *SURE[1:]], "urn width"),
        ("any", [SURE[0], ("\n    return 0", 0.2), ("\n", 0.9)], "urn width"),
    ],
)
def test_lines_behind_a_sure_one(wanted: str, parts: list[tuple[str, float]], shown: str) -> None:
    """They are judged by their own odds, where the text in front of them is sure."""
    assert gate.go_on(LONGEST, wanted, pause("ret"), said(*parts)) == shown


def test_what_is_shown_is_shorter_where_the_end_is_less_sure() -> None:
    """It is the beginning by which a reader is expected to save most, not the longest one."""
    parts = said(("urn width", 0.95), (" + 1", 0.5), ("\n", 0.9))
    assert LONGEST(pause("ret"), parts) == "urn width + 1"
    assert gate.shown(0.3, pause("ret"), parts) == "urn width"


HOLE = said(("urn ", 0.9), ("height", 0.2), (" * scale", 0.9), ("\n", 0.9))


def test_where_a_hole_would_be() -> None:
    """The place that is wrong, or the word of which the model is least sure."""
    here = pause("ret", "urn width * scale\n")
    wrong, unsure = holes.known(here, HOLE), holes.least_sure(here, HOLE)
    assert wrong is not None
    assert wrong.ends == ("urn ", " * scale")
    assert unsure == wrong


@pytest.mark.parametrize(
    ("truth", "keys"),
    [
        ("urn width * scale\n", 1 + 14 - 1 - 5 - 1),  # a key for `urn`, 14 typed; two and the word
        ("urn width / scale\n", 0),
        ("urn width\n", 0),
    ],
)
def test_what_a_hole_saves(truth: str, keys: int) -> None:
    """Against what today's suggestion has right; nothing where the line is wrong elsewhere, too."""
    here = pause("ret", truth)
    line = holes.least_sure(here, HOLE)
    assert line is not None
    assert holes.saved(here, HOLE, line) == keys


def test_the_answers_that_are_kept_are_of_the_pauses_that_count() -> None:
    """All but those in which an automatic request gets nothing have an answer, with its odds."""
    known = answers.read_answers()
    places = {place.change: place for place in pauses(read(SESSION))}
    assert known.keys() <= places.keys()
    missing = [places[change] for change in places.keys() - known.keys()]
    assert all(map(answers.is_quiet, missing))
    assert all(odds.end <= len(one.text) for one in known.values() for odds in one.odds)
