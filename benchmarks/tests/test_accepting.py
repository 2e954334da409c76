"""The typist who accepts: what is taken of a suggestion, and what that saves."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from benchmarks.real_sessions.accepting import Screen, waits
from benchmarks.real_sessions.choice import Written
from benchmarks.real_sessions.readers import (
    GLANCE,
    KEY_S,
    LINE_S,
    PEOPLE,
    QUICK,
    QUICK_S,
    READERS,
    share_of_readers,
    usual_read_s,
)
from benchmarks.real_sessions.scores import Accepted, Decision, Played, Read
from benchmarks.real_sessions.taking import choose, n_keys, table

EXPECTED = "tal = sum(prices)\n    return total\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("tal = sum(prices)", "all"), ("tal = sum(prices)\n    return total", "all"),
        ("tal = sum(prices)\n    print", "line"), ("tal = sum(prices) / 2", "word"),
        ("tal = max", "word"), ("t", ""), ("to = 1", ""), ("", ""),
    ],
)  # fmt: skip
def test_what_is_right_is_taken(text: str, part: str) -> None:
    """All of it, else its first line, else a word, if that saves two keys."""
    assert choose(text, EXPECTED) == part


def test_a_suggestion_that_begins_with_a_line_break_is_taken_by_lines() -> None:
    """As the key for a line does at the end of one."""
    assert choose("\n    return total\n    x", "\n    return total\n\n") == "line"


@pytest.mark.parametrize(
    ("text", "starts_line", "keys"),
    [("  a b", True, 3), ("  a b", False, 5), ("a\n  b\n\n", False, 5), ("", True, 0)],
)
def test_the_editor_indents(text: str, starts_line: bool, keys: int) -> None:
    """Blanks at the beginning of a line are no keys, those behind the cursor are."""
    assert n_keys(text, starts_line=starts_line) == keys


def test_pauses_are_the_same_for_every_client() -> None:
    """A second before each line break, and now and then a thought."""
    session = Written(Path("x"), "", "a.py", 3, tuple(f"value_{n} = {n}" for n in range(5)), ())
    pauses = waits(session, QUICK)
    assert pauses == waits(session, QUICK)
    text = "\n".join(session.typed)
    assert [wait for char, wait in zip(text, pauses, strict=True) if char == "\n"] == [LINE_S] * 4
    assert min(pauses) == KEY_S


def test_a_text_stands_on_while_it_is_typed(tmp_path: Path) -> None:
    """Another one, or the same after it was gone, begins to stand then; half a note waits for its end."""
    notes = tmp_path / "drawn"
    now = time.monotonic()
    notes.write_text(
        json.dumps([now - 1, "to", "tal = 1"]) + "\n" + json.dumps([now, "tot", "al = 1"])
    )
    with notes.open("r", encoding="utf-8") as lines:
        screen = Screen(lines)
        screen.look()
        assert screen.stands("to", QUICK_S)
        with notes.open("a", encoding="utf-8") as more:
            more.write("\n")
        screen.look()
        assert screen.stands("tot", QUICK_S)
        assert not screen.stands("to", QUICK_S)
        with notes.open("a", encoding="utf-8") as more:
            more.write(json.dumps([now, "tot", "em"]) + "\n")
        screen.look()
        assert screen.since == now
        assert not screen.stands("tot", QUICK_S)


@pytest.mark.parametrize(("blink", "stands"), [(0.002, True), (0.2, False)])
def test_a_blink_is_not_seen(tmp_path: Path, blink: float, stands: bool) -> None:
    """A key is drawn some milliseconds before the ghost text behind it is shorter."""
    notes = tmp_path / "notes"
    now = time.monotonic()
    times = (now - 0.5, now - 0.3, now - 0.3 + blink)
    states = (("to", "tal"), ("tot", "tal"), ("tot", "al"))
    rows = [json.dumps([at, *state]) + "\n" for at, state in zip(times, states, strict=True)]
    notes.write_text("".join(rows), "utf-8")
    with notes.open(encoding="utf-8") as lines:
        screen = Screen(lines)
        screen.look()
        assert screen.stands("tot", QUICK_S) is stands


ACCEPTED = Accepted(
    40, 30, (Read(2, "tal = 1", "tal = 1", "tal = 1"), Read(20, "x", "y", "")),
    ((0, 1.0), (1, 2.0), (20, 3.0), (30, 4.0)), ((3.1, "qu"),), 50.0, 60.0, 35,
)  # fmt: skip
PLAYED = Played("fim-lsp", "a", (), (Decision(4.5, "end", "not sure"),), 1, 2, 3.4, 0.2, ACCEPTED)


def test_the_table_has_keys_saved_and_the_share_of_completed_characters() -> None:
    """Of all characters that stand there in the end, indentation among them."""
    text = table({"fim-lsp": [PLAYED]})
    assert "| fim-lsp | 40 | 25.0% | 20.0% | 7 | 2 | 1 | 1 | 50 | 60 | 3 | 0 |" in text


def test_a_glance_is_as_long_for_any_text() -> None:
    """A wrong one costs five times as much, and the typist waits for both."""
    times = {GLANCE.read_s(random.Random(1), text, False) for text in ("a", "a" * 99)}
    assert times == {0.05}
    assert GLANCE.read_s(random.Random(1), "a", True) == 0.01
    assert [reader.name for reader in READERS.values() if reader.holds] == ["glance"]


def test_people_type_in_bursts_and_read_slowly() -> None:
    """Half of the keys come within 0.09 s; half of the readers need longer than the line usually takes."""
    rng = random.Random(1)
    keys = sorted(PEOPLE.key_s(rng, "a") for _ in range(2000))
    assert keys[1000] == pytest.approx(0.09, abs=0.01)
    assert keys[1980] == pytest.approx(3.6, rel=0.2)
    text = "0123456789\nmore"
    reads = [PEOPLE.read_s(rng, text, True) for _ in range(2000)]
    for times, share in ((0.25, 0.1), (1, 0.5), (4, 0.9)):
        seconds = usual_read_s(text) * times
        assert share_of_readers(text, seconds) == pytest.approx(share, abs=0.001)
        assert sum(read < seconds for read in reads) / 2000 == pytest.approx(share, abs=0.03)
    assert share_of_readers(text, 0) == 0
