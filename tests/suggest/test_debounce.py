"""The debounce, from how someone types."""

from __future__ import annotations

import pytest

from fim_lsp.suggest.debounce import MAX_WAIT_MS, PAUSE_MS, USUAL_MS, TypingPace
from tests.suggest.golden_cases import parsed

INSIDE, BEHIND_SIGN, LINE_START = "x = fo▮\n", "x = foo(▮)\n", "    ▮\n"


def typist(*intervals_ms: float, client_ms: float | None = None) -> TypingPace:
    """A user who typed with these intervals, in an editor that asks so long after each key, or never."""
    pace, now = TypingPace(), 0.0
    for interval in (0.0, *intervals_ms):
        now += interval
        pace.key(now)
        if client_ms is not None:
            pace.asked(now + client_ms)
    return pace


@pytest.mark.parametrize(
    ("pace", "text", "wait_ms"),
    [
        (typist(), INSIDE, USUAL_MS / 2),
        (typist(100, 120, 110), INSIDE, 55),
        (typist(100, PAUSE_MS + 1, 120), INSIDE, 55),
        (typist(100, 100), BEHIND_SIGN, 0),
        (typist(100, 100), LINE_START, 0),
        (typist(900, 900), INSIDE, MAX_WAIT_MS),
        (typist(100, 100, client_ms=20), INSIDE, 30),
        (typist(100, 100, client_ms=75), INSIDE, 0),
    ],
    ids=["new", "quick", "paused", "sign", "line start", "slow", "client", "patient client"],
)
def test_wait(pace: TypingPace, text: str, wait_ms: float) -> None:
    """Half a key inside a word, nothing elsewhere; what the client has waited counts."""
    cursor, _ = parsed(text)
    assert pace.wait_ms(cursor) == pytest.approx(wait_ms)


def test_old_habits_are_forgotten() -> None:
    """The last few words count; a clock that stands still or goes back counts nothing."""
    assert typist(*[500.0] * 50, *[100.0] * 20).interval_ms == 100
    assert typist(100, 0, -50, 100).interval_ms == 100


def test_how_long_the_editor_waits_is_learned() -> None:
    """Of the first request after each key; one after a pause, or without a key, says nothing of it."""
    pace = typist(100, 100)
    assert pace.client_ms == 0
    for n in range(3):
        pace.key(1000.0 * n)
        pace.asked(1000.0 * n + 200)
        pace.asked(1000.0 * n + 900)
    assert pace.client_ms == 200
    pace.key(9000)
    pace.asked(9000 + 2 * PAUSE_MS)
    assert pace.client_ms == 200
