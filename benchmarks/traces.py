"""
Editing sessions on real code, as lists of `Step`s: the same ones in every run. Pure but for reading files.

The code is the interpreter's own (argparse, configparser, typing): it is on every machine, under
version control elsewhere, and written by people. New code is typed into argparse; what is typed is
taken from configparser, so no model sees the answer in its prompt by accident.

Where the times come from. Dhakal et al., "Observations on Typing from 136 Million Keystrokes" (CHI
2018): 239 ms between keys on average, about 120 ms for fast typists, less within practised words.
`pace` is a fast typist: 80 ms within words, 200 ms around blanks and punctuation; slower typing is
easier for every client. Pauses to think are 0.5–3 s, at line ends and before jumps.
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
from tests.places import place

IN_WORD_MS, BETWEEN_MS = 80.0, 200.0
SPREAD = 0.25  # sigma of the log-normal: two keys in three within ±25 %
THINK_MS = (500.0, 3000.0)
AT_LINE = 500  # where new code is typed into argparse: the middle of a class
REQUESTS = 300  # at least, in every trace
MIX_REQUESTS = 600  # so that each kind of action comes several times
FAR_KEYS, FAR_REQUESTS = 200, 1200  # between two jumps, and in all: six jumps
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
        """Return how many suggestions the editor asks for."""
        return sum(step.asks for step in self.steps)

    @property
    def n_keys(self) -> int:
        """Return how many keys are pressed."""
        return sum(step.key for step in self.steps)


def source(module: object) -> str:
    """Return the text of a module of the standard library, as it lies in this interpreter."""
    return Path(inspect.getsourcefile(module) or "").read_text("utf-8")  # type: ignore[arg-type]


def pace(rng: random.Random) -> Callable[[str, str], float]:
    """Return a fast typist's time between two keys, in milliseconds."""

    def wait_ms(before: str, key: str) -> float:
        middle = IN_WORD_MS if (before + key).isalnum() else BETWEEN_MS
        return middle * rng.lognormvariate(0, SPREAD)

    return wait_ms


@dataclass(frozen=True, slots=True)
class Typist:
    """A user at an editor: types the lines of *code*; *places* are the lines visited so far."""

    editor: Editor
    rng: random.Random
    code: Iterator[str]
    places: list[int]


NEIGHBOURS = (ast, enum, dataclasses, difflib, tempfile, optparse, subprocess, tarfile)
DEMO = place("demo")
A, B = f"{DEMO}/argparse.py", f"{DEMO}/inspect.py"


def neighbours() -> list[Event]:
    """Other files of the same workspace, opened and read through: more than a ring holds."""
    return [
        event
        for module in NEIGHBOURS
        for uri in [f"{DEMO}/{module.__name__.replace('.', '/')}.py"]
        for event in (Opened(uri, "python", 1, source(module)), Focused(uri))
    ]


def full_ring() -> tuple[Chunk, ...]:
    """Return a ring for clients that are given one: 16 chunks of 64 lines from the same files."""
    return tuple(
        Chunk(
            f"{module.__name__}.py", "".join(source(module).splitlines(keepends=True)[at : at + 64])
        )
        for module in NEIGHBOURS
        for at in (60, 200)
    )


def typist(seed: int, *, auto_close: bool = False, module: object = argparse) -> Typist:
    """Return a user with one file open, by default argparse."""
    rng = random.Random(seed)
    editor = Editor(pace(rng), auto_close=auto_close)
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


def write(user: Typist, line: str, *, slips: float = 0.0) -> None:
    """Type *line* at the cursor, on a line with nothing but indentation so far."""
    text = line.strip(" ")
    if text:
        _indent(user.editor, len(line) - len(line.lstrip(" ")))
    for char in text:
        if char.isalpha() and user.rng.random() < slips:
            _slip(user)
        user.editor.key(char)
    while user.editor.line[user.editor.position.column :]:
        user.editor.delete()  # closers that belong on a later line


def think(user: Typist) -> None:
    """A pause to think."""
    user.editor.think(user.rng.uniform(*THINK_MS))


def open_line(user: Typist, above: int) -> None:
    """Begin a new line below line *above*."""
    user.editor.move(above, len(body(user.editor.document.lines[above])))
    user.editor.enter()


def lines(user: Typist) -> None:
    """A line or two, with slips of the finger and a thought at half of the line ends."""
    for _ in range(user.rng.randint(1, 2)):
        write(user, next(user.code), slips=SLIP)
        if user.rng.random() < 0.5:
            think(user)
        user.editor.enter()


def accept_line(user: Typist) -> None:
    """The beginning of a line, and the rest of it as a suggestion that was right."""
    line = next(user.code)
    typed = line[: len(line) - len(line.lstrip()) + user.rng.randint(2, 8)].rstrip()
    write(user, typed)
    user.editor.accept(line[len(typed) :])
    user.editor.enter()


def jump(user: Typist) -> None:
    """To a place seen before (1 in 5), anywhere (1 in 3 of the others) or near, and a new line there."""
    last = len(user.editor.document.lines) - 2
    if user.rng.random() < 0.2:
        place = user.rng.choice(user.places)
    else:
        near = user.editor.position.line + user.rng.randint(-20, 20)
        place = near if user.rng.random() < 0.67 else user.rng.randint(0, last)
    place = min(max(place, 0), last)
    user.places.append(place)
    think(user)
    open_line(user, place)


def retype_argument(user: Typist) -> None:
    """Select an argument of some call not far away and type it again, with text to its right."""
    editor, all_lines = user.editor, user.editor.document.lines
    near = range(
        max(0, editor.position.line - 100), min(len(all_lines), editor.position.line + 100)
    )
    spots = [(n, m) for n in near for m in CALL.finditer(all_lines[n])]
    spots = spots or [(n, m) for n, line in enumerate(all_lines) for m in CALL.finditer(line)]
    n, match = user.rng.choice(spots)
    think(user)
    editor.select(Position(n, match.start()), Position(n, match.end()))
    for char in match.group():
        editor.key(char)


def change_of_mind(user: Typist) -> None:
    """Undo a few times, redo some of it, go on below."""
    n = user.rng.randint(2, 5)
    for _ in range(n):
        user.editor.undo()
    for _ in range(n if user.rng.random() < 0.5 else n // 2):
        user.editor.redo()
    open_line(user, user.editor.position.line)


def elsewhere(user: Typist) -> None:
    """Save, and go on in the other file."""
    user.editor.save()
    think(user)
    user.editor.switch(B if user.editor.uri == A else A)
    open_line(user, user.editor.position.line)


def copy_elsewhere(user: Typist) -> None:
    """Copy some lines to look at, and go on somewhere else."""
    start = max(0, user.editor.position.line - 30)
    user.editor.yank(Position(start, 0), Position(start + 12, 0))
    jump(user)


def argument(user: Typist) -> None:
    """Correct an argument, then go on below."""
    retype_argument(user)
    open_line(user, user.editor.position.line)


def _indent(editor: Editor, wanted: int) -> None:
    while editor.position.column > wanted:
        editor.backspace()
    while editor.position.column + INDENT <= wanted:
        editor.tab()
    for _ in range(wanted - editor.position.column):
        editor.key(" ")


def _slip(user: Typist) -> None:
    """A few wrong letters, noticed and erased."""
    n_wrong = user.rng.choice((1, 1, 1, 2, 3))
    for _ in range(n_wrong):
        user.editor.key(user.rng.choice(string.ascii_lowercase))
    user.editor.think(BETWEEN_MS)
    for _ in range(n_wrong):
        user.editor.backspace()


# -- the traces -------------------------------------------------------------------------------------


def _until_enough(user: Typist, once: Callable[[], None], n: int = REQUESTS) -> list[Step]:
    while sum(step.asks for step in user.editor.steps) < n:
        once()
    return user.editor.steps


def _typing(name: str, *, slips: float = 0.0, auto_close: bool = False) -> Trace:
    user = typist(1, auto_close=auto_close)
    open_line(user, AT_LINE)

    def once() -> None:
        write(user, next(user.code), slips=slips)
        user.editor.enter()

    return Trace(name, _until_enough(user, once))


def straight() -> Trace:
    """Line after line without a mistake."""
    return _typing("straight")


def corrections() -> Trace:
    """Return the same with slips of the finger, noticed and erased."""
    return _typing("corrections", slips=SLIP)


def pairs() -> Trace:
    """Return the same in an editor that closes brackets and quotes by itself."""
    return _typing("pairs", auto_close=True)


def inside() -> Trace:
    """Arguments in the middle of expressions are replaced, each at another position."""
    user = typist(2)
    return Trace("inside", _until_enough(user, lambda: retype_argument(user)))


def jumps() -> Trace:
    """Single lines, each at another position."""
    user = typist(3)

    def once() -> None:
        jump(user)
        write(user, next(user.code))

    return Trace("jumps", _until_enough(user, once))


def far() -> Trace:
    """Some lines at one place, long enough to push out of a cache what was kept of others, then elsewhere."""
    user = typist(7)

    def once() -> None:
        think(user)
        open_line(user, user.rng.randint(0, len(user.editor.document.lines) - 2))
        n_keys = sum(step.key for step in user.editor.steps)
        while sum(step.key for step in user.editor.steps) < n_keys + FAR_KEYS:
            lines(user)

    return Trace("far", _until_enough(user, once, FAR_REQUESTS))


def files() -> Trace:
    """Two lines in one file, two in another, and back."""
    user = typist(4)
    open_line(user, AT_LINE)
    user.editor.open(B, "python", source(inspect))
    open_line(user, AT_LINE)

    def once() -> None:
        for _ in range(2):
            write(user, next(user.code))
            user.editor.enter()
        think(user)
        user.editor.switch(B if user.editor.uri == A else A)

    return Trace("files", _until_enough(user, once))


def undo() -> Trace:
    """Two lines typed, some of it taken back, some of that restored."""
    user = typist(5)
    open_line(user, AT_LINE)

    def once() -> None:
        for _ in range(2):
            write(user, next(user.code))
            user.editor.enter()
        change_of_mind(user)

    return Trace("undo", _until_enough(user, once))


def mix(
    n_requests: int = MIX_REQUESTS,
    seed: int = 6,
    files: tuple[object, object] = (argparse, inspect),
) -> Trace:
    """Return all kinds of action in random order, with pauses to think; at its own pace."""
    user = typist(seed, auto_close=True, module=files[0])
    user.editor.open(B, "python", source(files[1]))
    open_line(user, AT_LINE)
    user.editor.switch(A)
    open_line(user, AT_LINE)
    cards = (
        [lines, accept_line] * 3
        + [jump, argument] * 2
        + [change_of_mind, elsewhere, copy_elsewhere]
    )
    deck: list[Callable[[Typist], None]] = []

    def once() -> None:
        if not deck:
            deck.extend(user.rng.sample(cards, len(cards)))
        deck.pop()(user)

    return Trace("mix", _until_enough(user, once, n_requests), paced=True)


TRACES = {
    t.__name__: t for t in (straight, corrections, inside, pairs, jumps, far, files, undo, mix)
}
