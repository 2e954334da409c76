"""
Known continuations of one document: what a model said at a place, found again wherever it still holds.

Operations: put what was said at a place; find what is known at another place.
Goal: typing through a suggestion, backspacing and retyping, undo and redo, cycling and the state
after accepting are answered here, in well under a millisecond and without a request.
Plan: a suggestion is a *path*: its line from the start, then what was said. Paths hang on their
*root*: the lines around, which must be the same when it is found again. Whoever stands on a path,
behind its first characters, is told the rest. Standing on a path that began some lines above means
to look under that line's root, so a lookup tries a root per line, each a dictionary access.
Warning: what is kept is the model's raw text. Filters look at the text around, which changes; run them
on what is found.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from fim_lsp.suggest.lines import first_visible
from fim_lsp.suggest.place import Draft, Place
from fim_lsp.window import closes_only

# The nearest lines decide what comes next; llama.vim hashes 256 + 64 lines and misses after any edit there.
ROOT_LINES = 3

# How far above a path may begin: the lines of a long suggestion.
PATH_LINES = 24

# Whoever deletes more than this of what he typed wants something else.
BACKSPACES = 24

# Enough for an hour of work in one file, in under a megabyte.
MAX_PATHS = 1000
MAX_CHARS = 500_000

Root = tuple[str, ...]


class Path(NamedTuple):
    """A line's text up to a cursor, at *start*, and what was said there."""

    text: str
    start: int
    whole: bool
    sure: float


class Known:
    """The paths of one document, the longest unused given up first."""

    def __init__(self) -> None:
        self._paths: OrderedDict[Root, list[Path]] = OrderedDict()
        self._n_paths = 0
        self._n_chars = 0

    def __repr__(self) -> str:
        return f"<Known paths={self._n_paths} chars={self._n_chars}>"

    def put(self, place: Place, said: Draft, key: str) -> None:
        """
        Keep what was *said* at *place*, also when that was nothing.

        *key* names who said it and in view of what: the model, and whatever of the prompt is not
        around the cursor. What is put first is found first among equals.
        """
        root = _root(place, 0, key)
        path = Path(place.before + said.text, len(place.before), said.whole, said.sure)
        paths = self._paths.setdefault(root, [])
        self._paths.move_to_end(root)
        for idx, other in enumerate(paths):
            if path.text.startswith(other.text) and path.start == other.start:
                self._n_chars += len(path.text) - len(other.text)
                paths[idx] = path
                break
        else:
            paths.append(path)
            self._n_paths += 1
            self._n_chars += len(path.text)
        self._forget()

    def find(self, place: Place, key: str) -> list[Draft]:
        """
        What is known to follow at *place*, best first; nothing twice.

        Empty when nothing is known. A single empty draft: it is known that nothing follows.
        """
        drafts: dict[str, Draft] = {}
        for path, n_typed in self._standing_on(place, key):
            text = path.text[n_typed:]
            drafts.setdefault(text, Draft(text, path.whole, path.sure))
        if len(drafts) > 1:
            drafts.pop("", None)
        return [*drafts.values()]

    def _standing_on(self, place: Place, key: str) -> Iterator[tuple[Path, int]]:
        """The paths that the cursor stands on and how far along; the nearest root first."""
        typed = place.before
        for n_lines in range(min(len(place.above), PATH_LINES) + 1):
            root = _root(place, n_lines, key)
            if root in self._paths:
                self._paths.move_to_end(root)
                paths = sorted(self._paths[root], key=lambda path: -path.start)  # the best informed
                yield from ((path, len(typed)) for path in paths if _leads_on(path, typed))
            if n_lines < len(place.above):
                typed = f"{place.above[-1 - n_lines]}\n{typed}"

    def _forget(self) -> None:
        while self._n_paths > MAX_PATHS or self._n_chars > MAX_CHARS:
            _, paths = self._paths.popitem(last=False)
            self._n_paths -= len(paths)
            self._n_chars -= sum(len(path.text) for path in paths)


def _root(place: Place, n_lines: int, key: str) -> Root:
    """What must stand around a path that begins *n_lines* above the cursor's line."""
    until = len(place.above) - n_lines
    after = "" if closes_only(place.after) else place.after  # editors insert and remove closers
    return (
        key,
        after,
        first_visible(place.below),
        *place.above[max(0, until - ROOT_LINES) : until],
    )


def _leads_on(path: Path, typed: str) -> bool:
    """Whether *path* says something behind *typed*, or says there that nothing comes."""
    if len(typed) < path.start - BACKSPACES or not path.text.startswith(typed):
        return False
    if len(typed) == len(path.text):
        return path.start == len(path.text)
    return len(typed) >= path.start or bool(typed.strip())
