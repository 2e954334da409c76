"""
How long to wait after a key before asking the model: the debounce, from the user's pace. Pure.

Where typing through a suggestion costs no request and a key joins the generation under way, asking at once
costs 0.27 completions per key, and waiting longer hides more right text than wrong text (simulated
typing of 80 held-out lines, answers after 120 ms, median interval 150 ms):

    wait        completions per key    keys foretold on screen: right    wrong
    none                       0.27                              0.77     0.18
    half a key                 0.27                              0.71     0.14
    one key                    0.22                              0.64     0.12
    250 ms                     0.13                              0.42     0.06

So half a key is waited inside a word, where most wrong guesses are shown, and nothing elsewhere. Editors wait
by themselves, too (VS Code 67 ms, Neovim's own ghost text 200, ours none): that is seen, and counts.
"""

from __future__ import annotations

from collections import deque
from statistics import median

from fim_lsp.suggest.cursor import Cursor

KEYS = 16  # the rhythm of the last few words
PAUSE_MS = 1000.0  # longer intervals are pauses, not rhythm
USUAL_MS = 180.0  # before anything was typed: about 65 words a minute
WORD_SHARE = 0.5  # of an interval; see the table
ASKED = 8  # requests that tell how long the editor waits
MAX_WAIT_MS = 150.0  # a slow typist looks at the screen between keys


class TypingPace:
    """The intervals between the user's last keys, and from a key to the editor's request."""

    def __init__(self) -> None:
        self._intervals_ms: deque[float] = deque(maxlen=KEYS)
        self._waits_ms: deque[float] = deque(maxlen=ASKED)
        self._last_ms: float | None = None
        self._is_asked = True  # for a suggestion after the last key

    def __repr__(self) -> str:
        return f"<TypingPace {self.interval_ms:.0f} ms, asked after {self.client_ms:.0f} ms>"

    @property
    def interval_ms(self) -> float:
        """The usual time from key to key."""
        return median(self._intervals_ms) if self._intervals_ms else USUAL_MS

    @property
    def client_ms(self) -> float:
        """How long the editor usually waits after a key before it asks."""
        return median(self._waits_ms) if self._waits_ms else 0.0

    def asked(self, now_ms: float) -> None:
        """The editor asked by itself."""
        if self._last_ms is not None and not self._is_asked and now_ms - self._last_ms < PAUSE_MS:
            self._waits_ms.append(now_ms - self._last_ms)
        self._is_asked = True

    def key(self, now_ms: float) -> None:
        """A key was typed."""
        if self._last_ms is not None and 0 < now_ms - self._last_ms < PAUSE_MS:
            self._intervals_ms.append(now_ms - self._last_ms)
        self._last_ms, self._is_asked = now_ms, False

    def wait_ms(self, cursor: Cursor) -> float:
        """How long an automatic request at *cursor* still waits."""
        last = cursor.before[-1:]
        if not (last.isalnum() or last == "_"):
            return 0.0
        return max(0.0, min(self.interval_ms * WORD_SHARE, MAX_WAIT_MS) - self.client_ms)
