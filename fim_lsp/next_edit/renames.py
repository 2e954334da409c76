"""
Definitions whose names were changed by the last edits, and the lines that still have the old name.
Pure.

One changed definition is enough: that a use has none any more is the strongest evidence there is.
A definition of the same name in another scope is no use of it, so one such change says nothing of
the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from fim_lsp.context.uses import Renamed, Renaming, count_heads, find_uses
from fim_lsp.documents import LINE_CHARS
from fim_lsp.next_edit.edits import FRESH, HISTORY, EditedText, Example, FinishedEdit, examples
from fim_lsp.next_edit.rule import TOKENS

_NAME = re.compile(r"[^\W\d]\w*")
_HYPHENED = re.compile(r"-{0,2}[^\W\d][\w-]*")  # in CSS and HTML
_ALIAS = re.compile(r"(?P<old>(?<![.\w])\w+)(?P<made> as (?P<new>\w+))")

FindUses = Callable[[EditedText, Sequence[Renaming]], Sequence[Renamed | None]]


class NameChange(NamedTuple):
    """A name that became another at a line of a text, as one of the last changes."""

    uri: str
    renaming: Renaming
    example: Example


class RenamedLine(NamedTuple):
    """A line with uses of what *change* renamed, and it with the new name."""

    uri: str
    line: int
    before: str
    after: str
    is_code: bool
    change: NameChange


class Renames(NamedTuple):
    """The *lines* to change, nearest first, and the definitions that were renamed."""

    lines: tuple[RenamedLine, ...] = ()
    definitions: tuple[tuple[NameChange, Renamed], ...] = ()

    def is_of_another(self, uri: str, before: Sequence[str], after: Sequence[str]) -> bool:
        """
        Return whether lines are to be renamed as the only definition was, whose uses they are not.
        """
        for change, renamed in self.definitions:
            _, old, new, _ = change.renaming
            n_alike = sum(c.renaming[1:3] == (old, new) for c, _ in self.definitions)
            is_meant = n_alike == 1 and (renamed.is_local or uri == change.uri)
            if is_meant and [_rename(old, new, line) for line in before] == [*after]:
                return True
        return False


def _rename(old: str, new: str, line: str) -> str:
    return _NAME.sub(lambda name: new if name[0] == old else name[0], line)


NO_RENAMES = Renames()


def find_here(text: EditedText, renamings: Sequence[Renaming]) -> Sequence[Renamed | None]:
    """Find uses in this process, which a hostile text can hold up."""
    return find_uses(text.language, "\n".join(text.lines), renamings)


def find_renames(
    edits: Sequence[FinishedEdit], texts: Sequence[EditedText], find: FindUses
) -> Renames:
    """Return what is left to do of the definitions renamed by *edits*; *find* reads the scopes."""
    by_uri = {text.uri: text for text in texts}
    all_changes = [*_name_changes(edits, by_uri)]
    newest = {(c.uri, c.renaming): c for c in all_changes if _is_there(c, by_uri)}
    definitions = list[tuple[NameChange, Renamed]]()
    for uri in dict.fromkeys(change.uri for change in newest.values()):
        mine = [change for change in newest.values() if change.uri == uri]
        uses = find(by_uri[uri], [change.renaming for change in mine])
        definitions += [(c, r) for c, r in zip(mine, uses, strict=True) if r is not None]
    definitions = [*_without_others(definitions, all_changes)]
    places = [(change.uri, change, renamed) for change, renamed in definitions]
    for change, renamed in definitions:
        places += _keys(change, renamed, texts, find)
    last = examples(edits, 1)
    lines = sorted(_lines(places, by_uri), key=lambda line: _distance(line, *last))
    return Renames(tuple(lines), tuple(definitions))


def _name_changes(
    edits: Sequence[FinishedEdit], texts: Mapping[str, EditedText]
) -> Iterator[NameChange]:
    """Yield the names that became others, newest first, as long as they are fresh."""
    seen, n_others = set[tuple[str, str]](), 0
    later: dict[tuple[str, int, str], str] = {}  # what names of a line became afterwards
    for example in examples(edits, HISTORY):
        language = texts[example.uri].language if example.uri in texts else ""
        names = _HYPHENED if language in ("css", "html") else _NAME
        renamings = [*_renamings(example, names)]
        changed = {renaming[1:3] for renaming in renamings}
        n_others += not changed & seen
        if n_others > FRESH:
            return
        seen |= changed
        for row, old, new, _ in renamings:
            now = later.setdefault((example.uri, row, old), later.get((example.uri, row, new), new))
            yield NameChange(example.uri, Renaming(row, old, now), example)


def _renamings(example: Example, name: re.Pattern[str]) -> Iterator[Renaming]:
    """
    Yield each name of an example that became another, or got an alias, and where it is now; none
    where anything but names changed: then the name may be that of another thing.
    """
    before, after = "\n".join(example.before), "\n".join(example.after)
    for alias in _ALIAS.finditer(after):
        if after[: alias.end("old")] + after[alias.end() :] == before:
            row = example.line + after.count("\n", 0, alias.start())
            yield Renaming(row, alias["old"], alias["new"])
    if name.split(before) != name.split(after):
        return
    pairs = [*islice(zip(name.finditer(before), name.finditer(after), strict=True), TOKENS)]
    names = [(old[0], new[0]) for old, new in pairs if old[0] != new[0]]
    if {old for old, _ in names} & {new for _, new in names}:
        return  # two were swapped
    kept = set[tuple[int, str]]()  # the first place of a name on its row is the definition, if any
    for old, new in pairs:
        row = example.line + after.count("\n", 0, new.start())
        if old[0] == new[0]:
            kept.add((row, new[0]))
        elif (row, new[0]) not in kept:
            yield Renaming(row, old[0], new[0])


def _without_others(
    definitions: Sequence[tuple[NameChange, Renamed]], changes: Sequence[NameChange]
) -> Iterator[tuple[NameChange, Renamed]]:
    """
    Yield the definitions on lines where nothing but definitions was renamed, and no local that
    became `_local`, which says that it is unused.
    """
    names = {change.renaming[1:3] for change, _ in definitions}
    mixed = {change.example for change in changes if change.renaming[1:3] not in names}
    for change, renamed in definitions:
        _, old, new, _ = change.renaming
        if change.example not in mixed and not (renamed.is_local and new == f"_{old}"):
            yield change, renamed


def _is_there(change: NameChange, texts: dict[str, EditedText]) -> bool:
    row, _, new, _ = change.renaming
    lines = texts[change.uri].lines if change.uri in texts else ()
    return row < len(lines) and len(lines[row]) <= LINE_CHARS and new in lines[row]


def _keys(
    change: NameChange, renamed: Renamed, texts: Sequence[EditedText], find: FindUses
) -> list[tuple[str, NameChange, Renamed]]:
    """
    Return the calls elsewhere that name a renamed parameter, if no other text has such a function.
    """
    if not renamed.function:
        return []
    others = [t for t in texts if t.uri != change.uri and [*islice(t.holding(renamed.function), 1)]]
    if any(count_heads(text.lines, renamed.function) for text in others):
        return []
    parameter = change.renaming._replace(row=-1, function=renamed.function)
    in_calls = ((text.uri, change, find(text, [parameter])[0]) for text in others)
    return [(uri, change, keys) for uri, change, keys in in_calls if keys is not None]


def _lines(
    places: Sequence[tuple[str, NameChange, Renamed]], texts: dict[str, EditedText]
) -> Iterator[RenamedLine]:
    """Yield each line once, with all that is to change in it."""
    by_line: dict[tuple[str, int], dict[int, tuple[str, str, bool, NameChange]]] = {}
    for uri, change, renamed in places:
        for row, column, text, is_code in renamed.uses:
            here = by_line.setdefault((uri, row), {})
            here.setdefault(column, (change.renaming.old, text, is_code, change))
    for (uri, row), uses in by_line.items():
        line = before = texts[uri].lines[row]
        for column, (old, text, _, _) in sorted(uses.items(), reverse=True):
            line = line[:column] + text + line[column + len(old) :]
        is_code = any(use[2] for use in uses.values())
        if len(before) <= LINE_CHARS:
            yield RenamedLine(uri, row, before, line, is_code, next(iter(uses.values()))[3])


def _distance(line: RenamedLine, last: Example) -> tuple[bool, bool, int, bool]:
    """Return how far away a line is; comments and strings come last."""
    away = line.line - last.line
    return not line.is_code, line.uri != last.uri, abs(away), away < 0
