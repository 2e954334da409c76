"""The debounce, from how someone types."""

from __future__ import annotations

import pytest

from fim_lsp.suggest.pace import MAX_WAIT_MS, PAUSE_MS, USUAL_MS, TypingPace
from tests.suggest.golden_cases import parsed

INSIDE = "x = fo▮\n"
BEHIND_SIGN = "x = foo(▮)\n"


def typist(*intervals_ms: float) -> TypingPace:
    pace = TypingPace()
    now = 0.0
    pace.key(now)
    for interval in intervals_ms:
        now += interval
        pace.key(now)
    return pace


@pytest.mark.parametrize(
    ("pace", "text", "client_ms", "wait_ms"),
    [
        (typist(), INSIDE, 0, USUAL_MS / 2),
        (typist(100, 120, 110), INSIDE, 0, 55),
        (typist(100, PAUSE_MS + 1, 120), INSIDE, 0, 55),
        (typist(100, 100), BEHIND_SIGN, 0, 0),
        (typist(900, 900), INSIDE, 0, MAX_WAIT_MS),
        (typist(100, 100), INSIDE, 20, 30),
        (typist(100, 100), INSIDE, 75, 0),
    ],
    ids=["new", "quick", "paused", "sign", "slow", "client", "patient client"],
)
def test_wait(pace: TypingPace, text: str, client_ms: float, wait_ms: float) -> None:
    """Half a key inside a word, nothing elsewhere; what the client has waited counts."""
    cursor, _ = parsed(text)
    assert pace.wait_ms(cursor, client_ms=client_ms) == pytest.approx(wait_ms)


def test_old_habits_are_forgotten() -> None:
    """The last few words count; a clock that stands still or goes back counts nothing."""
    assert typist(*[500.0] * 50, *[100.0] * 20).interval_ms == 100
    assert typist(100, 0, -50, 100).interval_ms == 100
