"""
Import statements as values, and where among them another one goes. Pure.

A `Language` is what each language has to say; `missing` asks it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from fim_lsp.context.free_names import FreeName
from fim_lsp.documents import LINE_CHARS

Lines = tuple[str, ...]
LINES = 1_000  # of a text in which imports are looked for: CPython's longest block of them ends at line 160

ALL = "*"  # the name that an import of everything brings

# A text within a line, as a part of a pattern.
QUOTED = r"""'(?:\\.|[^'\\])*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$)"""


class File(NamedTuple):
    """A text and its *path* within the workspace."""

    path: str
    lines: Lines


class Statement(NamedTuple):
    """
    The import statement of the lines [start, end): the *module* as it is written, and the *names* that it brings.

    What is renamed is not among them. *style* is what the language wants to know besides.
    """

    start: int
    end: int
    module: str
    names: tuple[str, ...]
    style: str = ""


class Insertion(NamedTuple):
    """At *line*, the lines *before* become *after*."""

    line: int
    before: Lines
    after: Lines


class Site(NamedTuple):
    """Where a name is missing: the file, its statements, the paths of the workspace, and what the language *needs*."""

    here: File
    found: Sequence[Statement]
    paths: Collection[str]
    more: Mapping[str, File]


class Language(NamedTuple):
    """
    What a language has to say.

    *statements* reads a text; *defines* says whether a text lets others import a name. *module_of* is the full name
    of a file's module as it is seen from a site, "" where it cannot be imported. *needs* are the paths of the further
    files that say so, as manifests, for the file that defines a name and the one where it is missing. *absolute* is the full name of the module of a statement in a file. *is_of*
    says whether the second module may hand on what the first one defines. *insert* is the change that imports a
    name from a module; the statements of other files show how they do it. *known* names need no import.
    *hands_on* is the full name of the module in which a statement makes its names known to the site, "" for none.
    """

    statements: Callable[[Lines], Sequence[Statement]]
    defines: Callable[[File, str], bool]
    module_of: Callable[[File, Site], str]
    absolute: Callable[[Statement, str, Collection[str]], str]
    is_of: Callable[[str, str, Site], bool]
    insert: Callable[[Site, str, FreeName, Sequence[Statement]], Insertion | None]
    known: Collection[str] = ()
    hands_on: Callable[[Statement, File, Site], str] = lambda *_: ""
    needs: Callable[[str, str], Iterable[str]] = lambda *_: ()


def words(text: str) -> frozenset[str]:
    """Names written as words."""
    return frozenset(text.split())


def above(path: str, name: str) -> Iterator[str]:
    """Yield where a file of that *name* may be above *path*, the nearest first."""
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        yield f"{folder}/{name}".lstrip("/")


def stand_in_code(lines: Lines, begins: re.Pattern[str], ends: Mapping[str, str]) -> list[bool]:
    """
    Return of each line whether it begins outside of the texts and comments of several lines.

    *ends* says by what begins one what ends it; *begins* finds that, and texts and comments within a line.
    """
    found, end = list[bool](), ""
    for line in lines:
        found.append(not end)
        if not end and not any(mark in line for mark in ends):
            continue
        at, line = 0, line[:LINE_CHARS]  # noqa: PLW2901
        while True:
            if end:
                at = line.find(end, at)
                if at < 0:
                    break
                at, end = at + len(end), ""
            mark = begins.search(line, at)
            if mark is None:
                break
            at, end = mark.end(), ends.get(mark[0], "")
    return found


def runs(found: Sequence[Statement], lines: Lines) -> Iterator[list[Statement]]:
    """Yield the blocks of statements without an empty line or code between them."""
    block: list[Statement] = []
    for each in found:
        if block and any(not line.strip() for line in lines[block[-1].end : each.start]):
            yield block
            block = []
        block.append(each)
    if block:
        yield block


def place(group: Sequence[Statement], key: Callable[[Statement], Any], new: Statement) -> int:
    """Return the line for *new* among a *group*: where it is sorted to, behind it where the group is not sorted."""
    keys = [key(each) for each in group]
    if keys != sorted(keys):
        return group[-1].end
    above = [each for each in group if not key(new) < key(each)]
    return above[-1].end if above else group[0].start


def with_name(names: Sequence[str], name: str, *keys: Callable[[str], Any]) -> list[str]:
    """*names* and *name*, by the first of *keys* by which they are sorted; it comes last if that is none."""
    key = next((each for each in keys if [*names] == sorted(names, key=each)), None)
    return sorted([*names, name], key=key) if key else [*names, name]
