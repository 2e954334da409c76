"""
The heads of the definitions of the names near the cursor. Pure.

A name is looked up in the open files and by the index in the others. A function brings its head and the types that
its annotation names; a class its head, its fields and the heads of its methods; a variable the same for its type
and for what was called to make it, as far as syntax tells. Nothing is followed further: what types mention in turn
adds next to nothing.

Heads are ordinary pieces of their files, so what holds for pieces holds for them: nothing is shown twice, an edit
of their lines takes them out.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from fim_lsp.context.chunks import Cut, Piece, Read, Source, Why, piece_of, read
from fim_lsp.context.definitions import Definition, Kind
from fim_lsp.context.index import HOMES, Index, stem
from fim_lsp.context.similarity import WORD
from fim_lsp.context.update import Snapshot, near_lines

HEADS = 30
"""Heads that are candidates at a time. Recall at 3,970 tokens, the last 6 commits of mlx-lm: none 0.470,
30 of them 0.481, 200 of them 0.431, because they take the room of pieces."""

_NAMES = 80  # near the cursor that are looked up
_READ = 12  # files read for one update, see `index`
_MEMBERS = 40  # of one class


class _Place(NamedTuple):
    """A definition and the text it stands in."""

    source: Source
    definition: Definition


def signatures(
    index: Index,
    snapshot: Snapshot,
    source_of: Callable[[str], Source | None],
    read: Read = read,
) -> list[Piece]:
    """Return the heads of what is in use where *snapshot* was taken, what is nearest to the cursor first."""
    here = snapshot.here
    if here is None:
        return []
    lookup = _Lookup(index, snapshot, source_of, read)
    cut = read(here)
    found: dict[tuple[str, int], Piece] = {}
    for place in _places(lookup, here, cut, snapshot.viewport.line):
        for piece in _heads(place):
            found.setdefault((piece.uri, piece.start), piece)
        if len(found) >= HEADS:
            break
    return list(found.values())


class _Lookup:
    """Names into where they are defined; a file that is not open is read once."""

    def __init__(
        self,
        index: Index,
        snapshot: Snapshot,
        source_of: Callable[[str], Source | None],
        read: Read,
    ) -> None:
        self._index = index
        self._source_of = source_of
        self._read = read
        self._opened = {source.name for source in snapshot.sources}
        self._known: dict[str, dict[str, list[_Place]]] = {}  # path → name → places
        self._n_read = 0
        here = snapshot.here
        self._imported = frozenset(read(here).imported) if here else frozenset()
        self._open: defaultdict[str, list[_Place]] = defaultdict(list)
        for source in snapshot.sources:
            for name, places in self._read_definitions(source).items():
                self._open[name] += places

    def places(self, name: str) -> list[_Place]:
        """Return the definitions of *name*; none if that says nothing, as of `run` and `get`."""
        homes = [path for path in self._index.homes.get(name, ()) if path not in self._opened]
        places = [*self._open.get(name, ())]
        if len(homes) + len(places) > HOMES:
            homes = [path for path in homes if stem(path) in self._imported]
            places = [p for p in places if stem(p.source.name) in self._imported]
            if len(homes) + len(places) > HOMES:
                return []
        return [*places, *(place for path in homes for place in self._read_unopened(path, name))]

    def members(self, place: _Place) -> list[_Place]:
        """Return the members of a class in its file that others may use."""
        owner = place.definition.name
        defined = self._known[place.source.name]
        return list(defined.get(f".{owner}", ()))[:_MEMBERS]

    def _read_unopened(self, path: str, name: str) -> list[_Place]:
        if path not in self._known and self._n_read < _READ:
            self._n_read += 1
            source = self._source_of(path)
            if source is not None:
                self._read_definitions(source)
        return self._known.get(path, {}).get(name, [])

    def _read_definitions(self, source: Source) -> dict[str, list[_Place]]:
        """Return the definitions of a text by name, and by ".owner" for members."""
        places: defaultdict[str, list[_Place]] = defaultdict(list)
        for each in self._read(source).definitions:
            if each.kind is not Kind.LOCAL:
                places[each.name].append(_Place(source, each))
                if each.owner:
                    places[f".{each.owner}"].append(_Place(source, each))
        self._known[source.name] = places
        return places


def _places(lookup: _Lookup, here: Source, cut: Cut, line: int) -> Iterator[_Place]:
    """Yield definitions of the names around *line*, those of the nearest first, each with what it holds."""
    for name in itertools.islice(_names(here, line), _NAMES):
        held = _find_held(cut, name, line)
        for word in held:
            yield from _types(lookup, word)
        for place in lookup.places(name):
            yield from _whole(lookup, place)
            if place.definition.kind is not Kind.CLASS:
                for word in place.definition.of:
                    yield from _types(lookup, word)
    for definition in cut.definitions:
        if definition.kind is Kind.CLASS and definition.start <= line < definition.end:
            yield from _whole(lookup, _Place(here, definition))
            for word in definition.of:
                yield from _types(lookup, word)


def _types(lookup: _Lookup, word: str) -> Iterator[_Place]:
    """Yield the class of that name, or the class that a function of that name returns, with its members."""
    for place in lookup.places(word):
        yield from _whole(lookup, place)
        if place.definition.kind is Kind.FUNCTION:
            for name in place.definition.of:
                for returned in lookup.places(name):
                    if returned.definition.kind is Kind.CLASS:
                        yield from _whole(lookup, returned)


def _whole(lookup: _Lookup, place: _Place) -> Iterator[_Place]:
    yield place
    if place.definition.kind is Kind.CLASS:
        yield from lookup.members(place)


def _names(here: Source, line: int) -> Iterator[str]:
    """Return the words around *line*, once each: of its own line first, then of those above and below."""
    near = (n for n in near_lines(line) if n < len(here.lines))
    ordered = sorted(near, key=lambda n: (abs(n - line), n))
    words = (word for n in ordered for word in reversed(WORD.findall(here.lines[n])))
    return iter(dict.fromkeys(words))


def _find_held(cut: Cut, name: str, line: int) -> Iterable[str]:
    """Return the words of what *name* holds at *line*: what was said of it last above, else anywhere."""
    said = [d for d in cut.definitions if d.name == name and d.of and d.kind in _VARIABLES]
    said.sort(key=lambda d: (d.start > line, abs(d.start - line)))
    return dict.fromkeys(word for d in said[:2] for word in d.of if word != name)


_VARIABLES = (Kind.LOCAL, Kind.FIELD)


def _heads(place: _Place) -> Iterator[Piece]:
    """Yield the head of a definition, and the first line of the comment above it."""
    source, definition = place
    spans = [(definition.start, definition.head)]
    if definition.doc >= 0:
        is_next = definition.doc + 1 == definition.start
        spans = (
            [(definition.doc, definition.head)]
            if is_next
            else [(definition.doc, definition.doc + 1), *spans]
        )
    for span in spans:
        if piece := piece_of(source, Why.SIGNATURE, span):
            yield piece
