"""
An index of the definitions in a workspace, and a ranking of files by their use at the cursor. Pure.

An `Index` knows of each file the names that it defines, checksums of its words, and nothing else of
its text (four bytes a word: `words`): 20,000 files take less than 60 MB. Where in a file a name is
defined is read when that is asked. `rank_files` ranks files for one cursor, `read_unopened` cuts
the best of them into pieces; what is shown of those is decided in `ranking`. `holding` names the
files that may hold a text.

Files are known by their path within the workspace, so a file has one entry however an editor
spells its URI.
"""

from __future__ import annotations

import itertools
import re
import sys
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from zlib import crc32

from fim_lsp.context.chunks import CutText, Piece, Read, Source, Why, read
from fim_lsp.context.definitions import Definition
from fim_lsp.context.ring import Snapshot

Words = array  # of the words' checksums, sorted; two words in four billion have the same

FILE_WORDS = 5000
"""Different words of one file: a usual one has 300, one of 200,000 bytes some 3,000. Of a file with
more nothing is known: it is data, or generated."""

NONE: Words[int] = array("I")

_WORD = re.compile(r"\w\w+")  # one letter is in every file


def words(text: str) -> Words[int]:
    """Return the words of a text; none of one that has too many."""
    distinct = {*_WORD.findall(text)}
    return array("I", sorted(_checksums(distinct))) if len(distinct) <= FILE_WORDS else NONE


def list_required(text: str) -> tuple[int, ...]:
    """Return the words that a text must have to hold this one."""
    return (*_checksums({*_WORD.findall(text)}),)


def holds(checksums: Words[int], wanted: Iterable[int]) -> bool:
    """Return whether all of *wanted* are among the *checksums*."""
    return all(_has(checksums, word) for word in wanted)


def _has(checksums: Words[int], word: int) -> bool:
    at = bisect_left(checksums, word)
    return at < len(checksums) and checksums[at] == word


def _checksums(distinct: Iterable[str]) -> set[int]:
    return {crc32(word.encode("utf-8", "surrogatepass")) for word in distinct}


NAMES = 600_000
"""In one index: 20,000 usual files define 30 each. Each takes some 80 bytes; files that are indexed
later are known by their names and folders only."""

WORDS = 2_000_000
"""In one index: 8 MB. The words of files that are indexed later are not known."""

_FILE_NAMES = 1_000  # of one file: the longest file of CPython has 1,300

HOMES = 4  # a name with more definitions (`run`, `get`) says nothing about which one is meant
_IMPORTED = 2.0  # an imported name is in use here; a word near the cursor may be a local one
_SIBLING = 0.5  # a file of the same folder and language: half as good as a definition
_TWIN = 2.0  # the file a test tests, the header of a source: its names are needed for sure
_AFFIXES = ("test_", "_test", "-test", "_spec")  # of twins' names

_READ = 12  # files read for one update: 12 × 300 lines are read and cut in 20 ms


class IndexEntry(NamedTuple):
    """
    The index entry of a file; *stamp* (time of change in ns, bytes) tells whether it is up to date.
    """

    language: str
    stamp: tuple[int, int]
    names: tuple[str, ...]
    words: Words[int] = NONE


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: an equal one is not sought
class Index:
    """
    Entries by path, and the paths by the names they define; a file defines its own name, too. The
    counts are of all entries.
    """

    entries: Mapping[str, IndexEntry] = field(default_factory=dict)
    homes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    n_names: int = 0
    n_words: int = 0


def names(definitions: Iterable[Definition]) -> tuple[str, ...]:
    """Return the names of *definitions*, each once; `__init__` and its like are in every file."""
    telling = (d.name for d in definitions if len(d.name) > 1 and not d.name.startswith("__"))
    return tuple(dict.fromkeys(map(sys.intern, itertools.islice(telling, _FILE_NAMES))))


def update_index(index: Index, fresh: Mapping[str, IndexEntry | None]) -> Index:
    """Return the index with these entries instead of their old ones; None takes a file out."""
    entries, homes = dict(index.entries), dict(index.homes)
    n_names, n_words = index.n_names, index.n_words
    for path, entry in fresh.items():
        old = entries.pop(path, None)
        for counted, sign in ((old, -1), (entry, 1)):
            n_names += sign * len(counted.names) if counted else 0
            n_words += sign * len(counted.words) if counted else 0
        for name in _names(path, old):
            if left := tuple(home for home in homes[name] if home != path):
                homes[name] = left
            else:
                del homes[name]
        if entry is not None:
            entries[path], alone = entry, (path,)  # shared by its names: most have no other home
            for name in _names(path, entry):
                homes[name] = (*homes[name], path) if name in homes else alone
    return Index(entries, homes, n_names, n_words)


def rank_files(
    index: Index, path: str, language: str, imported: Iterable[str], near: Iterable[str]
) -> list[str]:
    """
    Return the files worth a look from *path*, best first: what it imports and uses; twins,
    siblings.
    """
    scores: defaultdict[str, float] = defaultdict(float)
    for weight, names in ((_IMPORTED, imported), (1.0, near)):
        for name in sorted(set(names)):
            homes = index.homes.get(name, ())
            for home in homes if len(homes) <= HOMES else ():
                scores[home] += weight / len(homes)
    for other in _siblings(index, path, language):
        scores[other] += _SIBLING
    twins = [home for home in index.homes.get(stem(path), ()) if stem(home) == stem(path)]
    for twin in twins if len(twins) <= HOMES else ():
        scores[twin] += _TWIN
    scores.pop(path, None)
    return sorted(scores, key=lambda other: (-scores[other], other))


def holding(index: Index, texts: Iterable[str], near: str) -> Iterator[str]:
    """
    Yield the files that may hold one of *texts*: the first one first, in the folder of the file
    *near* first.

    Takes 2 ms a text for 2,000 files.
    """
    folder, seen = near.rpartition("/")[0], {near}
    for sought in filter(None, map(list_required, texts)):
        paths = [
            path
            for path, entry in index.entries.items()
            if path not in seen and holds(entry.words, sought)
        ]
        yield from sorted(paths, key=lambda path: (path.rpartition("/")[0] != folder, path))
        seen.update(paths)


def read_unopened(
    index: Index, snapshot: Snapshot, source_of: Callable[[str], Source | None], read: Read = read
) -> Iterator[Piece]:
    """
    Yield pieces of files that are not open, for the place of *snapshot*, each with its reason.

    *source_of* gives the text of an indexed file by its path, None when it cannot.
    """
    here = snapshot.here
    if here is None:
        return
    names, near = read(here).imported, snapshot.near
    opened = {source.name for source in snapshot.sources}
    ranked = rank_files(index, here.name, here.language, names, near)
    for path in itertools.islice((path for path in ranked if path not in opened), _READ):
        if source := source_of(path):
            yield from _pieces(read(source), {*names, *near})


def _pieces(cut: CutText, names: AbstractSet[str]) -> Iterator[Piece]:
    spans = [d for d in cut.definitions if d.name in names]
    for piece in cut.pieces:
        defines = any(d.start < piece.end and piece.start < d.end for d in spans)
        yield replace(piece, why=Why.DEFINITION if defines else Why.SIBLING)


def _names(path: str, entry: IndexEntry | None) -> set[str]:
    return {*entry.names, stem(path)} if entry else set()


def _siblings(index: Index, path: str, language: str) -> Iterator[str]:
    folder = path.rpartition("/")[0]
    for other, entry in index.entries.items():
        if entry.language == language and other.rpartition("/")[0] == folder:
            yield other


def stem(path: str) -> str:
    """Return the name by which code refers to a file, the same for a test and what it tests."""
    stem = path.rpartition("/")[2].partition(".")[0]
    for affix in _AFFIXES:
        stem = stem.removeprefix(affix).removesuffix(affix)
    return stem
