"""
The question to a model for next edits: a few lines around the newest edit, and the edits before.
Pure.

Order: what never changes first. A file is shown as it was when it was first asked about
(`ShownPart`); finished edits are appended; the windows, which change each time, are short and stand
last. So a server that keeps what it evaluated has little to do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fim_lsp.context.secrets.scan import scrub_parts, scrub_text
from fim_lsp.documents import n_common
from fim_lsp.next_edit.edits import FinishedEdit, Lines

BEFORE = 1
BEHIND = 4
"""Lines of the window above and below the newest edit: users go downwards. The models were trained
with ten on each side; each line costs some 20 tokens per ask."""

REGION_LINES = 11
"""Of a window; fewer than 12 are one block for zeta-2.1, which needs six lines on each side of a
mark."""

REGION_CHARS = 1050  # 350 tokens, by Zed's estimate of three bytes each
ABOVE = 4  # lines that zeta is shown before the window; Zed shows some seven
FILE_LINES = 300  # that sweep is shown of the file; its own number
EDITS = 12  # appended before all begins again …
KEPT = 3  # … with so many


class ShownPart(NamedTuple):
    """
    The part of a prompt that does not change: the lines of a file from *first* on, and the time of
    the first edit that follows.
    """

    uri: str
    first: int
    lines: Lines
    since: float


class NamedEdit(NamedTuple):
    """A finished edit, with the name of its file."""

    path: str
    line: int
    before: Lines
    after: Lines


class Ask(NamedTuple):
    """
    The lines *now* from *line* on, which were *then* before the newest edit; the cursor is at
    *row*, *column*.

    *above* are the lines before them.
    """

    path: str
    shown: Lines
    edits: tuple[NamedEdit, ...]
    newest: NamedEdit
    line: int
    then: Lines
    now: Lines
    row: int
    column: int
    above: Lines


def without_secrets(lines: Lines, edit: FinishedEdit) -> Lines:
    """
    Return the lines around *edit* as they may be sent, with their numbers; lines far away are
    empty.
    """
    first = max(0, edit.line - FILE_LINES)
    end = edit.line + len(edit.after)
    last = min(len(lines), end + FILE_LINES)
    typed = "\n".join(lines[first:end])
    rest = "\n".join(("", *lines[end:last])) if first < end else "\n".join(lines[end:last])
    clean = "".join(scrub_parts((typed, rest))).split("\n")
    return ("",) * first + tuple(clean) + ("",) * (len(lines) - last)


def choose_shown(
    edits: Sequence[FinishedEdit], lines: Lines, before: ShownPart | None
) -> ShownPart:
    """
    Return the beginning of an ask after *edits*, of which the newest is in *lines*: the same as
    *before*, if it can.
    """
    newest = edits[-1]
    if before is not None and before.uri == newest.uri:
        n_since = sum(edit.at >= before.since for edit in edits)
        inside = before.first <= newest.line <= before.first + len(before.lines)
        if n_since <= EDITS and inside:
            return before
    first = max(0, min(newest.line - FILE_LINES // 2, len(lines) - FILE_LINES))
    since = edits[-KEPT - 1 :][0].at
    clean = without_secrets(lines, newest)
    return ShownPart(newest.uri, first, clean[first : first + FILE_LINES], since)


def ask(
    edits: Sequence[FinishedEdit], lines: Lines, names: Mapping[str, str], begin: ShownPart
) -> Ask | None:
    """
    Make the question; None where the newest edit is too long for a window, or holds a secret.

    *names* are those of all files, by URI.
    """
    newest = edits[-1]
    clean = without_secrets(lines, edits[-1])
    end = newest.line + len(newest.after)
    first = max(0, newest.line - BEFORE)
    last = min(len(lines), end + BEHIND)
    now = lines[first:last]
    then = (*lines[first : newest.line], *newest.before, *lines[end:last])
    longest = max(now, then, key=len)
    n_chars = max(sum(map(len, now)), sum(map(len, then)))
    if now != clean[first:last] or scrub_text("\n".join(then)) != "\n".join(then):
        return None
    if not now or len(longest) > REGION_LINES or n_chars > REGION_CHARS:
        return None
    row = min(max(newest.line, end - 1) - first, len(now) - 1)
    named = [
        _name_edit(edit, names) for edit in edits if edit.at >= begin.since and edit.uri in names
    ]
    if not named or newest.uri not in names:
        return None
    column = _end(newest.before[-1] if newest.before else "", now[row])
    above = clean[max(0, first - ABOVE) : first]
    edited = tuple(named[:-1]), named[-1]
    return Ask(names[newest.uri], begin.lines, *edited, first, then, now, row, column, above)


def with_cursor(ask: Ask, mark: str) -> Lines:
    """Return the lines of the window, with *mark* where the cursor is."""
    line = ask.now[ask.row]
    marked = f"{line[: ask.column]}{mark}{line[ask.column :]}"
    return (*ask.now[: ask.row], marked, *ask.now[ask.row + 1 :])


def _name_edit(edit: FinishedEdit, names: Mapping[str, str]) -> NamedEdit:
    before, after = (_clean(lines, edit.above) for lines in (edit.before, edit.after))
    return NamedEdit(names[edit.uri], edit.line, before, after)


def _clean(lines: Lines, above: str) -> Lines:
    """Return *lines* without secrets; the line *above* may tell what they are."""
    return tuple(scrub_text("\n".join((above, *lines))).split("\n")[1:])


def _end(old: str, new: str) -> int:
    """Return the end of the change of a line."""
    return len(new) - n_common(old[::-1], new[::-1])
