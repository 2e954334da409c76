"""
The life of a stream: its states, what happens to it, and the state that follows. Pure.

A stream belongs to the session, not to the request that began it: a key that agrees with it brings
a request that joins it, a key that contradicts it pauses it within a token. `NEXT` is the code, and
this is how it reads; an event that a state does not have changes nothing.

    state       event     next        the event
    GENERATING  KEY       PAUSED      the user typed what contradicts it
    GENERATING  LATE      PAUSED      no request waits for it, and its time for the next key is over
    GENERATING  COMPLETE  WHOLE       a piece ends the text
    GENERATING  CUT       SHORT       its budget or the context is used, or its document is left
    GENERATING  ERROR     FAILED      the backend failed, or may not see the document any more
    PAUSED      JOIN      GENERATING  a request waits for it
    PAUSED      COMPLETE  WHOLE       a piece that was on its way ends the text
    PAUSED      CUT       SHORT       as above
    PAUSED      ERROR     FAILED      as above
"""

from __future__ import annotations

import enum


class StreamState(enum.Enum):
    """Where a stream is in its life. PAUSED: no task decodes it, and a request may resume it."""

    GENERATING = enum.auto()
    PAUSED = enum.auto()
    WHOLE = enum.auto()
    SHORT = enum.auto()
    FAILED = enum.auto()


class StreamEvent(enum.Enum):
    """An event in the life of a stream, see the module's docstring."""

    JOIN = enum.auto()
    KEY = enum.auto()
    LATE = enum.auto()
    COMPLETE = enum.auto()
    CUT = enum.auto()
    ERROR = enum.auto()


NEXT = {
    StreamState.GENERATING: {
        StreamEvent.KEY: StreamState.PAUSED,
        StreamEvent.LATE: StreamState.PAUSED,
        StreamEvent.COMPLETE: StreamState.WHOLE,
        StreamEvent.CUT: StreamState.SHORT,
        StreamEvent.ERROR: StreamState.FAILED,
    },
    StreamState.PAUSED: {
        StreamEvent.JOIN: StreamState.GENERATING,
        StreamEvent.COMPLETE: StreamState.WHOLE,
        StreamEvent.CUT: StreamState.SHORT,
        StreamEvent.ERROR: StreamState.FAILED,
    },
    StreamState.WHOLE: {},
    StreamState.SHORT: {},
    StreamState.FAILED: {},
}
ENDED = frozenset(state for state, events in NEXT.items() if not events)
