"""
Ring policies with one interface, as the replay uses them: ours, and llama.vim's.

Both get the same events: a file is looked at, an edit happened, the cursor jumped, there is time
(`idle`). Both answer `pieces`: the pieces of text a request at a line carries, as (path, text).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from benchmarks.recall.llama_vim import LlamaVim, Piece
from fim_lsp.context.chunks import Source
from fim_lsp.context.definitions import read_syntax
from fim_lsp.context.grammars import language_of
from fim_lsp.context.index import Index, IndexEntry, names, read_unopened, update_index
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import RingLimits, Viewport, update_ring
from fim_lsp.documents import Document, Edit, Position, apply_edits, open_document, split


class Policy(Protocol):
    """What the replay needs of a policy. Lines carry their line ends."""

    def workspace(self, files: Mapping[str, str]) -> None: ...
    def open(self, path: str, lines: tuple[str, ...]) -> None: ...
    def outside(self, path: str, lines: tuple[str, ...] | None) -> None: ...
    def replace(self, path: str, start: int, end: int, lines: tuple[str, ...]) -> None: ...
    def save(self, path: str, at: int) -> None: ...
    def pieces(self, view: Viewport, *, anchored: bool) -> list[Piece]: ...


class Ours:
    """`fim_lsp.context`, driven as the session drives it; *n_chars* for the ring."""

    def __init__(self, n_chars: int, n_chunks: int = 16, chunk_lines: int = 64) -> None:
        self.memory = Memory(RingLimits(n_chunks, chunk_lines, n_chars))
        self._documents: dict[str, Document] = {}
        self._versions = itertools.count()
        self._disk: dict[str, str] = {}
        self._index = Index()
        self._typed = 0
        self._shown: list[Piece] = []

    def workspace(self, files: Mapping[str, str]) -> None:
        for path, text in files.items():
            self._written(path, text)

    def _written(self, path: str, text: str) -> None:
        language = language_of(path)
        self._disk[path] = text
        entry = IndexEntry(language, (0, 0), names(read_syntax(language, text).definitions))
        self._index = update_index(self._index, {path: entry})

    def _stranger(self, path: str) -> Source | None:
        lines = tuple(split(self._disk[path]))
        return Source(path, path, language_of(path), hash(lines), lines)

    def open(self, path: str, lines: tuple[str, ...]) -> None:
        document = self._documents.get(path)
        if document is None or document.lines != lines:
            document = open_document(path, language_of(path), next(self._versions), "".join(lines))
        self._documents[path] = document
        self.memory.note_open(_source(document))

    def outside(self, path: str, lines: tuple[str, ...] | None) -> None:
        if lines is not None:
            self._written(path, "".join(lines))
        elif self._disk.pop(path, None) is not None:
            self._index = update_index(self._index, {path: None})
        if path in self._documents and lines is not None:
            document = open_document(path, language_of(path), next(self._versions), "".join(lines))
            self._documents[path] = document
            self.memory.note_change(_source(document))
        elif path in self._documents:
            del self._documents[path]
            self.memory.note_deletion(path)

    def replace(self, path: str, start: int, end: int, lines: tuple[str, ...]) -> None:
        before = self._documents[path]
        edit = Edit(Position(start, 0), Position(end, 0), "".join(lines))
        after = apply_edits(before, [edit], next(self._versions))
        self.memory.note_edit(before, after, [edit])
        self._documents[path] = after

    def save(self, path: str, at: int) -> None:  # noqa: ARG002 (a policy's word)
        self._written(path, self._documents[path].text)
        self.memory.note_focus(path)

    def pieces(self, view: Viewport, *, anchored: bool) -> list[Piece]:
        self._typed += 1
        if anchored or self._typed % _TURN_LINES == 0:
            snapshot = self.memory.snapshot(view)
            others = read_unopened(self._index, snapshot, self._stranger)
            snapshot = replace(snapshot, others=(*snapshot.others, *others))
            assert self.memory.accept(update_ring(snapshot))
            self._shown = [(chunk.name, chunk.text) for chunk in self.memory.visible(view)]
        return self._shown


_TURN_LINES = 8  # typed in one place until the user pauses to think


class Theirs:
    """llama.vim with *n_chunks*; idle time empties its queue."""

    def __init__(self, n_chunks: int, seed: int) -> None:
        self._ring = LlamaVim(n_chunks, seed)
        self._lines: dict[str, list[str]] = {}

    def workspace(self, files: Mapping[str, str]) -> None:
        pass

    def open(self, path: str, lines: tuple[str, ...]) -> None:
        self._lines[path] = list(lines)
        self._ring.around(path, self._lines[path], 0)

    def outside(self, path: str, lines: tuple[str, ...] | None) -> None:
        if path in self._lines and lines is not None:
            self._lines[path] = list(lines)

    def replace(self, path: str, start: int, end: int, lines: tuple[str, ...]) -> None:
        self._lines[path][start:end] = lines

    def save(self, path: str, at: int) -> None:
        self._ring.around(path, self._lines[path], at)

    def pieces(self, view: Viewport, *, anchored: bool) -> list[Piece]:
        if anchored:
            self._ring.idle()
        return self._ring.request(view.uri, self._lines[view.uri], view.line)


def _source(document: Document) -> Source:
    return Source(document.uri, document.uri, document.language, document.version, document.lines)
