"""
The bounds of a streamed answer: a server may be broken or hostile, and never end.
"""

from __future__ import annotations

import math
import time

from server_bridge.http.responses import answer_error

SILENT_S = 60.0  # an answer without new text for so long
LONGEST_TOKEN, SPARE_TOKENS = 128, 8  # characters: vocabularies have runs of so many spaces


class AnswerBounds:
    """
    The bounds of one answer of *n_predict* tokens: of its length, of its events, *most*, and of
    those without text, *most_empty* in a row. State: how many came, and when text came last.
    """

    def __init__(self, url: str, n_predict: int, most_empty: int, most: float = math.inf) -> None:
        self._url, self._longest = url, LONGEST_TOKEN * (SPARE_TOKENS + n_predict)
        self._most_empty, self._most = most_empty, most
        self._n_chars = self._n_empty = self._n_events = 0
        self._since = time.monotonic()

    def note(self, n_chars: int) -> None:
        """Note an event, with which there are *n_chars*. Raises UnexpectedAnswer."""
        now, self._n_events, self._n_empty = time.monotonic(), self._n_events + 1, self._n_empty + 1
        if n_chars > self._n_chars:
            self._n_chars, self._n_empty, self._since = n_chars, 0, now
        if n_chars > self._longest or self._n_events > self._most:
            raise answer_error(self._url, "more than was asked for")
        if self._n_empty > self._most_empty or now - self._since > SILENT_S:
            raise answer_error(self._url, "events without text, and no end")
