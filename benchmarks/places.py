"""
Folders of code into places to type at, as a session would show them to the model. Pure but for reading.

A place is a line of a file, typed key by key with the rest of the file around it, after chunks of
other files. By default the code is the standard library: real, and on every machine.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from fim_lsp.documents import Document, Position, open_document
from fim_lsp.prompt import compose, window
from fim_lsp.prompt.frame import Frame, Header
from fim_lsp.settings.config import Config
from server_bridge.protocol import Chunk, Prompt, State

LIBRARY = Path(os.__file__).parent
SEED = 7
PER_FILE = 10  # places, so that 500 come from 50 files
CHUNK_LINES = 64  # `fim.ring.chunkLines`
FEWEST_LINES = 300  # in a file, so that there is a window above and below
TYPED = 0.6  # of the line, at most: what is left is to be completed
SHORTEST = 8  # characters typed, so that a middle is of several keys


class Place(NamedTuple):
    """A *line* of *document*, empty, at which *typed* is typed, with *chunks* of other files."""

    path: str
    document: Document
    line: int
    typed: str
    chunks: tuple[Chunk, ...]


def places(folders: Sequence[Path], n: int, n_chunks: int) -> list[Place]:
    """*n* places with *n_chunks* chunks each, the same ones every time."""
    rng = random.Random(SEED)
    files = {path.name: lines for folder in folders for path, lines in _files(folder)}
    names = list(files)
    rng.shuffle(names)
    found: list[Place] = []
    for at, name in enumerate(names):
        others = [names[(at + 1 + k) % len(names)] for k in range(n_chunks)]
        chunks = tuple(_chunk(other, files[other]) for other in others)
        good = [n for n, line in enumerate(files[name]) if _is_code(line)]
        lines = rng.sample(good, min(PER_FILE, len(good)))
        found += [_place(name, files[name], line, chunks) for line in lines]
    return found[:n]


def frame(place: Place, state: State) -> Frame:
    """Return the frame when typing begins there."""
    budget = compose.budget(Config(), state)
    around = window.place_window(place.document, Position(place.line, 0), budget, None)
    return Frame(Header("library", place.chunks, place.path), around)


def prompt(place: Place, frame: Frame, typed: str) -> Prompt:
    """Return the prompt once *typed* is there."""
    lines = list(place.document.lines)
    lines[place.line] = typed + "\n"
    document = open_document(place.document.uri, "python", 1, "".join(lines))
    middle = window.middle(frame.window, document, Position(place.line, len(typed)))
    return compose.compose(frame, middle)


def _files(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    for path in sorted(folder.glob("*.py")):
        lines = path.read_text("utf-8", errors="replace").splitlines(keepends=True)
        if len(lines) >= FEWEST_LINES:
            yield path, lines


def _chunk(name: str, lines: list[str]) -> Chunk:
    start = (len(lines) - CHUNK_LINES) // 2
    return Chunk(name, "".join(lines[start : start + CHUNK_LINES]))


def _is_code(line: str) -> bool:
    text = line.strip()
    return line.isascii() and len(text) * TYPED >= SHORTEST and text[0] not in "#\"'"


def _place(name: str, lines: list[str], line: int, chunks: tuple[Chunk, ...]) -> Place:
    text = lines[line].rstrip()
    indent = len(text) - len(text.lstrip())
    typed = text[: indent + int(TYPED * (len(text) - indent))]
    emptied = "".join((*lines[:line], "\n", *lines[line + 1 :]))
    document = open_document(f"file:///{name}", "python", 1, emptied)
    return Place(name, document, line, typed, chunks)
