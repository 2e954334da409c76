"""
The edit log of one workspace: changes of documents in, finished edits out. Pure.

Changes at one place are one edit, however many keystrokes it took: its lines before the first, and
after the last of them. An edit that was undone disappears. The log is bounded, and its places move
with the text above them. Documents that are private never get here: the caller leaves them out, and
calls `forget` when one becomes private.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fim_lsp.documents import LINE_CHARS, Document, Edit, apply, body, difference
from fim_lsp.next_edit.edits import FinishedEdit, Lines

EDITS = 60
"""Edits remembered; the engine looks at 40 changed lines."""

EDIT_LINES = 40
"""Lines of an edit, before or after; a longer one is a paste, a formatter or generated."""

PARTS = 100
"""Edits of one message that are followed one by one; more are a formatter's, and count as one."""

SETTLED = 0.4
"""Seconds without a change after which the newest edit counts as finished; the time between two
keys of a word is about half of it."""


@dataclass(slots=True)
class _Entry:
    uri: str
    line: int
    before: Lines
    after: Lines
    above: str
    below: str
    at: float

    @property
    def end(self) -> int:
        return self.line + len(self.after)


class EditLog:
    """All that was edited in one workspace lately, oldest first."""

    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._settled = -math.inf  # what was edited until then is finished

    def note_change(
        self, before: Document, after: Document, edits: Iterable[Edit | str], now: float
    ) -> None:
        """
        Take in that *edits*, each on the result of the one before, turned *before* into *after*.
        """
        given = [*edits]
        parts = [edit for edit in given if isinstance(edit, Edit)]
        if len(parts) < len(given) or len(parts) > PARTS:
            parts = [difference(before.lines, after.lines)]
        old: Sequence[str] = before.lines
        for part in parts[:-1]:
            new = [*old]
            apply(new, part)
            self._note(after.uri, old, new, part, now)
            old = new
        for part in parts[-1:]:
            self._note(after.uri, old, after.lines, part, now)
        del self._entries[:-EDITS]

    def forget(self, uri: str) -> None:
        """Forget all edits of a document: it became private, or is gone."""
        self._entries = [entry for entry in self._entries if entry.uri != uri]

    def reopen(self, document: Document) -> None:
        """Forget the edits of a document that is opened again and does not say what they left."""
        lines = document.lines
        mine = [entry for entry in self._entries if entry.uri == document.uri]
        if any(tuple(map(body, lines[e.line : e.end])) != e.after for e in mine):
            self.forget(document.uri)

    def list_finished(self, now: float) -> tuple[FinishedEdit, ...]:
        """Return the edits, oldest first; the newest only if the user paused since."""
        done = [*self._entries]
        if self.seconds_unsettled(now) > 0:
            done.pop()
        return tuple(
            FinishedEdit(e.uri, e.line, e.before, e.after, e.above, e.below, e.at) for e in done
        )

    def seconds_unsettled(self, now: float) -> float:
        """
        Return how many seconds from *now* the newest edit is finished, if the user pauses; 0 when
        it is.
        """
        newest = self._entries[-1].at if self._entries else -math.inf
        return max(0.0, newest + SETTLED - now) if newest > self._settled else 0.0

    def settle(self, now: float) -> None:
        """Count all edits until *now* as finished: they were a proposal."""
        self._settled = now

    def _note(
        self, uri: str, old: Sequence[str], new: Sequence[str], edit: Edit, now: float
    ) -> None:
        touched = _find_touched(uri, old, new, edit, now)
        if touched is None:
            return
        newest = self._entries[-1] if self._entries else None
        if newest is not None and newest.uri == uri and _meet(newest, touched):
            self._entries.pop()
            touched = _merge(newest, touched, old)
        self._move(touched, len(new) - len(old))
        touched.above = body(new[touched.line - 1]) if touched.line else ""
        touched.below = body(new[touched.end]) if touched.end < len(new) else ""
        if touched.before == touched.after or self._took_back(touched):
            return
        if _is_kept(touched):
            self._entries.append(touched)

    def _move(self, touched: _Entry, n_more: int) -> None:
        """Move the other edits of the document to where their lines went."""
        for entry in self._entries:
            if entry.uri == touched.uri and entry.line > touched.line:
                entry.line = max(touched.line, entry.line + n_more)

    def _took_back(self, touched: _Entry) -> bool:
        """Return whether *touched* undid an older edit, which is then forgotten, too."""
        for n, entry in enumerate(self._entries):
            if (entry.uri, entry.line) == (touched.uri, touched.line) and (
                (entry.before, entry.after) == (touched.after, touched.before)
            ):
                del self._entries[n]
                return True
        return False


def _find_touched(
    uri: str, old: Sequence[str], new: Sequence[str], edit: Edit, now: float
) -> _Entry | None:
    """Return the lines that one edit changed; None where they are as they were."""
    first = min(edit.start.line, len(old) - 1)
    last = min(edit.end.line, len(old) - 1)
    first = max(0, first - 1)  # a line end may have been joined to one above
    before = [*map(body, old[first : last + 1])]
    after = [*map(body, new[first : last + 1 + len(new) - len(old)])]
    while before and after and before[0] == after[0]:
        del before[0], after[0]
        first += 1
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    if not before and not after:
        return None
    return _Entry(uri, first, tuple(before), tuple(after), "", "", now)


def _meet(entry: _Entry, touched: _Entry) -> bool:
    """
    Return whether a change goes on with an edit: on its lines, or at its edge where lines come or
    go.
    """
    end = touched.line + len(touched.before)
    if max(entry.line, touched.line) < min(entry.end, end):
        return True
    comes_or_goes = not touched.before or not entry.after
    return comes_or_goes and touched.line <= entry.end and entry.line <= end


def _merge(entry: _Entry, touched: _Entry, old: Sequence[str]) -> _Entry:
    """Merge both into one edit; *old* has the lines after the first and before the second."""
    end = touched.line + len(touched.before)
    first, last = min(entry.line, touched.line), max(entry.end, end)
    middle = tuple(map(body, old[first:last]))
    before = (*middle[: entry.line - first], *entry.before, *middle[entry.end - first :])
    after = (*middle[: touched.line - first], *touched.after, *middle[end - first :])
    while before and after and before[0] == after[0]:
        before, after, first = before[1:], after[1:], first + 1
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    return _Entry(entry.uri, first, before, after, "", "", touched.at)


def _is_kept(entry: _Entry) -> bool:
    lines = (*entry.before, *entry.after)
    is_short = max(len(entry.before), len(entry.after)) <= EDIT_LINES
    return is_short and all(len(line) <= LINE_CHARS for line in lines)
