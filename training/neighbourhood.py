"""
Files that a user works in together, and which of their pieces the ring might show.

A package is split into neighbourhoods of about a megabyte (`units`): files of one folder stay
together. The pieces are those of the real ring, cut when the corpus was made; which of them are shown is
drawn, most for an identifier that the answer needs, since the ring looks for that, too.
"""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fim_lsp.context.chunks import WORD
from fim_lsp.documents import split
from server_bridge.protocol import Chunk
from training.corpus import Entry

UNIT = 1_000_000  # characters of neighbouring files that stay together
# How often each language is shown: by use, not by how much there is of it
SHARES = {
    "python": 0.26, "typescript": 0.14, "javascript": 0.12, "go": 0.10, "rust": 0.10, "cpp": 0.09, "c": 0.08,
    "java": 0.07, "shellscript": 0.02, "lua": 0.02, "typescriptreact": 0.02, "javascriptreact": 0.01,
}  # fmt: skip
MOST_PLACES = 40  # a word in more pieces than that says nothing about any of them
SHORTEST = 4  # characters of a word that names something
FOR_A_WORD = 0.75  # of the pieces are shown for a word; the others are there by chance
CHUNK_LINES = 64  # the ring's


class File(NamedTuple):
    """A file as lines with their ends, and its pieces as lines [start, end)."""

    path: str
    lines: tuple[str, ...]
    pieces: tuple[tuple[int, int], ...]


class Shown(NamedTuple):
    """Lines of a file that the window shows already."""

    path: str
    first: int
    last: int


class Place(NamedTuple):
    """A piece: indexes of the file, and of the piece in it."""

    file: int
    piece: int


class Neighbourhood:
    """Files of one language of one package."""

    def __init__(self, repo: str, files: list[File]) -> None:
        self.repo = repo
        self.files = files
        self._sizes = [len(file.lines) for file in files]
        self.weight = sum(self._sizes) ** 0.8  # large ones repeat themselves

    def any_file(self, rng: random.Random) -> File:
        """One of the files, long ones more often."""
        return rng.choices(self.files, self._sizes)[0]

    def chunks(
        self, rng: random.Random, shown: Shown, wanted: str, n_chars: float
    ) -> tuple[Chunk, ...]:
        """Pieces outside of what is shown, of about *n_chars*, most with a rare word of *wanted*."""
        words = [word for word in dict.fromkeys(WORD.findall(wanted)) if self._places.get(word)]
        words.sort(key=lambda word: len(self._places[word]))
        chosen: set[Place] = set()
        for _ in range(
            int(n_chars // 100)
        ):  # of a piece's 400 characters: some are taken or seen already
            place = self._place(rng, words)
            text = self._text(place)
            if place not in chosen and not self._sees(shown, place):
                n_chars -= len(text) + len(self.files[place.file].path) // 2
                if n_chars < 0:
                    break
                chosen.add(place)
        return tuple(self._grouped(rng, chosen))

    @functools.cached_property
    def _places(self) -> dict[str, list[Place]]:
        """The pieces of each word that names something, and is not everywhere."""
        by_word: defaultdict[str, list[Place]] = defaultdict(list)
        for f, file in enumerate(self.files):
            for p in range(len(file.pieces)):
                for word in dict.fromkeys(WORD.findall(self._text(Place(f, p)))):
                    if len(word) >= SHORTEST:
                        by_word[word].append(Place(f, p))
        return {word: places for word, places in by_word.items() if len(places) <= MOST_PLACES}

    def _place(self, rng: random.Random, words: list[str]) -> Place:
        if words and rng.random() < FOR_A_WORD:
            word = words[min(len(words) - 1, int(rng.expovariate(0.5)))]
            return rng.choice(self._places[word])
        file = rng.randrange(len(self.files))
        return Place(file, rng.randrange(len(self.files[file].pieces)))

    def _sees(self, shown: Shown, place: Place) -> bool:
        file = self.files[place.file]
        start, end = file.pieces[place.piece]
        return file.path == shown.path and start < shown.last and end > shown.first

    def _text(self, place: Place) -> str:
        file = self.files[place.file]
        start, end = file.pieces[place.piece]
        return "".join(file.lines[start:end])

    def _grouped(self, rng: random.Random, chosen: Iterable[Place]) -> Iterator[Chunk]:
        """Pieces of one file in order under one heading, as `context.chunks.group` has them."""
        by_file: defaultdict[int, list[Place]] = defaultdict(list)
        for place in sorted(chosen):
            by_file[place.file].append(place)
        order = list(by_file)
        rng.shuffle(order)
        for f in order:
            text = ""
            n_lines = 0
            for place in by_file[f]:
                start, end = self.files[f].pieces[place.piece]
                if text and n_lines + end - start > CHUNK_LINES:
                    yield Chunk(self.files[f].path, text)
                    text = ""
                    n_lines = 0
                text = text + self._text(place)
                n_lines = n_lines + end - start
            yield Chunk(self.files[f].path, text)


def neighbourhoods(entries: Iterable[Entry]) -> list[Neighbourhood]:
    """Return the entries of a corpus by package and language, weighted so that `SHARES` come true."""
    by_language: list[tuple[str, Neighbourhood]] = []
    totals: defaultdict[str, float] = defaultdict(float)
    for unit in units(entries):
        files = [file for entry in unit if (file := _file(entry)).pieces]
        if files:
            place = Neighbourhood(unit[0].package, files)
            by_language.append((unit[0].language, place))
            totals[unit[0].language] += place.weight
    for language, place in by_language:
        place.weight *= SHARES.get(language, 0.01) / totals[language]
    return [place for _, place in by_language]


def units(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return files of one language of one package, at most about `UNIT` characters together, in their order."""
    all_units: list[list[Entry]] = []
    last: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        key = (entry.package, entry.language)
        unit = last.get(key)
        if unit is None or sum(len(entry.text) for entry in unit) > UNIT:
            unit = last[key] = []
            all_units.append(unit)
        unit.append(entry)
    return all_units


def _file(entry: Entry) -> File:
    lines = tuple(split(entry.text)[:-1])
    return File(entry.path, lines, tuple(zip(entry.cuts[::2], entry.cuts[1::2], strict=True)))
