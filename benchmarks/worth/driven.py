"""
Our ring as the session drives it: `fim_lsp.context`, told what happens in an editor, without one.

A file is looked at, an edit happened, one was changed by others; at a `rest` the ring changes.
`ring500` and `ring1500` have room for so many tokens.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

from fim_lsp.context.chunks import Pieces, Source, cut
from fim_lsp.context.grammars import find_borders, language_of
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import RingLimits, Viewport, update_ring
from fim_lsp.documents import Document, Edit, Position, apply_edits, open_document

N_CHUNKS, CHUNK_LINES = 16, 64  # the defaults
CHARS_PER_TOKEN = 3.4  # of Qwen2.5-Coder's tokens in code
RINGS = ("ring500", "ring1500")
TURN_LINES = 8  # typed in one place until the user pauses to think


def chars(n_tokens: int) -> int:
    """Return how many characters about so many tokens have."""
    return int(n_tokens * CHARS_PER_TOKEN)


def rings(names: Iterable[str]) -> dict[str, DrivenRing]:
    """Return the rings of these names; others are passed over."""
    needed = sorted({*names} & {*RINGS})
    return {name: DrivenRing(chars(int(name.removeprefix("ring")))) for name in needed}


class DrivenRing:
    """A ring of so many characters. Lines carry their line ends."""

    def __init__(self, n_chars: int) -> None:
        self.memory = Memory(RingLimits(N_CHUNKS, CHUNK_LINES, n_chars))
        self._documents: dict[str, Document] = {}
        self._versions = itertools.count()
        self._typed = 0

    def open(self, path: str, lines: tuple[str, ...]) -> None:
        """Look at a file."""
        document = self._documents.get(path)
        if document is None or document.lines != lines:
            document = self._document(path, lines)
        self._documents[path] = document
        self.memory.note_open(_source(document))

    def change_outside(self, path: str, lines: tuple[str, ...] | None) -> None:
        """Others changed a file, or deleted it."""
        if path in self._documents and lines is not None:
            self._documents[path] = self._document(path, lines)
            self.memory.note_change(_source(self._documents[path]))
        elif path in self._documents:
            del self._documents[path]
            self.memory.note_deletion(path)

    def replace(self, path: str, start: int, end: int, lines: tuple[str, ...]) -> None:
        """Replace the lines [start, end) of an open file."""
        before = self._documents[path]
        edit = Edit(Position(start, 0), Position(end, 0), "".join(lines))
        after = apply_edits(before, [edit], next(self._versions))
        self.memory.note_edit(after, [edit])
        self._documents[path] = after

    def rest(self, view: Viewport, *, anchored: bool) -> None:
        """Let the ring change for this window: when it is new, and when the user pauses."""
        self._typed += 1
        if anchored or self._typed % TURN_LINES == 0:
            snapshot = self.memory.snapshot(view)
            assert self.memory.accept(snapshot, update_ring(snapshot, _read))

    def _document(self, path: str, lines: tuple[str, ...]) -> Document:
        return open_document(path, language_of(path), next(self._versions), "".join(lines))


@functools.lru_cache(maxsize=1024)  # of a whole history
def _read(source: Source) -> Pieces:
    return cut(source, find_borders(source.language, "".join(source.lines)))


def _source(document: Document) -> Source:
    return Source(document.uri, document.uri, document.language, document.version, document.lines)
