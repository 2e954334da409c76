"""
The origin of a pasted text. Pure.

Editors that send no `fim/didYank` (all without a plugin) still send the paste, and a user who pastes
a function is about to work with what stands around its original.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from fim_lsp.context.chunks import YANK_CHARS, Source, places
from fim_lsp.documents import Edit, body, split

MIN_LINES = 3
"""A shorter yank is being moved, not studied (llama.vim's limit, too)."""

_PLACES = 50  # of the longest line, in one text, that are looked at for the others


def origin(edit: Edit | str, sources: Iterable[Source]) -> tuple[str, str] | None:
    """
    Return the file and the whole lines an insertion repeats; None when it is no copy of anything known.

    *sources* hold the texts before the edit. A search of 100,000 lines takes 2 ms: it compares
    one line, the longest, and looks closer only where that stands.
    """
    if isinstance(edit, str) or edit.start != edit.end or len(edit.text) > YANK_CHARS:
        return None
    lines = [body(line) for line in split(edit.text.strip("\r\n"))]
    if len(lines) < MIN_LINES:
        return None
    places = ((source, start) for source in sources for start in _places(lines, source))
    found = next(places, None)
    if found is None:
        return None
    source, start = found
    return source.uri, "".join(source.lines[start : start + len(lines)])


def _places(lines: list[str], source: Source) -> Iterator[int]:
    """Yield the places of *lines*; the first may begin and the last may end inside a line."""
    inner = max(range(1, len(lines) - 1), key=lambda n: len(lines[n]))
    for at in islice(places(lines[inner], source.lines), _PLACES):
        start = at - inner
        here = [body(line) for line in source.lines[max(0, start) : start + len(lines)]]
        if (
            len(here) == len(lines)
            and here[1:-1] == lines[1:-1]
            and here[0].endswith(lines[0])
            and here[-1].startswith(lines[-1])
        ):
            yield start
