"""
Definitions whose names were changed by the last edits, and the lines that still have the old name.
Pure.

One changed definition is enough: a use without a definition is the strongest evidence there is. A
definition of the same name in another scope is no use of it, so one such change says nothing of the
others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import islice
from typing import NamedTuple

from fim_lsp.context.grammars import grammar_of
from fim_lsp.context.scopes import TABLES
from fim_lsp.context.uses import Renamed, Renaming, count_heads
from fim_lsp.documents import LINE_CHARS
from fim_lsp.next_edit.edits import (
    FRESH,
    HISTORY,
    EditedText,
    Example,
    FinishedEdit,
    Lines,
    examples,
)
from fim_lsp.next_edit.rule import TOKEN, TOKENS

_NAME = re.compile(r"[^\W\d]\w*")
_HYPHENED = re.compile(r"-{0,2}[^\W\d][\w-]*")  # in the languages of web pages
_WITH_HYPHENS = ("css", "html", "less", "sass", "scss")
_ALIAS = re.compile(r"(?P<old>(?<![.\w])\w+)(?P<made> as (?P<new>\w+))")

FindUses = Callable[[EditedText, Sequence[Renaming]], Sequence[Renamed | None]]


class NameChange(NamedTuple):
    """
    A name that became another at a line of a text. It *is_fresh* as one of the last changes.
    """

    uri: str
    language: str
    renaming: Renaming
    example: Example
    is_fresh: bool


class RenamedLine(NamedTuple):
    """A line with uses of what *change* renamed, and it with the new name."""

    uri: str
    line: int
    before: str
    after: str
    is_code: bool
    change: NameChange


class Renames(NamedTuple):
    """
    The *lines* to change, nearest first, for *definitions* that were renamed; *known* are all of
    these, also those that are left alone.
    """

    lines: tuple[RenamedLine, ...] = ()
    definitions: tuple[tuple[NameChange, Renamed], ...] = ()
    known: tuple[tuple[NameChange, Renamed], ...] = ()

    def changes_another(
        self, text: EditedText, line: int, before: Lines, after: Lines, examples: Sequence[Example]
    ) -> bool:
        """
        Return whether the lines *before* of *text* get a new name where none of the definitions
        renamed so is used. The user may want others once two of their kind were renamed.

        The change that *examples* made to one name with hyphens is not made to a part of another.
        """
        if _is_within_name(text.language, before, after, examples):
            return True
        rows = zip(range(line, line + len(before)), before, after, strict=False)
        names = dict.fromkeys(change.renaming[1:3] for change, _ in self.known)
        return any(
            (places := self._list_places(text, old, new)) is not None
            and not all(
                any(at == row and start <= column < start + len(old) for at, start in places)
                for column in _find_changed(old, new, one, other)
            )
            for row, one, other in rows
            for old, new in names
        )

    def _list_places(self, text: EditedText, old: str, new: str) -> set[tuple[int, int]] | None:
        """Return the rows and columns where *old* may become *new* in a text; None for all."""
        renamed = [(c, r) for c, r in self.known if c.renaming[1:3] == (old, new)]
        here = [one for change, one in renamed if change.uri == text.uri]
        if not here:
            is_local = len(renamed) == 1 and renamed[0][1].is_local
            is_foreign = not any(_may_be_named(*one, text) for one in renamed)
            return set() if is_local or is_foreign else None
        n_of = Counter(one.kind for one in here)
        uses = {(use.row, use.column) for one in here for use in one.uses}
        return uses.union(*(one.alike for one in here if n_of[one.kind] > 1))


def _may_be_named(change: NameChange, renamed: Renamed, text: EditedText) -> bool:
    """Return whether a name can mean the same in another *text*: not in other languages' code."""
    ours = grammar_of(change.language)
    theirs = grammar_of(text.language)
    if theirs is None or not renamed.kind or not ours or theirs.module == "tree_sitter_html":
        return change.uri.partition("#")[0] != text.uri.partition("#")[0]  # no cell beside it
    return TABLES.get(theirs.module) == TABLES.get(ours.module)


def _find_changed(old: str, new: str, before: str, after: str) -> Iterator[int]:
    """Yield the columns of a line where the words of *old* were that became those of *new*."""
    gone = _differing_words(old, new)
    come = _differing_words(new, old)
    words = [*TOKEN.finditer(before)]
    was = [word[0] for word in words]
    now = TOKEN.findall(after)
    if not any(now.count(word) > was.count(word) for word in come) or len(was) > TOKENS:
        return
    for tag, start, end, *_ in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (word.start() for word in words[start:end] if word[0] in gone)


def _differing_words(name: str, other: str) -> set[str]:
    """Return the words of a name, which may have hyphens, that *other* has not; else all."""
    words = {*re.findall(r"\w+", name)}
    return words - {*re.findall(r"\w+", other)} or words


NO_RENAMES = Renames()


def find_renames(
    edits: Sequence[FinishedEdit], texts: Sequence[EditedText], find: FindUses
) -> Renames:
    """Return what is left to do of the definitions renamed by *edits*; *find* reads the scopes."""
    by_uri = {text.uri: text for text in texts}
    all_changes = [*_name_changes(edits, by_uri)]
    newest = {(c.uri, c.renaming): c for c in all_changes if _is_there(c, by_uri)}
    known = list[tuple[NameChange, Renamed]]()
    for uri in dict.fromkeys(change.uri for change in newest.values()):
        mine = [change for change in newest.values() if change.uri == uri]
        uses = find(by_uri[uri], [change.renaming for change in mine])
        known += [(c, r) for c, r in zip(mine, uses, strict=True) if r is not None]
    fresh = [change for change in all_changes if change.is_fresh]
    definitions = [*_without_others([one for one in known if one[0].is_fresh], fresh)]
    places = [(change.uri, change, renamed) for change, renamed in definitions]
    for change, renamed in definitions:
        places += _keys(change, renamed, texts, find)
    last = examples(edits, 1)
    lines = sorted(_lines(places, by_uri), key=lambda line: _distance(line, *last))
    return Renames(tuple(lines), tuple(definitions), tuple(known))


def _name_changes(
    edits: Sequence[FinishedEdit], texts: Mapping[str, EditedText]
) -> Iterator[NameChange]:
    """Yield the names that became others, newest first."""
    seen = set[tuple[str, str]]()
    n_others = 0
    later: dict[tuple[str, int, str], str] = {}  # what names of a line became afterwards
    for example in examples(edits, HISTORY):
        language = texts[example.uri].language if example.uri in texts else ""
        names = _HYPHENED if language in _WITH_HYPHENS else _NAME
        renamings = [*_renamings(example, names)]
        changed = {renaming[1:3] for renaming in renamings}
        n_others += not changed & seen
        seen |= changed
        for row, old, new, _ in renamings:
            now = later.setdefault((example.uri, row, old), later.get((example.uri, row, new), new))
            renaming = Renaming(row, old, now)
            yield NameChange(example.uri, language, renaming, example, n_others <= FRESH)


def _renamings(example: Example, name: re.Pattern[str]) -> Iterator[Renaming]:
    """
    Yield each name of an example that became another, or got an alias, and where it is now; none
    where anything but names changed: then the name may be that of another thing.
    """
    before = "\n".join(example.before)
    after = "\n".join(example.after)
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


def _is_within_name(
    language: str, before: Lines, after: Lines, examples: Sequence[Example]
) -> bool:
    """
    Return whether a part of a name with hyphens changes, where the user changed one whole name:
    `card-title` is no `card`.
    """
    if language not in _WITH_HYPHENS:
        return False
    shown = {pair for e in examples for pair in _pair_names(e.before, e.after)}
    return len(shown) == 1 and not shown.issuperset(_pair_names(before, after))


def _pair_names(before: Lines, after: Lines) -> Iterator[tuple[str, str]]:
    """Yield each name with hyphens that became another, where nothing else changed."""
    old = "\n".join(before)
    new = "\n".join(after)
    if _HYPHENED.split(old) == _HYPHENED.split(new):
        pairs = zip(_HYPHENED.findall(old), _HYPHENED.findall(new), strict=True)
        yield from (pair for pair in pairs if pair[0] != pair[1])


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
