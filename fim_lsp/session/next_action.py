"""
The two decisions about waiting: when a request is answered, and when a stream goes on. Pure: two tables.

A request that waits for a generation, by what there is for it and what time it is (`Wait`):

    what there is                            before early   until   after until
    ---------------------------------------  ------------  -------  ------------
    all of it, or the stream rests              answer      answer   answer
    no more that can be shown (unsure)          answer      answer   answer
    a whole line, and one was shown before      answer      answer   answer
    a whole line                                 wait       answer   answer
    less than a line                             wait        wait    answer, or wait on if it `lasts`
    other text than the user typed meanwhile     over        over     over, and another is asked for

A stream, after each piece of text:

    what it is for                           no other waits       another step waits
    ---------------------------------------  -------------------  ------------------
    the newest request waits for it          go on                go on
    another request waits for it             go on                stop
    none waits, more could be shown          go on for a moment   stop
    none waits, no more can be shown         stop                 stop
    contradicted by a key                    stop                 stop
"""

from __future__ import annotations

from typing import NamedTuple


class Heard(NamedTuple):
    """
    The text of a generation for a request: *is_over* when no more comes for it, *is_settled* when
    no more can be shown.
    """

    is_over: bool
    is_settled: bool
    has_line: bool
    was_shown: bool  # a line of it, and what there is by now is shown at once


class Times(NamedTuple):
    """Times of the event loop; *lasts*: the request waits for a line, however long that takes."""

    early: float
    until: float
    lasts: bool


class Stream(NamedTuple):
    """A stream: how many requests wait for it, and until when it goes on without one."""

    n_waiting: int
    is_newest: bool
    is_paused: bool
    is_unsure: bool
    until: float


def is_answered(heard: Heard, times: Times, now: float) -> bool:
    """Return whether the request gets its answer now: the first table."""
    if heard.is_over or heard.is_settled:
        return True
    if heard.has_line and (heard.was_shown or now >= times.early):
        return True
    return now >= times.until and not times.lasts


def goes_on(stream: Stream, now: float, *, is_wire_wanted: bool) -> bool:
    """Return whether the stream goes on: the second table."""
    if stream.is_paused:
        return False
    if is_wire_wanted:
        return stream.n_waiting > 0 and stream.is_newest
    return stream.n_waiting > 0 or (now < stream.until and not stream.is_unsure)
