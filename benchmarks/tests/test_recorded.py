"""Recorded sessions: what is read of them, what counts as a pause, who reads, and what a server answers."""

from typing import Any

import pytest

from benchmarks.recorded import log, next_edits, pauses, replay, scores
from benchmarks.recorded.log import Answered, Changed, Moved, Opened, Replacement
from benchmarks.serve import BUNDLED

PATH = "src/a.py"


def recording(text: str, *happened: tuple[float, Any], path: str = PATH) -> dict[str, Any]:
    """A session in one file: its *text*, then changes as lists of edits, cursor moves as numbers, answers as texts."""
    entries: list[dict[str, Any]] = [
        {
            "kind": "documentEncountered",
            "id": 0,
            "time": 0,
            "relativePath": path.replace("/", "\\"),
        },
        {"kind": "setContent", "id": 0, "time": 0, "content": text},
        {"kind": "focused", "id": 0, "time": 0},
    ]
    for n, (seconds, what) in enumerate(happened):
        about = {"id": 0, "time": seconds * 1000}
        fetch = {"sourceId": "InlineCompletions.fetch", "requestId": n}
        match what:
            case list(edits):
                entries.append({**about, "kind": "changed", "edit": edits})
            case int(at):
                entries.append({**about, "kind": "selectionChanged", "selection": [[at, at]]})
            case (str(range_), str(answer)):
                item = {"range": range_, "text": answer, "isInlineEdit": False}
                entries += [
                    {**about, "kind": "documentEvent", "data": {**fetch, "kind": "start"}},
                    {**about, "kind": "event", "data": {**fetch, "kind": "end", "result": [item]}},
                ]
    return {"log": entries}


def typed(text: str, at: int, since: float) -> list[tuple[float, Any]]:
    """Keys, a tenth of a second each."""
    return [(since + n / 10, [[at + n, at + n, char]]) for n, char in enumerate(text)]


def test_the_log_is_read_in_code_points():
    """Offsets count UTF-16 units in the file and code points here, and edits of one change count on the text before."""
    two = [[0, 1, "ab"], [4, 5, "c"]]
    session = recording("x😀 = y\n", (1, two), (1.05, 4), (1.1, ("[1,1 -> 1,3]", "ab!")))
    opened, _, changed, moved, answer = log.entries(session)
    assert opened == Opened(0.0, PATH, "x😀 = y\n")
    assert changed == Changed(1000.0, PATH, (Replacement(3, 4, "c"), Replacement(0, 1, "ab")))
    assert log.replace("x😀 = y\n", changed.edits) == "ab😀 c y\n"
    assert moved == Moved(1050.0, PATH, 3)
    assert answer == Answered(1100.0, PATH, 1, Replacement(0, 2, "ab!"))


def test_a_kept_text_comes_back():
    """What was stored by an identifier is the file's text again where it is restored."""
    session = recording("a\n")
    more = [
        {"kind": "storeContent", "id": 0, "contentId": "k"},
        {"kind": "changed", "id": 0, "time": 5, "edit": [[0, 1, "b"]]},
        {"kind": "restoreContent", "id": 0, "time": 9, "contentId": "k"},
    ]
    *_, last = log.entries({"log": [*session["log"], *more]})
    assert last == Opened(9.0, PATH, "a\n")


LATER = [(9.0, [[0, 0, "#"]])]  # a change before the cursor ends what counts
PAUSES: dict[str, Any] = {
    "typing goes on there": ("x\n", [(1, [[1, 1, " "]]), (2, [[2, 2, "= 1"]]), *LATER], ["= 1\n"]),
    "too short": ("x\n", [(1, [[1, 1, " "]]), (1.3, [[2, 2, "= 1"]]), *LATER], []),
    "behind a deletion": ("xy\n", [(1, [[1, 2, ""]]), (2, [[1, 1, "= 1"]]), *LATER], []),
    "something else comes": ("x\ny\n", [(1, [[1, 1, " "]]), (2, [[4, 4, "!"]]), *LATER], []),
    "the cursor is where it moved": (
        "f\n", [(1, [[1, 1, "()"]]), (1.01, 2), (2, [[2, 2, "a"]]), *LATER], ["a)\n"],
    ),
    "the line is taken again with more": (
        "x\n", [(1, [[1, 1, " "]]), (2, [[0, 2, "x = 1"]]), *LATER], ["= 1\n"],
    ),
    "what was typed before it changes": (
        "x\n", [(1, [[1, 1, " "]]), (2, [[2, 2, "="]]), (3, [[0, 1, "y"]]), (4, [[3, 3, "1"]])], ["=\n"],
    ),
    "a minute later": ("x\n", [(1, [[1, 1, " "]]), (62, [[2, 2, "= 1"]])], []),
}  # fmt: skip


@pytest.mark.parametrize("name", PAUSES)
def test_what_counts_as_a_pause(name: str):
    """A pause begins with an insertion and counts if something comes at its cursor; the truth is what comes there."""
    text, happened, truths = PAUSES[name]
    found = pauses.pauses(recording(text, *happened))
    assert [pause.truth for pause in found if pause.change == 1] == truths


def test_who_types_by_hand():
    """A pause is followed by typing if the next characters come by keys, not from a suggestion."""
    by_keys = typed("hello, world", 1, 2.0)
    for rest, expected in (
        (by_keys, True),
        ([*by_keys[:5], (3, [[6, 6, " world and all"]])], False),
    ):
        first, *_ = pauses.pauses(recording("\n", (1, [[0, 0, "#"]]), *rest, (9, [[0, 0, "!"]])))
        assert first.is_typed == expected


def test_what_the_recorded_tool_had_on_screen():
    """It is the last answer to the text of the pause, as an insertion at the cursor, since it was there."""
    answers = [(1.1, ("[1,1 -> 1,3]", "x = 1\ny")), (1.2, ("[1,1 -> 1,3]", "x = 1\ny"))]
    session = recording("x\n", (1, [[1, 1, " "]]), *answers, (2, [[2, 2, "= 1"]]), *LATER)
    (pause,) = (one for one in pauses.pauses(session) if one.change == 1)
    assert pause.recorded == "= 1\ny"
    assert pause.recorded_ms == pytest.approx(100)


def shown(text: str, truth: str, seconds: float = 9.0, ms: float = 0.0) -> scores.Shown:
    return scores.Shown(pauses.Pause(1, PATH, "", 0, seconds, truth, False, "", 0.0), text, ms, ms)


SAVED = {
    "all of it": (shown("foo(bar)", "foo(bar)\n"), 7),
    "its line": (shown("foo(bar)\nbaz", "foo(bar)\nqux"), 7),
    "a word": (shown("foobar(1)", "foobar(2)"), 5),
    "nothing": (shown("bar", "foo"), 0),
}


@pytest.mark.parametrize("name", SAVED)
def test_keys_that_one_key_saves(name: str):
    """A text saves what one key takes of it, less that key."""
    one, keys = SAVED[name]
    assert one.keys == keys


def test_readers():
    """The quick reader reads for 0.4 s, and half of the people in 1 s, after the text came."""
    assert scores.read_quickly(shown("a", "a", 0.5, 100)) == 1
    assert scores.read_quickly(shown("a", "a", 0.5, 101)) == 0
    assert scores.read_by_people(shown("0123456789\nmore", "", 1.5, 500)) == pytest.approx(0.5)
    assert scores.read_by_people(shown("a", "a", 0.5, 600)) == 0


def test_the_recorded_session_gives_these_figures():
    """Of Copilot, in the pauses of the recorded session that is kept here."""
    found = pauses.pauses(log.read(log.SESSION))
    _, n_pauses, n_shown, _, right, wrong, *_ = scores.row("", scores.recorded(found))
    assert (n_pauses, sum(pause.is_typed for pause in found)) == (206, 45)
    assert (n_shown, right, wrong) == (133, 2662, 7667)


def test_no_bad_next_edit():
    """Of the scored cases three next edits are right, none is bad, and where there is none that is harmless."""
    scored = [next_edits.score(case)[0] for case in next_edits.read(next_edits.CASES)]
    assert sorted(scored) == ["nextEdit"] * 3 + ["valid"] * 4


def test_turns():
    """A cursor move that comes with a change is told at once, a later one behind the answer."""
    session = recording("x\n", (1, [[1, 1, " "]]), (1.05, 2), (1.5, 0), (4, [[2, 2, "="]]))
    first, second, third = replay.turns(session)
    assert [len(first.entries), len(first.later)] == [2, 0]
    assert (second.n, len(second.entries), second.later) == (1, 2, [Moved(1500.0, PATH, 0)])
    assert third.n == 2


def test_a_server_answers_in_a_pause():
    """A real server with the bundled model says something behind `return`, as an insertion at the cursor."""
    text = "def add(first, second):\n    \n\n\ndef sub(first, second):\n    return first - second\n"
    at = text.index("    \n") + 4
    keys = typed("return fir", at, 0.1)
    session = recording(text, *keys, (4.0, [[at + 10, at + 10, "s"]]))
    settings = {
        "backend": {"kind": "embedded", "model": str(BUNDLED)},
        "completion": {"minConfidence": 0},
    }
    (answer,) = replay.play(session, settings, {10: at + 10})
    assert (answer.change, answer.text.startswith("st")) == (10, True)
