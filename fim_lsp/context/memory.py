"""
The memory of one workspace: events in, the chunks for the next prompt out. Pure.

`Memory` is the one object of `context` with state; the session keeps one per workspace root and
tells it what happens. An event costs microseconds, whatever the size of the file. Reading syntax
and choosing is left for later: while idle, the session takes a snapshot, has a worker thread
compute `update_ring`, and gives the result back, which counts unless something happened meanwhile.

    memory.note_edit(after, edits)                          each event
    memory.visible(viewport)                                a prompt's chunks, for a window
    memory.accept(snapshot, update_ring(snapshot, read))    while idle; takes 10 to 100 ms

Lines move under edits, and what is remembered by line moves along: the clock of each edited line,
and the pieces in the ring. A piece whose own lines are edited is no longer *fresh* and is not
shown.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from fim_lsp.context.chunks import SOURCE_CHARS, ContextChunk, Piece, Source, add_yank, locate
from fim_lsp.context.ring import Ring, RingLimits, Snapshot, Viewport, judge, visible
from fim_lsp.documents import Document, Edit, split

UNREAD = -1
"""The version of a text that is to be read again, whatever the disk has."""
MIN_LINES = 3
"""A shorter yank is being moved, not studied (llama.vim's limit, too)."""

_FILES = 20  # looked at lately: older files add noise and parse time
# of files among those that are closed: twenty usual ones have a fifth of it
_CLOSED_CHARS = 2_000_000
_YANKS = 8  # yanks remembered: an older copy is pasted by now
_EDITED_LINES = 400  # edited lines remembered per file; many rings of newer ones by then
_PASTE_LINES = 64  # of an insertion count as edited: a pasted file was not written here
_JUMP_LINES = 32  # a cursor that moves further works elsewhere (llama.vim's distance, too)


class Memory:
    """All that is remembered of one workspace root. Paths that are private never get here."""

    def __init__(self, limits: RingLimits) -> None:
        self._limits = limits
        self._sources: OrderedDict[str, Source] = OrderedDict()  # looked at last stands last
        self._closed: dict[str, int] = {}  # of these, the characters of those that are not open
        self._edited: dict[str, dict[int, int]] = {}  # uri → line → clock of its last edit
        self._clock = (
            0  # counts edited lines and copies: the unit of "lately", the same at any typing speed
        )
        self._at = ("", -1)  # uri and line of the last edit or cursor
        self._looked: dict[str, int] = {}  # the line of the last edit or cursor in each file
        self._yanks: tuple[Piece, ...] = ()
        self._queued: dict[str, None] = {}  # files with news since the last update of the ring
        self._n_events = 0
        self.ring = Ring()

    def grow(self, limits: RingLimits) -> None:
        """Remember as much as *limits* ask for from now on, too."""
        self._limits = self._limits.grow(limits)

    def note_open(self, source: Source) -> None:
        """
        Note that a document was opened: from now on its text is the editor's. A document that was
        only judged again keeps the marks of its edits.
        """
        before = self._sources.get(source.uri)
        if before and before.lines is source.lines and self.is_open(source.uri):
            return
        self._closed.pop(source.uri, None)
        self._replace(source)
        self.note_focus(source.uri)

    def note_close(self, uri: str) -> None:
        """
        Note that a document was closed: from now on its text is that on disk, see `unsure`.
        """
        source = self._sources.get(uri)
        if source is None:
            return
        self.note_focus(uri)
        self._closed.pop(uri, None)  # the one closed last stands last
        self._closed[uri] = n_chars = sum(map(len, source.lines))
        if n_chars > SOURCE_CHARS:
            self._forget(uri)
        while len(self._closed) > _FILES or sum(self._closed.values()) > _CLOSED_CHARS:
            self._forget(next(iter(self._closed)))

    def note_focus(self, uri: str) -> None:
        """Note that the user looks at this file now."""
        if uri in self._sources:
            self._sources.move_to_end(uri)
            self._news(uri)

    def note_move(self, uri: str, line: int) -> None:
        """Record the place of the cursor; only a jump is news."""
        last_uri, last_line = self._at
        if uri != last_uri or abs(line - last_line) > _JUMP_LINES:
            self.note_focus(uri)
        self._at = (uri, line)
        if uri in self._sources:
            self._looked[uri] = line

    def note_edit(self, after: Document, edits: Iterable[Edit]) -> None:
        """Note that *edits* made *after* of a document."""
        source = self._sources.get(after.uri)
        if source is None:
            return
        if after.uri != self._at[0]:
            self.note_focus(after.uri)
        for edit in edits:
            self._note_replacement(after.uri, edit)
        self._sources[after.uri] = replace(source, version=after.version, lines=after.lines)
        self._news(after.uri)

    def note_yank(self, uri: str, text: str) -> None:
        """
        Note that the user copied *text* in a file; it is kept as taken unless it is short or
        secret.
        """
        source = self._sources.get(uri)
        self._n_events += 1
        if source is None or len(split(text.strip("\r\n"))) < MIN_LINES:
            return
        if yanks := add_yank(self._yanks, source, text, self._clock + 1):
            self._clock += 1
            self._yanks = yanks[-_YANKS:]
            self._news(uri)

    def yanks(self, uri: str) -> list[str]:
        """Return what was copied in this file."""
        return [piece.text for piece in self._yanks if piece.uri == uri]

    def knows(self, uri: str) -> bool:
        """Return whether its text is remembered."""
        return uri in self._sources

    @property
    def uris(self) -> set[str]:
        """The files of which anything is remembered."""
        shown = {chunk.uri for chunk in self.ring.chunks} | {piece.uri for piece in self._yanks}
        return {*self._sources, *self._queued, *shown}

    def is_open(self, uri: str) -> bool:
        """Return whether its text is remembered, and that of the editor."""
        return uri in self._sources and uri not in self._closed

    def unsure(self) -> list[Source]:
        """
        Return all that is remembered of files that are not open, as it was: to be compared with the
        disk.
        """
        pieces = [piece for chunk in self.ring.chunks for piece in chunk.pieces]
        shown = {p.uri: Source(p.uri, p.name, "", p.version, ()) for p in pieces}
        sources = {**shown, **self._sources}
        return [source for uri, source in sources.items() if not self.is_open(uri)]

    def note_change(self, source: Source) -> None:
        """Note that a file that is not open changed on disk; pieces that are still true stay."""
        if source.uri in self._sources:
            self._replace(source)
        else:
            self._relocate(source)
        self._news(source.uri)

    def restore(self, ring: Ring) -> None:
        """Go on with *ring*, of an earlier run: texts that are remembered may be others by now."""
        self.ring = ring
        for source in self._sources.values():
            self._relocate(source)

    def note_deletion(self, *gone: str) -> None:
        """Note that the files are gone, or private now: nothing of them is shown again."""
        for uri in self.uris.intersection(gone):
            self._forget(uri)
            self._remap(uri, lambda piece: replace(piece, fresh=False, version=UNREAD))
        self._n_events += 1

    def visible(self, viewport: Viewport) -> tuple[ContextChunk, ...]:
        """
        Return the chunks a prompt with this window shows: a prefix of the ring, evaluated already.
        """
        return visible(self.ring, judge(viewport, self._sources.get(viewport.uri)))

    def snapshot(self, viewport: Viewport) -> Snapshot:
        """Return what `update_ring` needs, as an immutable value."""
        edited = {uri: dict(lines) for uri, lines in self._edited.items()}
        sources = tuple(itertools.islice(reversed(self._sources.values()), _FILES))
        return Snapshot(
            self._n_events, self.ring, self._limits, viewport, sources, edited, {**self._looked},
            self._yanks,
        )  # fmt: skip

    def accept(self, snapshot: Snapshot, ring: Ring) -> bool:
        """Take the new ring, unless something happened since the snapshot that it was made of."""
        if snapshot.n_events != self._n_events:
            return False
        self.ring = ring
        self._queued.clear()
        return True

    def stats(self) -> Mapping[str, int]:
        """Return the counters of `fim/stats`: chunks now, files with news, chunks that left."""
        ring = self.ring
        return {"chunks": len(ring.chunks), "queued": len(self._queued), "evicted": ring.evicted}

    def _forget(self, uri: str) -> None:
        """Forget a file; its chunks in the ring stay until they are judged again (`unsure`)."""
        self._yanks = tuple(piece for piece in self._yanks if piece.uri != uri)
        for by_uri in (self._sources, self._closed, self._edited, self._queued, self._looked):
            by_uri.pop(uri, None)

    def _news(self, uri: str) -> None:
        self._n_events += 1
        self._queued[uri] = None

    def _replace(self, source: Source) -> None:
        """Record a new text from elsewhere: pieces stay where their lines still stand."""
        self._sources[source.uri] = source
        if source.uri in self._closed:
            self._closed[source.uri] = sum(map(len, source.lines))
        self._edited.pop(source.uri, None)
        self._relocate(source)

    def _relocate(self, source: Source) -> None:
        """Let the pieces of a text stay where their lines still stand in it."""
        self._remap(source.uri, lambda piece: locate(piece, source))

    def _note_replacement(self, uri: str, edit: Edit) -> None:
        """
        Record an edit: from line start to line start it replaces whole lines; any other also
        touches its last.
        """
        first = edit.start.line
        last = edit.end.line
        n_breaks = len(split(edit.text)) - 1
        columns = edit.start.column, edit.end.column
        whole = columns == (0, 0) and edit.text[-1:] in ("", "\n", "\r")
        more = 0 if whole and (last > first or n_breaks) else 1
        self._replace_lines(uri, first, last + more, n_breaks + more)

    def _replace_lines(self, uri: str, first: int, last: int, n_lines: int) -> None:
        """Replace lines [first, last) by *n_lines* lines."""
        delta = n_lines - (last - first)
        if (uri, first) != self._at or delta:
            self._clock += max(1, min(n_lines, _PASTE_LINES))
        self._at = (uri, first + n_lines - 1)
        self._looked[uri] = self._at[1]
        marks = self._edited.setdefault(uri, {})
        if delta or len(marks) > _EDITED_LINES:
            moved = {
                n if n < first else n + delta: c for n, c in marks.items() if not first <= n < last
            }
            marks = self._edited[uri] = dict(
                sorted(moved.items(), key=lambda mark: mark[1])[-_EDITED_LINES:]
            )
        for n in range(first, first + min(n_lines, _PASTE_LINES)):
            marks[n] = self._clock
        self._remap(uri, lambda piece: _shift(piece, first, last, delta))

    def _remap(self, uri: str, function: Callable[[Piece], Piece]) -> None:
        """Replace each piece of one file in the ring by what *function* makes of it."""
        if not any(chunk.uri == uri for chunk in self.ring.chunks):
            return
        chunks = (
            ContextChunk(tuple(map(function, chunk.pieces))) if chunk.uri == uri else chunk
            for chunk in self.ring.chunks
        )
        self.ring = replace(self.ring, chunks=tuple(chunks))


def _shift(piece: Piece, first: int, last: int, delta: int) -> Piece:
    if piece.end <= first:
        return piece
    if piece.start >= last:
        return replace(piece, start=piece.start + delta, end=piece.end + delta) if delta else piece
    return replace(piece, fresh=False)
