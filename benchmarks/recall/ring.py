"""
Our ring as the session drives it: `fim_lsp.context`, told what happens in an editor, without one.

A file is looked at, an edit happened, a file was saved, one was changed by others; `pieces` are
those that a request at a line carries.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

from fim_lsp.context.chunks import ContextChunk, Source
from fim_lsp.context.definitions import read_syntax
from fim_lsp.context.grammars import language_of
from fim_lsp.context.index import Index, IndexEntry, names, read_unopened, update_index
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import RingLimits, Viewport, update_ring
from fim_lsp.documents import Document, Edit, Position, apply_edits, open_document, split

CHUNK_LINES = 64
TURN_LINES = 8  # typed in one place until the user pauses to think


class DrivenRing:
    """A ring of so many chunks and characters, in a workspace of *files*. Lines carry their line ends."""

    def __init__(self, n_chunks: int, n_chars: int, files: Mapping[str, str]) -> None:
        self.memory = Memory(RingLimits(n_chunks, CHUNK_LINES, n_chars))
        self._documents: dict[str, Document] = {}
        self._versions = itertools.count()
        self._disk: dict[str, str] = {}
        self._index = Index()
        self._typed = 0
        self._shown: tuple[ContextChunk, ...] = ()
        for path, text in files.items():
            self._write(path, text)

    def open(self, path: str, lines: tuple[str, ...]) -> None:
        """Look at a file."""
        document = self._documents.get(path)
        if document is None or document.lines != lines:
            document = self._document(path, lines)
        self._documents[path] = document
        self.memory.note_open(_source(document))

    def change_outside(self, path: str, lines: tuple[str, ...] | None) -> None:
        """Others changed a file, or deleted it."""
        if lines is not None:
            self._write(path, "".join(lines))
        elif self._disk.pop(path, None) is not None:
            self._index = update_index(self._index, {path: None})
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
        self.memory.note_edit(before, after, [edit])
        self._documents[path] = after

    def save(self, path: str) -> None:
        """Save an open file."""
        self._write(path, self._documents[path].text)
        self.memory.note_focus(path)

    def pieces(self, view: Viewport, *, anchored: bool) -> tuple[ContextChunk, ...]:
        """Return what a request with this window shows; the ring changes when the user pauses."""
        self._typed += 1
        if anchored or self._typed % TURN_LINES == 0:
            snapshot = self.memory.snapshot(view)
            others = read_unopened(self._index, snapshot, self._read_unopened)
            snapshot = replace(snapshot, others=(*snapshot.others, *others))
            assert self.memory.accept(snapshot, update_ring(snapshot))
            self._shown = self.memory.visible(view)
        return self._shown

    def _write(self, path: str, text: str) -> None:
        language = language_of(path)
        self._disk[path] = text
        entry = IndexEntry(language, (0, 0), names(read_syntax(language, text).definitions))
        self._index = update_index(self._index, {path: entry})

    def _read_unopened(self, path: str) -> Source | None:
        lines = tuple(split(self._disk[path]))
        return Source(path, path, language_of(path), hash(lines), lines)

    def _document(self, path: str, lines: tuple[str, ...]) -> Document:
        return open_document(path, language_of(path), next(self._versions), "".join(lines))


def _source(document: Document) -> Source:
    return Source(document.uri, document.uri, document.language, document.version, document.lines)
