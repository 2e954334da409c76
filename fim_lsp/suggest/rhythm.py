"""
How long to wait after a key before asking the model: the debounce, from how someone types. Pure.

Operations: a key was typed at a time; how long should an automatic request at a place wait.
Goal: ask once per pause and not once per key, and still be there when the pause begins.
Plan: somebody who has not typed the next key after about his usual interval has paused. Inside a word
the whole of that is waited for; behind a sign that ends something, half; at the start of a line nothing,
because there people look up. Where answers take longer than a key, each one asked for in vain delays the
next, so the wait grows with that.
"""

from __future__ import annotations

from collections import deque
from statistics import median

from fim_lsp.suggest.place import Place

KEYS = 16  # the rhythm of the last few words
PAUSE_MS = 1000.0  # longer intervals are pauses, not rhythm
USUAL_MS = 180.0  # before anything was typed: about 65 words a minute
MAX_WAIT_MS = 400.0  # beyond this the wait itself is felt
SLOW_FACTOR = 1.5  # where an answer takes longer than a key

AT_SIGN = 0.5


class Rhythm:
    """The intervals between somebody's last keys."""

    def __init__(self) -> None:
        self._intervals_ms: deque[float] = deque(maxlen=KEYS)
        self._last_ms: float | None = None

    def __repr__(self) -> str:
        return f"<Rhythm {self.interval_ms:.0f} ms>"

    @property
    def interval_ms(self) -> float:
        """The usual time from key to key."""
        return median(self._intervals_ms) if self._intervals_ms else USUAL_MS

    def key(self, now_ms: float) -> None:
        """A key was typed."""
        if self._last_ms is not None and 0 < now_ms - self._last_ms < PAUSE_MS:
            self._intervals_ms.append(now_ms - self._last_ms)
        self._last_ms = now_ms

    def wait_ms(self, place: Place, *, latency_ms: float, client_ms: float) -> float:
        """
        How long a request at *place* should wait.

        *latency_ms* is what an answer usually takes, *client_ms* what the client has waited already.
        """
        if not place.before.strip():
            return 0.0
        inside_word = place.before[-1].isalnum() or place.before[-1] == "_"
        wait = self.interval_ms * (1.0 if inside_word else AT_SIGN)
        if latency_ms > self.interval_ms:
            wait *= SLOW_FACTOR
        return max(0.0, min(wait, MAX_WAIT_MS) - client_ms)
