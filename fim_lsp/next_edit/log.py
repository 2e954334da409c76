"""
The edit log of one workspace: changes of documents in, finished edits out. Pure.

Changes at one place are one edit, however many keystrokes it took: its lines before the first, and
after the last of them. Text typed at several cursors is an edit for each place, in the order of
their lines. An edit that was undone disappears. The log is bounded, and its places move with the
text above them. Documents that are private never get here: the caller leaves them out, and calls
`forget` when one becomes private.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from fim_lsp.documents import LINE_CHARS, Document, Edit, Position, alike, apply, body
from fim_lsp.next_edit.edits import FinishedEdit

EDITS = 60
"""Edits remembered; the engine looks at 40 changed lines."""

EDIT_LINES = 40
"""Lines of an edit, before or after; a longer one is a paste, a formatter or generated."""

TOGETHER = 0.1
"""Seconds between two changes within which they are one key at several cursors, also for editors
that tell of each in a message of its own; a user takes longer to go on to another line."""

SETTLED = 0.4
"""Seconds without a change after which the newest edit counts as finished; the time between two
keys of a word is about half of it."""

NAMED = 1.0
"""The same while the cursor stands right behind a name that the edit brought: it may be half typed,
and all that uses it would be offered a half."""


class EditLog:
    """
    All that was edited in one workspace lately, oldest first. *now* is in seconds of the caller's
    clock, the same in each call.
    """

    def __init__(self) -> None:
        self._edits: list[FinishedEdit] = []
        self._settled = -math.inf  # edits until then are finished
        self._last = -math.inf  # the newest change, …
        self._since = -math.inf  # … the first of its key, at whatever cursor, …
        self._before = -math.inf  # … and the first of the key before

    def note_change(
        self, before: Document, after: Document, edits: Sequence[Edit], now: float
    ) -> None:
        """
        Note that *edits*, each on the result of the one before, turned *before* into *after*.
        """
        old: Sequence[str] = before.lines
        if now > self._last + TOGETHER:
            self._before = self._since
            self._since = now
        self._last = now
        for part in edits[:-1]:
            new = [*old]
            apply(new, part)
            self._note(after.uri, old, new, part, now)
            old = new
        for part in edits[-1:]:
            self._note(after.uri, old, after.lines, part, now)
        self._sort_newest()
        del self._edits[:-EDITS]

    def forget(self, uri: str) -> None:
        """Forget all edits of a document: it became private, or is gone."""
        self._edits = [edit for edit in self._edits if edit.uri != uri]

    def reopen(self, document: Document) -> None:
        """Forget the edits of a document that is opened again and does not say what they left."""
        lines = document.lines
        own = [edit for edit in self._edits if edit.uri == document.uri]
        if any(tuple(map(body, lines[edit.line : edit.end])) != edit.after for edit in own):
            self.forget(document.uri)

    def list_finished(self, now: float) -> tuple[FinishedEdit, ...]:
        """Return the edits, oldest first; those of the newest key only if the user paused since."""
        is_typing = self.seconds_unsettled(now) > 0
        begun = max(self._since, math.nextafter(self._settled, math.inf))
        return tuple(edit for edit in self._edits if not (is_typing and edit.at >= begun))

    def seconds_unsettled(self, now: float, uri: str = "", cursor: Position | None = None) -> float:
        """
        Return how many seconds from *now* the newest edit is finished, if the user pauses; 0 when
        it is. The *cursor*, where it is known, is in the document *uri*.
        """
        newest = self._edits[-1] if self._edits else None
        if newest is None or newest.at <= self._settled:
            return 0.0
        newest_key = (edit for edit in self._edits if edit.uri == uri and edit.at >= self._since)
        is_named = cursor is not None and any(_ends_name(edit, cursor) for edit in newest_key)
        return max(0.0, newest.at + (NAMED if is_named else SETTLED) - now)

    def settle(self, now: float) -> None:
        """Count all edits until *now* as finished: they were a proposal."""
        self._settled = now

    def _note(
        self, uri: str, old: Sequence[str], new: Sequence[str], edit: Edit, now: float
    ) -> None:
        part = _find_touched(uri, old, new, edit, now)
        if part is None:
            return
        touched = part
        if (n := self._find_begun(part)) is not None:
            touched = _merge(self._edits.pop(n), part, old)
        self._move(part, len(new) - len(old))
        if touched.before == touched.after or self._drop_undone(touched) or not _is_kept(touched):
            return
        above = body(new[touched.line - 1]) if touched.line else ""
        below = body(new[touched.end]) if touched.end < len(new) else ""
        self._edits.append(touched._replace(above=above, below=below))

    def _find_begun(self, part: FinishedEdit) -> int | None:
        """Return which edit *part* goes on with: the newest, or one of those at other cursors."""
        newest = len(self._edits) - 1
        for n in range(newest, -1, -1):
            edit = self._edits[n]
            if n < newest and edit.at < self._before:
                return None
            if edit.uri == part.uri and _meet(edit, part):
                return n
        return None

    def _sort_newest(self) -> None:
        """Put the edits of one key, at several cursors, in the order of their lines."""
        first = next((n for n, edit in enumerate(self._edits) if edit.at >= self._since), None)
        if first is not None:
            uris = [edit.uri for edit in self._edits]
            newest = {uri: n for n, uri in enumerate(uris)}
            self._edits[first:] = sorted(
                self._edits[first:], key=lambda edit: (newest[edit.uri], edit.line)
            )

    def _move(self, part: FinishedEdit, n_more: int) -> None:
        """Move the other edits of the document to where their lines went."""
        for n, edit in enumerate(self._edits):
            if edit.uri == part.uri and edit.line >= part.line + len(part.before):
                self._edits[n] = edit._replace(line=edit.line + n_more)
            elif edit.uri == part.uri and edit.line > part.line:
                self._edits[n] = edit._replace(line=max(part.line, edit.line + n_more))

    def _drop_undone(self, touched: FinishedEdit) -> bool:
        """Return whether *touched* undid an older edit, which is then forgotten, too."""
        undone = touched.uri, touched.line, touched.after, touched.before
        for n, edit in enumerate(self._edits):
            if edit[:4] == undone:
                del self._edits[n]
                return True
        return False


def _ends_name(edit: FinishedEdit, cursor: Position) -> bool:
    """Return whether the cursor is right behind a name that was not in the lines before."""
    line = "".join(edit.after[cursor.line - edit.line :][:1]) if cursor.line >= edit.line else ""
    name = re.search(r"(?<!\w)[^\W\d]\w*$", line[: cursor.column])
    is_end = not re.match(r"\w", line[cursor.column :])
    if not (name and is_end and edit.before):
        return False
    return not any(name[0] in re.findall(r"\w+", old) for old in edit.before)


def _find_touched(
    uri: str, old: Sequence[str], new: Sequence[str], edit: Edit, now: float
) -> FinishedEdit | None:
    """Return the lines that one edit changed; None where they are as they were."""
    first = max(0, min(edit.start.line, len(old) - 1) - 1)  # its end may be joined to that above
    last = min(edit.end.line, len(old) - 1)
    before = tuple(map(body, old[first : last + 1]))
    after = tuple(map(body, new[first : last + 1 + len(new) - len(old)]))
    return _trim(FinishedEdit(uri, first, before, after, at=now)) if before != after else None


def _trim(edit: FinishedEdit) -> FinishedEdit:
    """Return an edit without the lines at its beginning and its end that stay as they were."""
    head, tail = alike(edit.before, edit.after)
    before, after = (lines[head : len(lines) - tail] for lines in (edit.before, edit.after))
    return edit._replace(line=edit.line + head, before=before, after=after)


def _meet(edit: FinishedEdit, touched: FinishedEdit) -> bool:
    """
    Return whether a change goes on with an edit: on its lines, or at its edge where lines come or
    go.
    """
    end = touched.line + len(touched.before)
    if max(edit.line, touched.line) < min(edit.end, end):
        return True
    comes_or_goes = not touched.before or not edit.after
    return comes_or_goes and touched.line <= edit.end and edit.line <= end


def _merge(edit: FinishedEdit, touched: FinishedEdit, old: Sequence[str]) -> FinishedEdit:
    """Merge both into one edit; *old* has the lines after the first and before the second."""
    end = touched.line + len(touched.before)
    first = min(edit.line, touched.line)
    last = max(edit.end, end)
    middle = tuple(map(body, old[first:last]))
    before = (*middle[: edit.line - first], *edit.before, *middle[edit.end - first :])
    after = (*middle[: touched.line - first], *touched.after, *middle[end - first :])
    return _trim(FinishedEdit(edit.uri, first, before, after, at=touched.at))


def _is_kept(edit: FinishedEdit) -> bool:
    is_short = max(len(edit.before), len(edit.after)) <= EDIT_LINES
    return is_short and all(len(line) <= LINE_CHARS for line in (*edit.before, *edit.after))
