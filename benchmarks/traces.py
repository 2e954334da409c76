"""
Editing sessions on real code, as lists of `Step`s: the same ones in every run. Pure but for reading files.

The code is the interpreter's own (argparse, configparser, typing): it is on every machine, under
version control elsewhere, and written by people. New code is typed into argparse; what is typed is
taken from configparser, so no model sees the answer in its prompt by accident.

Where the times come from. Dhakal et al., "Observations on Typing from 136 Million Keystrokes" (CHI
2018): 239 ms between keys on average, about 120 ms for fast typists, less within practised words.
`rhythm` is a fast typist: 80 ms within words, 200 ms around blanks and punctuation; slower typing is
easier for everyone. Pauses to think are 0.5–3 s, at line ends and before jumps.
"""

from __future__ import annotations

import argparse
import ast
import configparser
import dataclasses
import difflib
import enum
import inspect
import optparse
import random
import re
import string
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.editor import INDENT, Editor, Step
from fim_lsp.documents import Position, body
from fim_lsp.events import Event, Focused, Opened
from server_bridge.protocol import Chunk

IN_WORD_MS, BETWEEN_MS = 80.0, 200.0
SPREAD = 0.25  # sigma of the log-normal: two keys in three within ±25 %
THINK_MS = (500.0, 3000.0)
AT_LINE = 500  # where new code is typed into argparse: the middle of a class
REQUESTS = 300  # at least, in every trace
MIX_REQUESTS = 600  # so that each kind of action comes several times
SLIP = (
    0.04  # wrong keys per key; Dhakal et al. count 2.3 corrections per 100 keys, so this is clumsy
)
CALL = re.compile(r"(?<=[(,] )[\w.]{5,}(?=[,)])|(?<=\()[\w.]{5,}(?=[,)])")  # an argument in a call


class Trace(NamedTuple):
    """A named list of steps; *paced* says that it is about time and must run at its own pace."""

    name: str
    steps: list[Step]
    paced: bool = False

    @property
    def n_asks(self) -> int:
        """How many suggestions the editor asks for."""
        return sum(step.asks for step in self.steps)

    @property
    def n_keys(self) -> int:
        """How many keys are pressed."""
        return sum(step.key for step in self.steps)


def source(module: object) -> str:
    """The text of a module of the standard library, as it lies in this interpreter."""
    return Path(inspect.getsourcefile(module) or "").read_text("utf-8")  # type: ignore[arg-type]


def rhythm(rng: random.Random) -> Callable[[str, str], float]:
    """A fast typist's time between two keys, in milliseconds."""

    def wait_ms(before: str, key: str) -> float:
        middle = IN_WORD_MS if (before + key).isalnum() else BETWEEN_MS
        return middle * rng.lognormvariate(0, SPREAD)

    return wait_ms


@dataclass(frozen=True, slots=True)
class Typist:
    """Somebody at an editor: types the lines of *code*, remembers the *places* where he was."""

    editor: Editor
    rng: random.Random
    code: Iterator[str]
    places: list[int]


NEIGHBOURS = (ast, enum, dataclasses, difflib, tempfile, optparse, subprocess, tarfile)
A, B = "file:///demo/argparse.py", "file:///demo/inspect.py"


def neighbours() -> list[Event]:
    """Other files of the same workspace, opened and read through: more than a ring holds."""
    return [
        event
        for module in NEIGHBOURS
        for uri in [f"file:///demo/{module.__name__.replace('.', '/')}.py"]
        for event in (Opened(uri, "python", 1, source(module)), Focused(uri))
    ]


def full_ring() -> tuple[Chunk, ...]:
    """A ring for clients that are given one: 16 chunks of 64 lines from the same files."""
    return tuple(
        Chunk(
            f"{module.__name__}.py", "".join(source(module).splitlines(keepends=True)[at : at + 64])
        )
        for module in NEIGHBOURS
        for at in (60, 200)
    )


def typist(seed: int, *, auto_close: bool = False, module: object = argparse) -> Typist:
    """Somebody with one file open, which is argparse if you know no better."""
    rng = random.Random(seed)
    editor = Editor(rhythm(rng), auto_close=auto_close)
    editor.open(A, "python", source(module))
    return Typist(editor, rng, new_code(rng), [AT_LINE])


def new_code(rng: random.Random) -> Iterator[str]:
    """Lines of configparser from somewhere on, for ever; no docstrings, no blank lines."""
    lines = source(configparser).split("\n")[480:]
    lines = [line for line in lines if line.strip() and '"""' not in line and line.isascii()]
    at = rng.randrange(len(lines))
    while True:
        yield lines[at]
        at = (at + 1) % len(lines)


# -- what people do ---------------------------------------------------------------------------------


def write(who: Typist, line: str, *, slips: float = 0.0) -> None:
    """Type *line* at the cursor, on a line with nothing but indentation so far."""
    text = line.strip(" ")
    if text:
        _indent(who.editor, len(line) - len(line.lstrip(" ")))
    for char in text:
        if char.isalpha() and who.rng.random() < slips:
            _slip(who)
        who.editor.key(char)
    while who.editor.line[who.editor.position.column :]:
        who.editor.delete()  # closers that belong on a later line


def think(who: Typist) -> None:
    """A pause to think."""
    who.editor.think(who.rng.uniform(*THINK_MS))


def open_line(who: Typist, above: int) -> None:
    """Begin a new line below line *above*."""
    who.editor.move(above, len(body(who.editor.document.lines[above])))
    who.editor.enter()


def lines(who: Typist) -> None:
    """A line or two, with slips of the finger and a thought at half of the line ends."""
    for _ in range(who.rng.randint(1, 2)):
        write(who, next(who.code), slips=SLIP)
        if who.rng.random() < 0.5:
            think(who)
        who.editor.enter()


def accepted(who: Typist) -> None:
    """The beginning of a line, and the rest of it as a suggestion that was right."""
    line = next(who.code)
    typed = line[: len(line) - len(line.lstrip()) + who.rng.randint(2, 8)].rstrip()
    write(who, typed)
    who.editor.accept(line[len(typed) :])
    who.editor.enter()


def jump(who: Typist) -> None:
    """To a place seen before (1 in 5), anywhere (1 in 3 of the others) or near, and a new line there."""
    last = len(who.editor.document.lines) - 2
    if who.rng.random() < 0.2:
        place = who.rng.choice(who.places)
    else:
        near = who.editor.position.line + who.rng.randint(-20, 20)
        place = near if who.rng.random() < 0.67 else who.rng.randint(0, last)
    place = min(max(place, 0), last)
    who.places.append(place)
    think(who)
    open_line(who, place)


def retype_argument(who: Typist) -> None:
    """Select an argument of some call not far away and type it anew, text standing right of it."""
    editor, all_lines = who.editor, who.editor.document.lines
    near = range(
        max(0, editor.position.line - 100), min(len(all_lines), editor.position.line + 100)
    )
    spots = [(n, m) for n in near for m in CALL.finditer(all_lines[n])]
    spots = spots or [(n, m) for n, line in enumerate(all_lines) for m in CALL.finditer(line)]
    n, match = who.rng.choice(spots)
    think(who)
    editor.select(Position(n, match.start()), Position(n, match.end()))
    for char in match.group():
        editor.key(char)


def change_of_mind(who: Typist) -> None:
    """Undo a few times, redo some of it, go on below."""
    n = who.rng.randint(2, 5)
    for _ in range(n):
        who.editor.undo()
    for _ in range(n if who.rng.random() < 0.5 else n // 2):
        who.editor.redo()
    open_line(who, who.editor.position.line)


def elsewhere(who: Typist) -> None:
    """Save, and go on in the other file."""
    who.editor.save()
    think(who)
    who.editor.switch(B if who.editor.uri == A else A)
    open_line(who, who.editor.position.line)


def copied(who: Typist) -> None:
    """Copy some lines to look at, and go on somewhere else."""
    start = max(0, who.editor.position.line - 30)
    who.editor.yank(Position(start, 0), Position(start + 12, 0))
    jump(who)


def argument(who: Typist) -> None:
    """Correct an argument, then go on below."""
    retype_argument(who)
    open_line(who, who.editor.position.line)


def _indent(editor: Editor, wanted: int) -> None:
    while editor.position.column > wanted:
        editor.backspace()
    while editor.position.column + INDENT <= wanted:
        editor.tab()
    for _ in range(wanted - editor.position.column):
        editor.key(" ")


def _slip(who: Typist) -> None:
    """A few wrong letters, noticed and erased."""
    n_wrong = who.rng.choice((1, 1, 1, 2, 3))
    for _ in range(n_wrong):
        who.editor.key(who.rng.choice(string.ascii_lowercase))
    who.editor.think(BETWEEN_MS)
    for _ in range(n_wrong):
        who.editor.backspace()


# -- the traces -------------------------------------------------------------------------------------


def _until_enough(who: Typist, once: Callable[[], None], n: int = REQUESTS) -> list[Step]:
    while sum(step.asks for step in who.editor.steps) < n:
        once()
    return who.editor.steps


def _typing(name: str, *, slips: float = 0.0, auto_close: bool = False) -> Trace:
    who = typist(1, auto_close=auto_close)
    open_line(who, AT_LINE)

    def once() -> None:
        write(who, next(who.code), slips=slips)
        who.editor.enter()

    return Trace(name, _until_enough(who, once))


def straight() -> Trace:
    """Line after line without a mistake."""
    return _typing("straight")


def corrections() -> Trace:
    """The same with slips of the finger, noticed and erased."""
    return _typing("corrections", slips=SLIP)


def pairs() -> Trace:
    """The same in an editor that closes brackets and quotes by itself."""
    return _typing("pairs", auto_close=True)


def inside() -> Trace:
    """Arguments in the middle of expressions are replaced, one here, one there."""
    who = typist(2)
    return Trace("inside", _until_enough(who, lambda: retype_argument(who)))


def jumps() -> Trace:
    """A line here, a line there."""
    who = typist(3)

    def once() -> None:
        jump(who)
        write(who, next(who.code))

    return Trace("jumps", _until_enough(who, once))


def files() -> Trace:
    """Two lines in one file, two in another, and back."""
    who = typist(4)
    open_line(who, AT_LINE)
    who.editor.open(B, "python", source(inspect))
    open_line(who, AT_LINE)

    def once() -> None:
        for _ in range(2):
            write(who, next(who.code))
            who.editor.enter()
        think(who)
        who.editor.switch(B if who.editor.uri == A else A)

    return Trace("files", _until_enough(who, once))


def undo() -> Trace:
    """Two lines typed, some of it taken back, some of that restored."""
    who = typist(5)
    open_line(who, AT_LINE)

    def once() -> None:
        for _ in range(2):
            write(who, next(who.code))
            who.editor.enter()
        change_of_mind(who)

    return Trace("undo", _until_enough(who, once))


def mix(
    n_requests: int = MIX_REQUESTS,
    seed: int = 6,
    files: tuple[object, object] = (argparse, inspect),
) -> Trace:
    """All of it as it comes in a day, dealt like cards, with pauses to think; at its own pace."""
    who = typist(seed, auto_close=True, module=files[0])
    who.editor.open(B, "python", source(files[1]))
    open_line(who, AT_LINE)
    who.editor.switch(A)
    open_line(who, AT_LINE)
    cards = [lines, accepted] * 3 + [jump, argument] * 2 + [change_of_mind, elsewhere, copied]
    deck: list[Callable[[Typist], None]] = []

    def once() -> None:
        if not deck:
            deck.extend(who.rng.sample(cards, len(cards)))
        deck.pop()(who)

    return Trace("mix", _until_enough(who, once, n_requests), paced=True)


TRACES = {t.__name__: t for t in (straight, corrections, inside, pairs, jumps, files, undo, mix)}
