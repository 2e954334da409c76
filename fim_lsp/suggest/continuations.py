"""
Known continuations of one document: what a model said at a place, found again wherever it still
holds.

Operations: put what was said at a place; find what is known at another place. Goal: typing through
a suggestion, backspacing and retyping, undo and redo, cycling and the state after accepting are
answered here, in well under a millisecond and without a request. Plan: a suggestion is a *path*:
its line from the start, then what was said. Paths hang on their *root*: the lines around, which
must be the same when it is found again. If the text before the cursor is a prefix of a path, the
remainder is returned. A path may have begun some lines above, so a lookup tries a root per line,
each a dictionary access. Warning: what is kept is the model's raw text. Filters look at the text
around, which changes; run them on what is found.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

from fim_lsp.documents import LINE_CHARS
from fim_lsp.prompt.window import closes_only
from fim_lsp.suggest.boundary import may_follow
from fim_lsp.suggest.confidence import behind, confidence, odds, prefer
from fim_lsp.suggest.cursor import ABOVE_LINES, BELOW_LINES, Candidate, Cursor, Odds, first_visible
from fim_lsp.suggest.filters.order import polish
from fim_lsp.suggest.filters.spelling import too_short
from server_bridge.protocol import Token

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


class Path(NamedTuple):
    """A line's text up to a cursor, at *start*, and what was said there, with the odds of that."""

    text: str
    start: int
    whole: bool
    odds: tuple[Odds, ...]  # ends count from the cursor


class Continuations:
    """The paths of one document, the longest unused given up first."""

    def __init__(self) -> None:
        self._paths: OrderedDict[Root, list[Path]] = OrderedDict()
        self._n_paths = 0
        self._n_chars = 0

    def __repr__(self) -> str:
        return f"<Continuations paths={self._n_paths} chars={self._n_chars}>"

    def put(self, cursor: Cursor, candidate: Candidate, key: str) -> None:
        """
        Keep the *candidate* for *cursor*, also an empty one.

        *key* names the model that said it, and what of the prompt is not around the cursor. What is
        put first is found first among equals.
        """
        root, text = _root(cursor, 0, key), cursor.before + candidate.text
        path = Path(text, len(cursor.before), candidate.whole, candidate.odds)
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

    def find(self, cursor: Cursor, key: str) -> list[Candidate]:
        """
        Return the known continuations at *cursor*, best first, each once.

        Empty when nothing is known, also where all that was said is typed and more may follow. A
        single empty candidate: it is known that nothing follows.
        """
        candidates: dict[str, Candidate] = {}
        for path, n_typed in self._standing_on(cursor, key):
            text = path.text[n_typed:]
            if n_typed > path.start and may_follow(text, cursor):
                continue
            odds = behind(path.odds, n_typed - path.start)
            candidates.setdefault(text, Candidate(text, path.whole, odds))
        if len(candidates) > 1:
            candidates.pop("", None)
        return [*candidates.values()]

    def _standing_on(self, cursor: Cursor, key: str) -> Iterator[tuple[Path, int]]:
        """Yield the paths that the cursor stands on and how far along; the nearest root first."""
        typed = cursor.before
        for n_lines in range(min(len(cursor.above), PATH_LINES) + 1):
            root = _root(cursor, n_lines, key)
            if root in self._paths:
                self._paths.move_to_end(root)
                paths = sorted(self._paths[root], key=lambda path: -path.start)  # the best informed
                yield from ((path, len(typed)) for path in paths if _leads_on(path, typed))
            if n_lines < len(cursor.above):
                typed = f"{cursor.above[-1 - n_lines]}\n{typed}"

    def _forget(self) -> None:
        while self._n_paths > MAX_PATHS or self._n_chars > MAX_CHARS:
            _, paths = self._paths.popitem(last=False)
            self._n_paths -= len(paths)
            self._n_chars -= sum(len(path.text) for path in paths)


def _root(cursor: Cursor, n_lines: int, key: str) -> Root:
    """
    Return the lines that must stand around a path that begins *n_lines* above the cursor's line.
    """
    until = len(cursor.above) - n_lines
    after = "" if closes_only(cursor.after) else cursor.after  # editors insert and remove closers
    return (
        key,
        after,
        first_visible(cursor.below),
        *cursor.above[max(0, until - ROOT_LINES) : until],
    )


def _leads_on(path: Path, typed: str) -> bool:
    """Return whether *path* says something behind *typed*, or says there that nothing comes."""
    if len(typed) < path.start - BACKSPACES or not path.text.startswith(typed):
        return False
    if len(typed) == len(path.text):
        return path.whole or path.start == len(path.text)
    return len(typed) >= path.start or bool(typed.strip())


# -- typed through -------------------------------------------------------------------------------
# What is on screen, and what is left of it while the user types along it. Pure.
#
# While a suggestion's own characters are typed, or taken back again, it must stay as it is: no
# filter runs again, no model is asked, and the text on screen does not flicker.


class Displayed(NamedTuple):
    """A filtered candidate and where it was first shown; *model* said it."""

    cursor: Cursor
    candidate: Candidate
    model: str


def trim_typed(displayed: Displayed, cursor: Cursor, model: str) -> Candidate | None:
    """
    Return the candidate to show at *cursor*, an empty one for nothing; None where *displayed* does
    not tell.
    """
    first, text = displayed.cursor, displayed.candidate.text
    around = (first.after, first.above, first.below, first.language, displayed.model)
    if around != (cursor.after, cursor.above, cursor.below, cursor.language, model):
        return None
    typed = cursor.before[len(first.before) :]
    if not cursor.before.startswith(first.before) or not text.startswith(typed) or "\n" in typed:
        return None
    if typed and typed == text:
        return None  # what follows may be known, or asked for
    return too_short(replace(displayed.candidate, text=text[len(typed) :], cuts=()), cursor)


# -- line match --------------------------------------------------------------------------------
# A suggestion without a model: the line in sight that begins as the typed one does, if it is clear
# which.
#
# Measured on 340 places of held-out Python: such a line is exactly right at 9 % of them with the
# lines around the cursor in sight, at 14 % with all of the file, at 16 % with six other files of
# the package, and at 16 % with all of it; then 48 and 51 of 100 shown are right. Asking for a
# majority is worth that: without, 32 of 100 are.


# From four typed characters on it pays to guess: 59 of the 60 right answers, and less noise.
TYPED_CHARS = 4

# The share of the lines beginning alike that must go on alike. A third more are shown without it,
# two right answers more. With 0.6: 51 right of 100 shown, with all alike: 43 of 79.
SHARE = 0.5

SIGHT_LINES = 8000  # looked through for one that begins as the typed one does: half a millisecond


def continue_line(cursor: Cursor, elsewhere: Iterable[str]) -> Candidate:
    """
    Return what the lines around and *elsewhere* (nearest first) have after the typed text; empty if
    unclear.

    Not the line right above: the same line is hardly written twice in a row (`looping_lines`).
    Costs one look at each line: 0.2 ms for a full ring.
    """
    typed = cursor.before.strip()
    if len(typed) < TYPED_CHARS or not closes_only(cursor.after):
        return Candidate("")
    rests = Counter(
        visible[len(typed) :]
        for line in chain(cursor.above[-2::-1], cursor.below, elsewhere)
        if len(line) <= LINE_CHARS
        and typed in line
        and (visible := line.strip()).startswith(typed)
        and visible != typed
    )
    if not rests:
        return Candidate("")
    rest, n_lines = rests.most_common(1)[0]  # of equals the nearest, which was counted first
    return Candidate(rest if n_lines >= SHARE * rests.total() else "")


def lines_in_sight(
    own: Sequence[str], line: int, others: Iterable[Sequence[str]], chunks: Iterable[str]
) -> Iterator[str]:
    """
    Return lines that may be said again, the likeliest first, at most `SIGHT_LINES`.

    Of the file itself (*own*, the cursor on *line*) those beyond what stands around the cursor,
    then those of *others* that are open, then of the texts of *chunks*.
    """
    above = reversed(own[: max(0, line - ABOVE_LINES)])
    below = own[line + 1 + BELOW_LINES :]
    rest = chain(others, (chunk.splitlines() for chunk in chunks))
    return islice(chain(above, below, chain.from_iterable(rest)), SIGHT_LINES)


# -- choice --------------------------------------------------------------------------------------
# What is kept of a finished generation: the model's text, or a line in sight that is surer. Pure.


def choose(
    candidate: Candidate,
    tokens: Iterable[Token],
    forced: str,
    cursor: Cursor,
    elsewhere: Iterable[str] | None,
) -> Candidate:
    """
    Return the candidate to remember at *cursor*, where the model's is *candidate*.

    *tokens* spell *forced* and then the text. *elsewhere* are lines out of sight that may be said
    again, the likeliest first; None where lines may not be offered at all.
    """
    candidate = replace(candidate, odds=odds(tokens, forced, candidate.text))
    local = Candidate("") if elsewhere is None else continue_line(cursor, elsewhere)
    if not local.text:
        return candidate
    sure = confidence(candidate.odds, polish(candidate, cursor).text)
    return prefer(candidate, sure, local)
