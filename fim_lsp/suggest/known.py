"""
The text that a model said at a place (`Said`), and the known continuations of one document: these
texts, found again wherever they still hold.

Operations: put what was said at a place; find what is known at another place. Goal: typing through
a suggestion, backspacing and retyping, undo and redo, cycling and the state after accepting are
answered here, in well under a millisecond and without a request. Plan: a suggestion is a *path*:
its line from the start, then what was said. Paths hang on their *root*: the lines around, which
must be the same when it is found again. If the text before the cursor is a prefix of a path, the
remainder is returned. A path may have begun some lines above, so a lookup tries a root per line,
each a dictionary access. Warning: the kept text is the model's raw one. Filters look at the text
around, which changes; run them on what is found. The text on screen, and the text that is still
being decoded, were said as well: one rule says what is left of a text elsewhere (`Said.find_rest`).

The texts known at a cursor are one value (`Known`), with the one on screen (`Displayed`); it
says whether a request that waits is answered with it. Pure.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from fim_lsp.documents import closes_only
from fim_lsp.suggest.boundary import enough
from fim_lsp.suggest.confidence import behind
from fim_lsp.suggest.cursor import Candidate, Cursor, Odds
from fim_lsp.suggest.filters.spelling import too_short
from fim_lsp.suggest.lines import first_visible
from fim_lsp.suggest.request import CompletionRequest

# The nearest lines decide what comes next; llama.vim hashes 256 + 64 lines and misses after any
# edit there.
ROOT_LINES = 3

# How far above a path may begin: the lines of a long suggestion.
PATH_LINES = 24

# A user who deletes more than this of the typed text wants something else.
BACKSPACES = 24

# Enough for an hour of work in one file, in under a megabyte.
MAX_PATHS = 1000
MAX_CHARS = 500_000

Root = tuple[str, ...]


class Said(NamedTuple):
    """
    *text* is what stood before a cursor, its first *start* characters, and what was said there,
    with the *odds* of that (ends count from the cursor). *whole*: no more comes.
    """

    text: str
    start: int
    whole: bool = False
    odds: tuple[Odds, ...] = ()

    def find_rest(self, typed: str) -> Candidate | None:
        """
        Return what is left of it behind *typed*, which may be less than stood before the cursor;
        None where it says something else.
        """
        if not self.text.startswith(typed):
            return None
        odds = behind(self.odds, len(typed) - self.start)
        return Candidate(self.text[len(typed) :], self.whole, odds)

    def is_typed(self, typed: str, cursor: Cursor) -> bool:
        """Return whether all of it was typed since, up to *cursor*, and more may follow there."""
        rest = self.text[len(typed) :]
        return len(typed) > self.start and not rest.strip() and not enough(rest or "\n", cursor)


class Continuations:
    """The paths of one document, the longest unused given up first."""

    def __init__(self) -> None:
        self._paths: OrderedDict[Root, list[Said]] = OrderedDict()
        self._n_paths = 0
        self._n_chars = 0

    def put(self, cursor: Cursor, candidate: Candidate, key: str, sample: int = 0) -> None:
        """
        Keep the *candidate* for *cursor*, also an empty one.

        *key* names the model that said it, and what of the prompt is not around the cursor. A text
        that is put first is found first among equals. A text that goes on as a kept one does takes
        its place; but another *sample* never does: `return x` is the answer, `return x + 1` a
        choice.
        """
        root = next(_roots(cursor, key))
        text = cursor.before + candidate.text
        path = Said(text, len(cursor.before), candidate.whole, candidate.odds)
        paths = self._paths.setdefault(root, [])
        self._paths.move_to_end(root)
        for idx, other in enumerate(paths):
            is_same = path.text == other.text if sample else path.text.startswith(other.text)
            if is_same and path.start == other.start:
                self._n_chars += len(path.text) - len(other.text)
                paths[idx] = path
                break
        else:
            paths.append(path)
            self._n_paths += 1
            self._n_chars += len(path.text)
        self._forget()

    def find(self, cursor: Cursor, key: str) -> list[Candidate]:
        """
        Return the known continuations at *cursor*, best first, each once.

        Empty when nothing is known, also where all that was said is typed and more may follow. A
        single empty candidate: it is known that nothing follows.
        """
        candidates: dict[str, Candidate] = {}
        for path, typed in self._standing_on(cursor, key):
            left = path.find_rest(typed)
            if left is not None and not path.is_typed(typed, cursor):
                candidates.setdefault(left.text, left)
        if len(candidates) > 1:
            candidates.pop("", None)
        return [*candidates.values()]

    def _standing_on(self, cursor: Cursor, key: str) -> Iterator[tuple[Said, str]]:
        """Yield the paths that the cursor stands on, and what is typed; the nearest root first."""
        typed = cursor.before
        for n_lines, root in enumerate(_roots(cursor, key)):
            if root in self._paths:
                self._paths.move_to_end(root)
                paths = sorted(self._paths[root], key=lambda path: -path.start)  # the best informed
                yield from ((path, typed) for path in paths if _leads_on(path, typed))
            if n_lines < len(cursor.above):
                typed = f"{cursor.above[-1 - n_lines]}\n{typed}"

    def _forget(self) -> None:
        while self._n_paths > MAX_PATHS or self._n_chars > MAX_CHARS:
            _, paths = self._paths.popitem(last=False)
            self._n_paths -= len(paths)
            self._n_chars -= sum(len(path.text) for path in paths)


def _roots(cursor: Cursor, key: str) -> Iterator[Root]:
    """
    Yield the lines that must stand around a path that begins on the cursor's line, or so many lines
    above it, the nearest first.
    """
    after = "" if closes_only(cursor.after) else cursor.after  # editors insert and remove closers
    around = (key, after, first_visible(cursor.below))
    n = len(cursor.above)
    for until in range(n, max(0, n - PATH_LINES) - 1, -1):
        yield (*around, *cursor.above[max(0, until - ROOT_LINES) : until])


def _leads_on(path: Said, typed: str) -> bool:
    """Return whether *path* says something behind *typed*, or says there that nothing comes."""
    if len(typed) < path.start - BACKSPACES or not path.text.startswith(typed):
        return False
    if len(typed) == len(path.text):
        return path.whole or path.start == len(path.text)
    return len(typed) >= path.start or bool(typed.strip())


class Known(NamedTuple):
    """
    The *candidates* at a cursor, best first; none where the model is to be asked, an empty one
    where it is known that nothing comes. *is_on_screen*: they are filtered already.

    *is_over*: no more comes of what is decoded. *is_settled*: no more of it can be shown.
    *has_line*: a whole line can be shown. *was_shown*: a line was shown, so the text of now is
    shown at once.
    """

    candidates: tuple[Candidate, ...] = ()
    is_on_screen: bool = False
    is_over: bool = True
    is_settled: bool = True
    has_line: bool = False
    was_shown: bool = False


class Displayed(NamedTuple):
    """
    A filtered candidate and where it was first shown; *model* said it. *lasts*: it stays while it
    is typed along; a text that may only be a beginning does not stay.
    """

    cursor: Cursor
    candidate: Candidate
    model: str
    lasts: bool = True

    def at(self, request: CompletionRequest, model: str) -> Known | None:
        """
        Return what is left of it for *request*, while the user types along, or takes that back: it
        stays as it is, and no filter runs again. None where it does not tell: elsewhere, where all
        is typed, and where all is asked for.
        """
        if not self.lasts or request.invoked or request.selected is not None:
            return None
        left = self.find_rest(request.cursor, model)
        if left is None or (not left.text and request.cursor.before != self.cursor.before):
            return None
        shown = too_short(replace(self.candidate, text=left.text, cuts=()), request.cursor)
        return Known((shown,), is_on_screen=True, has_line=True)

    def shows(self, request: CompletionRequest, filtered: Candidate, model: str) -> bool:
        """Return whether it is all of a text that *model* said at *request*, *filtered*."""
        left = self.find_rest(request.cursor, model)
        return left is not None and left.text == filtered.text

    def find_rest(self, cursor: Cursor, model: str) -> Candidate | None:
        """Return what is left of it at *cursor*; None where it does not stand there."""
        first = self.cursor
        around = (first.after, first.above, first.below, first.language, self.model)
        is_here = around == (cursor.after, cursor.above, cursor.below, cursor.language, model)
        if not is_here or not cursor.before.startswith(first.before):
            return None
        rest = Said(first.before + self.candidate.text, len(first.before), self.candidate.whole)
        return rest.find_rest(cursor.before)


class Wait(NamedTuple):
    """
    The deadlines of a request: *debounce_s* for the next key, until *early* for all of the text
    that may be shown, then for its first line, and never past *until*; times of the event loop.
    *grows*: where a line was shown already, what there is by now is shown at once. *lasts*: past
    the deadline, keep waiting for a first line while the backend is computing. *on_lines* gets the
    text so far, line by line.
    """

    debounce_s: float
    early: float
    until: float
    grows: bool
    lasts: bool = False
    on_lines: Callable[[Candidate], None] | None = None


def is_answered(known: Known, wait: Wait, now: float) -> bool:
    """
    Return whether a request that waits for a generation gets its answer now.

    what there is                            before early   until   after until
    ---------------------------------------  ------------  -------  ------------
    all of it, or the stream rests              answer      answer   answer
    no more that can be shown (unsure)          answer      answer   answer
    a whole line, and one was shown before      answer      answer   answer
    a whole line                                 wait       answer   answer
    less than a line                             wait        wait    answer, or wait on if it `lasts`
    """
    if known.is_over or known.is_settled:
        return True
    if known.has_line and ((known.was_shown and wait.grows) or now >= wait.early):
        return True
    return now >= wait.until and not wait.lasts
