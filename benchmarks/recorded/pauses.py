"""
The pauses of a recorded session: where they are, what came there, what another tool had on screen. Pure.

A pause begins with a change that only inserts, lasts `LEAST_S` or more, and ends with the next change. It counts
if something is inserted at its cursor then. What came there (*truth*) is what stands behind the cursor `LATER_MS`
later, or when something before the cursor changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.recorded.log import Answered, Changed, Moved, Opened, Replacement, entries, replace
from fim_lsp.documents import alike

LEAST_S = 0.4
LATER_MS = 60_000.0
SETTLE_MS = 100.0  # between a change and the cursor move that belongs to it
BY_HAND = 12  # characters that come a key at a time
KEY = 2  # characters that a key inserts at most, the editor's closing bracket among them
TUNE = 1600  # changes: what is before is for tuning, the rest for reports
HALVES = ("tune", "held", "all")


class Pause(NamedTuple):
    """
    A pause after the change of a number, counted from one.

    *text* is the whole file, *at* the cursor. *is_typed*: the next `BY_HAND` characters came by keys.
    *recorded* is what the recorded tool had on screen in the end, "" for nothing, and since when, in
    milliseconds after the change.
    """

    change: int
    path: str
    text: str
    at: int
    seconds: float
    truth: str
    is_typed: bool
    recorded: str
    recorded_ms: float


class Version(NamedTuple):
    """
    A file before and behind a change, which is the smallest of all that make the same, and where the cursor was
    then; *answers* were shown until the next.
    """

    ms: float
    path: str
    before: str
    text: str
    change: Replacement
    cursor: int
    answers: list[Answered]

    @property
    def is_insertion(self) -> bool:
        """Return whether the change only inserts."""
        start, end, new = self.change
        return start == end and bool(new)


def pauses(recording: Mapping[str, Any], half: str = "all") -> list[Pause]:
    """Return the pauses of a half behind which something came."""
    versions = _versions(recording)
    at = {"tune": range(TUNE), "held": range(TUNE, len(versions)), "all": range(len(versions))}
    found = (_pause(versions, n) for n in at[half] if n < len(versions))
    return [pause for pause in found if pause]


def _versions(recording: Mapping[str, Any]) -> list[Version]:
    texts: dict[str, str] = {}
    versions: list[Version] = []
    for entry in entries(recording):
        match entry:
            case Opened(_, path, text):
                texts[path] = text
            case Changed(ms, path, edits):
                before = texts[path]
                texts[path] = replace(texts[path], edits)
                change = _smallest(before, texts[path], edits)
                cursor = change.start + len(change.text)
                versions.append(Version(ms, path, before, texts[path], change, cursor, []))
            case Moved(ms, path, offset) if versions:
                last = versions[-1]
                if path == last.path and ms - last.ms <= SETTLE_MS:
                    versions[-1] = last._replace(cursor=offset)
            case Answered(n_changes=n) if versions and n == len(versions):
                versions[-1].answers.append(entry)
    return versions


def _pause(versions: list[Version], n: int) -> Pause | None:
    version = versions[n]
    following = versions[n + 1 :]
    seconds = (following[0].ms - version.ms) / 1000 if following else 0.0
    if not version.is_insertion or seconds < LEAST_S:
        return None
    at = version.cursor
    later = [*_later(following, version)]
    if not any(_is_at(one, at) for one in later):
        return None
    return Pause(
        n + 1, version.path, version.text, at, seconds, later[-1].text[at:],
        _is_typed(following, version.path), *_recorded(version, at),
    )  # fmt: skip


def _later(versions: Iterable[Version], since: Version) -> Iterator[Version]:
    """Yield the later versions of a file in which all before the cursor is as it was."""
    for version in versions:
        if version.ms > since.ms + LATER_MS:
            return
        if version.path == since.path:
            if version.text[: since.cursor] != since.text[: since.cursor]:
                return
            yield version


def _is_at(version: Version, at: int) -> bool:
    """Return whether a change inserts at a place: `a` before `a` may be there, or behind it."""
    start, _, new = version.change
    is_there = len(version.text) > len(version.before) and version.text[at:].endswith(
        version.before[at:]
    )
    return bool(new) and (start == at or is_there)


def _is_typed(versions: Iterable[Version], path: str) -> bool:
    """Return whether the next characters are typed in the same file, also with single corrections."""
    n_typed = 0
    for version in versions:
        start, end, new = version.change
        if version.path != path or max(len(new.strip()), end - start) > KEY:
            return False
        n_typed += max(1, len(new.strip())) if end == start else 0
        if n_typed >= BY_HAND:
            return True
    return False


def _smallest(before: str, text: str, edits: tuple[Replacement, ...]) -> Replacement:
    """Return the smallest replacement that does the same as *edits*, which make one text of the other."""
    first = edits[-1].start
    last = edits[0].end
    old = before[first:last]
    new = text[first : last + len(text) - len(before)]
    head, tail = alike(old, new)
    return Replacement(first + head, last - tail, new[head : len(new) - tail])


def _recorded(version: Version, at: int) -> tuple[str, float]:
    """Return the last of what was shown as text to insert at the cursor, and since when it was there."""
    texts = [
        (_insertion(one.edit, version.text, at), one.ms - version.ms) for one in version.answers
    ]
    last = texts[-1][0] if texts else ""
    return last, next((max(0.0, ms) for text, ms in texts if text == last), 0.0)


def _insertion(edit: Replacement, text: str, at: int) -> str:
    """Return what a replacement of the text around a cursor inserts there; "" where it changes that text."""
    start, end, new = edit
    before = text[start:at]
    behind = text[at:end]
    if start <= at <= end and new.startswith(before) and new.endswith(behind):
        return new[len(before) : len(new) - len(behind)]
    return ""
