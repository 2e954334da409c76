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
import configparser
import inspect
import random
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.editor import INDENT, Editor, Step
from fim_lsp.documents import Position, body

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


# -- how somebody works -----------------------------------------------------------------------------


def write(
    editor: Editor, line: str, *, slips: float = 0.0, rng: random.Random | None = None
) -> None:
    """Type *line* at the cursor, on a line with nothing but indentation so far."""
    text = line.strip(" ")
    if text:
        _indent(editor, len(line) - len(line.lstrip(" ")))
    for char in text:
        if rng and rng.random() < slips and char.isalpha():
            _slip(editor, rng)
        editor.key(char)
    while editor.line[editor.position.column :]:
        editor.delete()  # closers that belong on a later line


def open_line(editor: Editor, above: int) -> None:
    """Begin a new line below line *above*."""
    editor.move(above, len(body(editor.document.lines[above])))
    editor.enter()


def think(editor: Editor, rng: random.Random) -> None:
    """A pause to think."""
    editor.think(rng.uniform(*THINK_MS))


def new_code(rng: random.Random) -> Iterator[str]:
    """Lines of configparser from somewhere on, for ever; no docstrings, no blank lines."""
    lines = [line for line in source(configparser).split("\n")[480:] if _is_code(line)]
    at = rng.randrange(len(lines))
    while True:
        yield lines[at]
        at = (at + 1) % len(lines)


def _is_code(line: str) -> bool:
    return bool(line.strip()) and '"""' not in line and line.isascii()


def _indent(editor: Editor, wanted: int) -> None:
    while len(editor.line[: editor.position.column]) > wanted:
        editor.backspace()
    while len(editor.line[: editor.position.column]) + INDENT <= wanted:
        editor.tab()
    for _ in range(wanted - len(editor.line[: editor.position.column])):
        editor.key(" ")


def _slip(editor: Editor, rng: random.Random) -> None:
    """A wrong letter, noticed a few keys later, and corrected."""
    n_wrong = rng.choice((1, 1, 1, 2, 3))
    for _ in range(n_wrong):
        editor.key(rng.choice(string.ascii_lowercase))
    editor.think(BETWEEN_MS)
    for _ in range(n_wrong):
        editor.backspace()


# -- the traces -------------------------------------------------------------------------------------


def _started(seed: int, *, auto_close: bool = False) -> tuple[Editor, random.Random]:
    """An editor with argparse open."""
    rng = random.Random(seed)
    editor = Editor(rhythm(rng), auto_close=auto_close)
    editor.open("file:///demo/argparse.py", "python", source(argparse))
    return editor, rng


def _until_enough(editor: Editor, once: Callable[[], None], n: int = REQUESTS) -> list[Step]:
    while sum(step.asks for step in editor.steps) < n:
        once()
    return editor.steps


def _typing(name: str, *, slips: float = 0.0, auto_close: bool = False) -> Trace:
    editor, rng = _started(1, auto_close=auto_close)
    code = new_code(rng)
    open_line(editor, AT_LINE)

    def once() -> None:
        write(editor, next(code), slips=slips, rng=rng)
        editor.enter()

    return Trace(name, _until_enough(editor, once))


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
    """Arguments in the middle of an expression are replaced, with text right of the cursor."""
    editor, rng = _started(2)
    return Trace("inside", _until_enough(editor, lambda: retype_argument(editor, rng)))


def retype_argument(editor: Editor, rng: random.Random) -> None:
    """Select an argument of some call not far away and type it anew."""
    lines = editor.document.lines
    near = range(max(0, editor.position.line - 100), min(len(lines), editor.position.line + 100))
    spots = [(n, m) for n in near for m in CALL.finditer(lines[n])]
    spots = spots or [(n, m) for n, line in enumerate(lines) for m in CALL.finditer(line)]
    n, match = rng.choice(spots)
    think(editor, rng)
    editor.select(Position(n, match.start()), Position(n, match.end()))
    for char in match.group():
        editor.key(char)


def jumps() -> Trace:
    """A line here, a line there: two jumps in three are near, and some lead back."""
    editor, rng = _started(3)
    code, places = new_code(rng), [AT_LINE]

    def once() -> None:
        think(editor, rng)
        open_line(editor, _place(editor, rng, places))
        write(editor, next(code))

    return Trace("jumps", _until_enough(editor, once))


def _place(editor: Editor, rng: random.Random, places: list[int]) -> int:
    """A line to go to: 1 in 5 a place seen before, 1 in 3 of the others anywhere, else near."""
    last = len(editor.document.lines) - 2
    if rng.random() < 0.2:
        return min(rng.choice(places), last)
    near = editor.position.line + rng.randint(-20, 20)
    places.append(min(max(near if rng.random() < 0.67 else rng.randint(0, last), 0), last))
    return places[-1]


def files() -> Trace:
    """Some keys in one file, some in another, and back."""
    editor, rng = _started(4)
    code = new_code(rng)
    a, b = editor.uri, "file:///demo/inspect.py"
    open_line(editor, AT_LINE)
    editor.open(b, "python", source(inspect))
    open_line(editor, AT_LINE)

    def once() -> None:
        for _ in range(2):
            write(editor, next(code))
            editor.enter()
        think(editor, rng)
        editor.switch(b if editor.uri == a else a)

    return Trace("files", _until_enough(editor, once))


def undo() -> Trace:
    """Two lines typed, some of it undone and redone, some only undone and typed anew."""
    editor, rng = _started(5)
    code = new_code(rng)
    open_line(editor, AT_LINE)

    def once() -> None:
        for _ in range(2):
            write(editor, next(code))
            editor.enter()
        n = rng.randint(2, 6)
        for _ in range(n):
            editor.undo()
        for _ in range(n if rng.random() < 0.5 else n // 2):
            editor.redo()
        editor.move(editor.position.line, len(editor.line))
        editor.enter()

    return Trace("undo", _until_enough(editor, once))


def mix() -> Trace:
    """All of it as it comes in a day, with pauses to think; at its own pace."""
    editor, rng = _started(6, auto_close=True)
    code, places = new_code(rng), [AT_LINE]
    a, b = editor.uri, "file:///demo/inspect.py"
    editor.open(b, "python", source(inspect))
    editor.move(AT_LINE, 0)
    editor.switch(a)
    open_line(editor, AT_LINE)

    def jump() -> None:
        think(editor, rng)
        open_line(editor, _place(editor, rng, places))

    def lines() -> None:
        for _ in range(rng.randint(1, 2)):
            write(editor, next(code), slips=SLIP, rng=rng)
            if rng.random() < 0.5:
                think(editor, rng)
            editor.enter()

    def accepted() -> None:
        line = next(code)
        cut = len(line) - len(line.lstrip()) + rng.randint(2, 8)
        write(editor, line[:cut].rstrip())
        editor.accept(line[len(line[:cut].rstrip()) :])
        editor.enter()

    def change_of_mind() -> None:
        for _ in range(rng.randint(1, 3)):
            editor.undo()
        if rng.random() < 0.5:
            editor.redo()
        editor.move(editor.position.line, len(editor.line))
        editor.enter()

    def elsewhere() -> None:
        editor.save()
        think(editor, rng)
        editor.switch(b if editor.uri == a else a)
        open_line(editor, editor.position.line)

    def inspired() -> None:
        start = max(0, editor.position.line - 30)
        editor.yank(Position(start, 0), Position(start + 12, 0))
        jump()

    def argument() -> None:
        retype_argument(editor, rng)
        open_line(editor, editor.position.line)

    acts = [lines, accepted] * 3 + [jump, argument] * 2 + [change_of_mind, elsewhere, inspired]
    deck: list[Callable[[], None]] = []

    def once() -> None:
        if not deck:
            deck.extend(rng.sample(acts, len(acts)))
        deck.pop()()

    steps = _until_enough(editor, once, MIX_REQUESTS)
    return Trace("mix", steps, paced=True)


TRACES = {t.__name__: t for t in (straight, corrections, inside, pairs, jumps, files, undo, mix)}
