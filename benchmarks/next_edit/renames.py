"""
Renames in git histories: after the definition alone was changed, which of its uses are offered.

In each changed file, a name that became another at two places or more in lines that are otherwise
compared token by token. Each of these places is changed alone, as a user would by hand; where it
is a definition, the truth is what the commit changed, up to the next definition of that name:

Looked at are definitions of whose line nothing but that name changed; others were seldom renamed, but
became something else. A definition inside a function has its truth in that function alone, and none is in comments.

- right: the commit has the new name there
- wrong: the commit leaves the old name there
- gone: the commit rewrote or removed it, which counts neither way
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import Lines
from benchmarks.markdown import table
from benchmarks.next_edit.commits import Commit, History, Hunk
from fim_lsp.context.definitions import Syntax, read_syntax
from fim_lsp.context.grammars import language_of
from fim_lsp.next_edit.edits import EditedText, FinishedEdit, changes
from fim_lsp.next_edit.renames import find_here, find_renames
from fim_lsp.next_edit.rule import is_word, token_changes, tokens
from fim_lsp.suggest.lines import is_comment, mark

HEAD = (
    "language", "definitions", "places", "offered", "wrong", "in comments: offered", "wrong",
    "no definition",
)  # fmt: skip
MOST_LINES = 3_000  # of a file: each place is parsed
MOST_PLACES = 40  # of one name; more is a formatter's, or generated


class NamePlace(NamedTuple):
    """A name in the text before a commit."""

    row: int
    column: int


class Changed(NamedTuple):
    """What a commit did to a file: *places* of names that became others; rows *rewritten*."""

    places: dict[tuple[str, str], list[NamePlace]]
    touched: dict[int, set[int]]  # of a row, the columns of the tokens that changed
    rewritten: set[int]
    mixed: set[int]  # rows in which more than one name changed


def score_renames(path: Path, n_commits: int) -> dict[str, Counter[str]]:
    """Return the counts of a history by language."""
    totals: dict[str, Counter[str]] = {}
    history = History(path, n_commits)
    for commit in history.commits:
        files = history.files(commit)
        for name in dict.fromkeys(hunk.path for hunk in commit.hunks):
            if name in files and len(files[name]) <= MOST_LINES:
                n = totals.setdefault(language_of(name), Counter())
                _score(commit, name, files[name], n)
    return totals


def list_renames(histories: Iterable[dict[str, Counter[str]]]) -> str:
    """Return the rows of the languages, and one of all."""
    totals: dict[str, Counter[str]] = {}
    for history in histories:
        for language, counts in history.items():
            totals.setdefault(language, Counter()).update(counts)
            totals.setdefault("~all", Counter()).update(counts)
    return table(HEAD, (_row(*each) for each in sorted(totals.items())))


def _row(language: str, n: Counter[str]) -> tuple[object, ...]:
    offered = n["right"] / max(1, n["places"])
    wrong = n["wrong"] / max(1, n["right"] + n["wrong"])
    mentions = n["mention right"] + n["mention wrong"]
    return (
        language, n["definitions"], n["places"], f"{offered:.2f}", f"{wrong:.3f}",
        mentions, f"{n['mention wrong'] / max(1, mentions):.2f}", n["none"],
    )  # fmt: skip


def _score(commit: Commit, name: str, lines: Lines, n: Counter[str]) -> None:
    changed = _changed([hunk for hunk in commit.hunks if hunk.path == name])
    for (old, new), places in changed.places.items():
        if not 2 <= len(places) <= MOST_PLACES:
            continue
        tried = [(place, _offered(name, lines, old, new, place)) for place in places]
        defined = [(place, uses) for place, uses in tried if uses is not None]
        n["none"] += not defined
        for idx, (place, uses) in enumerate(defined):
            end = defined[idx + 1][0] if idx + 1 < len(defined) else NamePlace(len(lines), 0)
            start = place if idx else NamePlace(0, 0)
            first, last = _function(name, lines, place, old)
            others = {
                p for p in places if p != place and start <= p < end and first <= p.row < last
            }
            others = {p for p in others if not _is_prose(lines[p.row], p.column, language_of(name))}
            if not others or place.row in changed.mixed:
                continue
            n["definitions"] += 1
            n["places"] += len(others)
            code = {p for p, is_code in uses.items() if is_code}
            n["right"] += len(code & others)
            for p in uses:
                kept = p.row not in changed.rewritten and p.column not in changed.touched.get(
                    p.row, ()
                )
                kind = "" if uses[p] else "mention "
                n[f"{kind}wrong"] += kept
                n[f"{kind}right"] += (not uses[p]) and p in places


def _offered(
    name: str, lines: Lines, old: str, new: str, place: NamePlace
) -> dict[NamePlace, bool] | None:
    """Return the places that are offered once *place* alone has the new name; None if it is no definition."""
    before = lines[place.row]
    after = before[: place.column] + new + before[place.column + len(old) :]
    text = (*lines[: place.row], after, *lines[place.row + 1 :])
    edit = FinishedEdit(name, place.row, (before,), (after,))
    found = find_renames([edit], [EditedText(name, language_of(name), text)], find_here)
    mine = [r for change, r in found.definitions if change.renaming[1:3] == (old, new)]
    if not mine:
        return None
    shift = len(new) - len(old)
    uses = {}
    for use in mine[0].uses:
        moved = shift if use.row == place.row and use.column > place.column else 0
        uses[NamePlace(use.row, use.column - moved)] = use.is_code
    return uses


@lru_cache(maxsize=64)
def _syntax(name: str, lines: Lines) -> Syntax:
    return read_syntax(language_of(name), "\n".join(lines))


def _function(name: str, lines: Lines, place: NamePlace, old: str) -> tuple[int, int]:
    """Return the rows of the function around a place, those of the text where there is none."""
    definitions = _syntax(name, lines).definitions
    own_ends = {definition.end for definition in definitions if definition.name == old}
    classes = {definition.owner for definition in definitions}
    around = [
        definition
        for definition in definitions
        if definition.start <= place.row < definition.end
        and definition.end - definition.start > 1  # a field
        and definition.end not in own_ends
        and definition.name not in classes
    ]
    inner = max(around, key=lambda definition: definition.start, default=None)
    return (inner.start, inner.end) if inner else (0, len(lines))


def _is_prose(line: str, column: int, language: str) -> bool:
    """Return whether a place is in a comment or a string, as far as its line shows."""
    sign = mark(language)
    quoted = line[:column].count('"') % 2 == 1 and "{" not in line[:column]
    return is_comment(line, language) or quoted or (bool(sign) and f" {sign} " in line[:column])


def _changed(hunks: Sequence[Hunk]) -> Changed:
    found = Changed(defaultdict(list), defaultdict(set), set(), set())
    for hunk in hunks:
        for part in changes(hunk.before, hunk.after):
            row = hunk.start + part.offset
            if len(part.before) == len(part.after) == 1:
                names = [*_names(part.before[0], part.after[0])]
                if len({name[:2] for name in names}) > 1:
                    found.mixed.add(row)
                for old, new, column, length in names:
                    found.touched[row].update(range(column, column + length))
                    if old.isidentifier() and new.isidentifier():
                        found.places[old, new].append(NamePlace(row, column))
            else:
                found.rewritten.update(range(row, row + len(part.before)))
    return found


def _names(before: str, after: str) -> Iterator[tuple[str, str, int, int]]:
    """Yield what changed in a line: a name with the new one, or a text with "", and where it stood."""
    words, start = tokens(before), len(before) - len(before.lstrip())
    columns = [start]
    for word in words:
        columns.append(columns[-1] + len(word))
    for change in token_changes(before, after):
        alike = [*map(is_word, change.old)] == [*map(is_word, change.new)]
        for idx in range(change.start, change.end):
            new = change.new[idx - change.start] if alike else ""
            if words[idx] != new:
                yield words[idx], new, columns[idx], len(words[idx])
