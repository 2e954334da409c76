"""A place in a text. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Span(NamedTuple):
    """The characters [start, end) of a text look like a *name*."""

    start: int
    end: int
    name: str
