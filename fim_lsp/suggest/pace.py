"""
The wait between a key and the request to the model: the debounce, from the user's pace. Pure.

Typing through a suggestion costs no request, and a key joins the generation under way; so a wait
saves few of them, and hides right text as well as wrong. Half a key is waited inside a word, where
most wrong guesses are shown, and nothing elsewhere.
"""

from __future__ import annotations

from collections import deque
from statistics import median

from fim_lsp.suggest.cursor import Cursor

KEYS = 16  # the rhythm of the last few words
PAUSE_MS = 1000.0  # longer intervals are pauses, not rhythm
USUAL_MS = 180.0  # before anything was typed: about 65 words a minute
WORD_SHARE = 0.5  # of an interval
MAX_WAIT_MS = 150.0  # a slow typist looks at the screen between keys


class TypingPace:
    """The intervals between the user's last keys."""

    def __init__(self) -> None:
        self._intervals_ms: deque[float] = deque(maxlen=KEYS)
        self._last_ms: float | None = None

    @property
    def interval_ms(self) -> float:
        """The usual time from key to key."""
        return median(self._intervals_ms) if self._intervals_ms else USUAL_MS

    def key(self, now_ms: float) -> None:
        """Note that a key was typed."""
        if self._last_ms is not None and 0 < now_ms - self._last_ms < PAUSE_MS:
            self._intervals_ms.append(now_ms - self._last_ms)
        self._last_ms = now_ms

    def wait_ms(self, cursor: Cursor, *, client_ms: float) -> float:
        """
        Return how long an automatic request at *cursor* waits, the client having waited
        *client_ms*.
        """
        if not cursor.is_in_word:
            return 0.0
        return max(0.0, min(self.interval_ms * WORD_SHARE, MAX_WAIT_MS) - client_ms)
