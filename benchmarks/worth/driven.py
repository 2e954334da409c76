"""
Our ring as the session drives it: `fim_lsp.context`, told what happens in an editor, without one.

A file is looked at, an edit happened, one was changed by others; at a `rest` the ring changes.
`ring500` and `ring1500` have room for so many tokens; `newest500` and `newest1500` choose by age alone (`Newest`).
"""

from __future__ import annotations

import functools
import itertools
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from fim_lsp.context import ring as product
from fim_lsp.context.chunks import Piece, Source, cut
from fim_lsp.context.grammars import find_borders, language_of
from fim_lsp.context.memory import Memory
from fim_lsp.context.ranking import Interest, Scored
from fim_lsp.context.ring import Ring, RingLimits, Snapshot, Viewport, update_ring
from fim_lsp.documents import Document, Edit, Position, apply_edits, open_document

N_CHUNKS, CHUNK_LINES = 16, 64  # the defaults
CHARS_PER_TOKEN = 3.4  # of Qwen2.5-Coder's tokens in code
RINGS = ("ring500", "ring1500", "newest500", "newest1500")
NEW = 0.02  # a character of the newest counts so much: a ring changes once a fifth of it is newer
TURN_LINES = 8  # typed in one place until the user pauses to think


def chars(n_tokens: int) -> int:
    """Return how many characters about so many tokens have."""
    return int(n_tokens * CHARS_PER_TOKEN)


def rings(names: Iterable[str]) -> dict[str, DrivenRing]:
    """Return the rings of these names; others are passed over."""
    needed = sorted({*names} & {*RINGS})
    return {name: _ring(name) for name in needed}


def _ring(name: str) -> DrivenRing:
    n_tokens = int(name.removeprefix("newest").removeprefix("ring"))
    return DrivenRing(chars(n_tokens), by_age=name.startswith("newest"))


class Newest(Interest):
    """
    An interest in what is new, whatever names it holds: pieces that were edited, the last edit first, then those of
    the files looked at last, those near the cursor first. A piece counts half as much behind each ring of newer ones.
    """

    def __init__(self, snapshot: Snapshot, candidates: Sequence[Piece]) -> None:
        super().__init__(product._surroundings(snapshot, _read), ())  # noqa: SLF001
        self._snapshot = snapshot
        self._files = {source.uri: rank for rank, source in enumerate(snapshot.sources)}
        self._keys = sorted(map(self._age, candidates))
        sizes = {self._age(piece): len(piece.text) for piece in candidates}
        self._newer = [0, *itertools.accumulate(sizes[key] for key in self._keys)]

    def score(self, piece: Piece) -> Scored:
        """Return the piece with what it counts by its age."""
        n_newer = self._newer[bisect_left(self._keys, self._age(piece))]
        density: float = NEW * 0.5 ** (n_newer / self._snapshot.limits.n_chars)
        return Scored(density, piece, density, frozenset(), len(piece.text) + len(piece.name) // 2)

    def density(self, scored: Scored, counted: AbstractSet[str]) -> float:  # noqa: ARG002
        """Return the same whatever else is shown."""
        return scored.factor

    def _age(self, piece: Piece) -> tuple[int, int, int, int]:
        """Return where the piece stands from new to old."""
        view = self._snapshot.viewport
        marks = self._snapshot.edited.get(piece.uri, {})
        clock = max((c for n, c in marks.items() if piece.start <= n < piece.end), default=-1)
        looked = self._snapshot.looked.get(piece.uri, max(marks, key=marks.__getitem__, default=0))
        line = view.line if piece.uri == view.uri else looked
        rank = self._files.get(piece.uri, len(self._files))
        return -clock, rank, max(piece.start - line, line - piece.end, 0), piece.start


def update_by_age(snapshot: Snapshot) -> Ring:
    """Choose again as `update_ring` does, by age instead of names."""
    found = product._candidates(snapshot, _read)  # noqa: SLF001
    candidates = [*product._within(found, product._CANDIDATE_CHARS)]  # noqa: SLF001
    bad = product.judge(snapshot.viewport, snapshot.here)
    interest = Newest(snapshot, candidates)
    return product.refill(snapshot.ring, candidates, interest, snapshot.limits, bad)


class DrivenRing:
    """A ring of so many characters, chosen *by_age* or by names. Lines carry their line ends."""

    def __init__(self, n_chars: int, *, by_age: bool = False) -> None:
        self._by_age = by_age
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
            fresh = update_by_age(snapshot) if self._by_age else update_ring(snapshot, _read)
            assert self.memory.accept(snapshot, fresh)

    def _document(self, path: str, lines: tuple[str, ...]) -> Document:
        return open_document(path, language_of(path), next(self._versions), "".join(lines))


@functools.lru_cache(maxsize=1024)  # of a whole history
def _read(source: Source) -> tuple[Piece, ...]:
    return cut(source, find_borders(source.language, "".join(source.lines)))


def _source(document: Document) -> Source:
    return Source(document.uri, document.uri, document.language, document.version, document.lines)
