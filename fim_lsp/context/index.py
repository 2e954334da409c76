"""
Which file of a workspace defines a name, and which files are worth a look from where one works. Pure.

An `Index` knows of each file its definitions (a name and where it begins and ends) and nothing of
its text: 2,000 files are a few megabytes. `wanted` ranks files for one place, `strangers` cuts the
best of them into pieces for `choice`, which decides what is shown.

Files are known by their path within the workspace, so a file has one entry however an editor
spells its URI.
"""

from __future__ import annotations

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fim_lsp.context.chunks import Piece, Source, Why, imported, pieces
from fim_lsp.context.syntax import Kind, units
from fim_lsp.context.turn import Snapshot

_HOMES = 4  # a name with more definitions (`run`, `get`) says nothing about which one is meant
_IMPORTED = 2.0  # an imported name is in use here; a word near the cursor may be a local one
_SIBLING = 0.5  # a file of the same folder and language: half as good as a definition
_TWIN = 2.0  # the file a test tests, the header of a source: its names are needed for sure
_AFFIXES = ("test_", "_test", "-test", "_spec")  # of twins' names

_READ = 12  # files read for one choice: 12 × 300 lines are read and cut in 20 ms


class Definition(NamedTuple):
    """The lines [start, end) define *name*."""

    name: str
    start: int
    end: int


class Entry(NamedTuple):
    """What is known of a file; *stamp* (time of change in ns, bytes) tells whether it is still true."""

    language: str
    stamp: tuple[int, int]
    definitions: tuple[Definition, ...]


@dataclass(frozen=True, slots=True, eq=False)  # one is as good as another only if it is the same
class Index:
    """Entries by path, and the paths by the names they define; a file defines its own name, too."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    homes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def definitions(language: str, text: str) -> tuple[Definition, ...]:
    """What *text* defines at any depth; `__init__` and its like belong to everybody."""
    found = (u for u in units(language, text) if u.kind in (Kind.FUNCTION, Kind.CLASS))
    named = (u for u in found if len(u.name) > 1 and not u.name.startswith("__"))
    return tuple(Definition(unit.name, unit.start, unit.end) for unit in named)


def updated(index: Index, fresh: Mapping[str, Entry | None]) -> Index:
    """The index with these entries instead of their old ones; None takes a file out."""
    entries, homes = dict(index.entries), dict(index.homes)
    for path, entry in fresh.items():
        for name in _names(path, entries.pop(path, None)):
            homes[name] = tuple(home for home in homes[name] if home != path)
        if entry is not None:
            entries[path] = entry
            for name in _names(path, entry):
                homes[name] = (*homes.get(name, ()), path)
    return Index(entries, {name: paths for name, paths in homes.items() if paths})


def wanted(
    index: Index, path: str, language: str, imported: Iterable[str], near: Iterable[str]
) -> list[str]:
    """The files worth a look from *path*, best first: what it imports and uses, twins, siblings."""
    scores: defaultdict[str, float] = defaultdict(float)
    for weight, names in ((_IMPORTED, imported), (1.0, near)):
        for name in sorted(set(names)):
            homes = index.homes.get(name, ())
            for home in homes if len(homes) <= _HOMES else ():
                scores[home] += weight / len(homes)
    for other in _siblings(index, path, language):
        scores[other] += _SIBLING
    twins = [home for home in index.homes.get(_stem(path), ()) if _stem(home) == _stem(path)]
    for twin in twins if len(twins) <= _HOMES else ():
        scores[twin] += _TWIN
    scores.pop(path, None)
    return sorted(scores, key=lambda other: (-scores[other], other))


def strangers(
    index: Index, snapshot: Snapshot, read: Callable[[str], Source | None]
) -> Iterator[Piece]:
    """
    Pieces of files that nobody opened, for where *snapshot* was taken; they say why they are there.

    *read* gives the text of an indexed file, None when it cannot.
    """
    here = snapshot.here
    if here is None:
        return
    names, near = imported(here), snapshot.near
    opened = {source.name for source in snapshot.sources}
    unknown = (p for p in wanted(index, here.name, here.language, names, near) if p not in opened)
    for path in itertools.islice(unknown, _READ):
        if source := read(path):
            yield from _pieces(source, index.entries[path], {*names, *near})


def _pieces(source: Source, entry: Entry, names: AbstractSet[str]) -> Iterator[Piece]:
    spans = [d for d in entry.definitions if d.name in names]
    for piece in _sibling_pieces(source):
        defines = any(d.start < piece.end and piece.start < d.end for d in spans)
        yield replace(piece, why=Why.DEFINITION) if defines else piece


@functools.lru_cache(maxsize=32)  # two or three places' worth of files
def _sibling_pieces(source: Source) -> tuple[Piece, ...]:
    return tuple(replace(piece, why=Why.SIBLING) for piece in pieces(source))


def _names(path: str, entry: Entry | None) -> set[str]:
    return {d.name for d in entry.definitions} | {_stem(path)} if entry else set()


def _siblings(index: Index, path: str, language: str) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for other, entry in index.entries.items():
        if entry.language == language and other.rpartition("/")[0] == folder:
            yield other


def _stem(path: str) -> str:
    """The name by which code refers to a file, the same for a test and what it tests."""
    stem = path.rpartition("/")[2].partition(".")[0]
    for affix in _AFFIXES:
        stem = stem.removeprefix(affix).removesuffix(affix)
    return stem
