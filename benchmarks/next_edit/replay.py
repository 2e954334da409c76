"""
A commit made hunk by hunk; after each one an engine is asked for the next edit.

An ask knows the hunks made so far and the texts as they are: the files changed in this commit first, the last one at
the front, then all other code files. The former count as open, the others as files of the workspace that are not. What
is left to do is the truth: whole hunks, and their parts, single lines that became others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from benchmarks.git import Lines
from benchmarks.next_edit.commits import Commit, Hunk
from fim_lsp.context.grammars import language_of
from fim_lsp.context.index import Index, IndexEntry, Words, holding, index_words
from fim_lsp.next_edit.edits import EditedText, FinishedEdit, changes
from fim_lsp.next_edit.engine import needles
from fim_lsp.next_edit.rule import token_changes
from fim_lsp.workspace.explorer import HOLDING

_parts = lru_cache(maxsize=8192)(changes)
Place = tuple[str, int, Lines]  # path, line now, lines before


class Ask(NamedTuple):
    """
    What an engine is told, and *todo*: what the lines at each place that is left become. *recurs* says
    whether two hunks of the commit have a change in common; the first *n_open* of the texts are open.
    """

    commit: str
    recurs: bool
    edits: Sequence[FinishedEdit]
    texts: Sequence[EditedText]
    todo: dict[Place, Lines]
    n_open: int
    word_index: Index

    @property
    def unopened(self) -> list[EditedText]:
        """The files that are not open which the server would look at, as it finds them."""
        texts = {text.uri: text for text in self.texts[self.n_open :]}
        paths = holding(self.word_index, needles(self.edits), self.edits[-1].uri)
        return [*islice((texts[path] for path in paths if path in texts), HOLDING)]

    def is_right(self, path: str, line: int, before: Lines, after: Lines) -> bool:
        """Return whether this change is exactly one of those that are left."""
        return self.todo.get((path, line, before)) == after


def asks(commit: Commit, files: dict[str, Lines]) -> Iterator[Ask]:
    """Yield one per hunk, after it was made."""
    texts = {path: EditedText(path, language_of(path), lines) for path, lines in files.items()}
    hunks = [hunk for hunk in commit.hunks if hunk.path in files]
    edits: list[FinishedEdit] = []
    opened: list[str] = []  # the last one first
    is_recurring = _recurs(commit)
    word_index = Index(dict(map(_entry, files.items())))
    for n, hunk in enumerate(hunks):
        lines = texts[hunk.path].lines
        start = _line(hunk, hunks[:n])
        end = start + len(hunk.before)
        assert lines[start:end] == hunk.before
        made = lines[:start] + hunk.after + lines[end:]
        texts[hunk.path] = EditedText(hunk.path, language_of(hunk.path), made)
        edits = [_carried(edit, hunk, start) for edit in edits]
        around = lines[start - 1] if start else "", lines[end] if end < len(lines) else ""
        edits.append(FinishedEdit(hunk.path, start, hunk.before, hunk.after, *around, float(n)))
        opened = [hunk.path, *(path for path in opened if path != hunk.path)]
        paths = dict.fromkeys([*opened, *texts])
        todo = _todo(hunks[n + 1 :], hunks[: n + 1])
        told = tuple(edits), [texts[path] for path in paths], todo
        yield Ask(commit.id, is_recurring, *told, len(opened), word_index)


_words: dict[int, tuple[Lines, Words[int]]] = {}  # by the identity of a file's lines


def _entry(file: tuple[str, Lines]) -> tuple[str, IndexEntry]:
    path, lines = file
    if id(lines) not in _words:
        _words[id(lines)] = lines, index_words("\n".join(lines))
    return path, IndexEntry((0, 0), _words[id(lines)][1])


def _recurs(commit: Commit) -> bool:
    """Return whether the same tokens became the same, or the same block, in two hunks."""
    seen: set[object] = set()
    for hunk in commit.hunks:
        made = {change for part in _parts(hunk.before, hunk.after) for change in _made(*part[1:])}
        if made & seen:
            return True
        seen |= made
    return False


def _made(before: Lines, after: Lines) -> Iterator[object]:
    if len(before) == len(after) == 1:
        yield from ((change.old, change.new) for change in token_changes(before[0], after[0]))
    else:
        yield tuple(map(str.strip, before)), tuple(map(str.strip, after))


def _todo(left: Sequence[Hunk], made: Sequence[Hunk]) -> dict[Place, Lines]:
    changes = {}
    for hunk in left:
        start = _line(hunk, made)
        for part in _parts(hunk.before, hunk.after):
            changes[hunk.path, start + part.offset, part.before] = part.after
        changes[hunk.path, start, hunk.before] = hunk.after
    return changes


def _line(hunk: Hunk, made: Sequence[Hunk]) -> int:
    """Return where a hunk begins, now that others were made."""
    above = [other for other in made if other.path == hunk.path and other.start < hunk.start]
    return hunk.start + sum(len(other.after) - len(other.before) for other in above)


def _carried(edit: FinishedEdit, hunk: Hunk, start: int) -> FinishedEdit:
    if edit.uri != hunk.path or edit.line < start:
        return edit
    return edit._replace(line=edit.line + len(hunk.after) - len(hunk.before))
