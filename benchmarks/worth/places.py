"""
Places where a person wrote something: one for each commit of a history that is replayed as typing.

The commits are played one after the other into the rings that are compared (`driven`), so each place has the
context that a session would have there. The commit's files are typed up to a random line of an added block;
the next lines of the block are what the person wrote.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.worth.driven import DrivenRing
from benchmarks.worth.history import Commit, History, Open, Replace, Save, Step, Type
from fim_lsp.context.chunks import ContextChunk
from fim_lsp.context.grammars import language_of
from fim_lsp.context.ring import Viewport
from fim_lsp.documents import Document, Position, open_document
from fim_lsp.prompt.window import Budget, Window, place_window

WRITTEN = 6  # lines that are scored, at most
LEAST = 3  # of a block from the place on
HISTORY = 2  # commits before the first place
LATELY = (
    60  # steps before a place in which the rings change: a pause takes a second for large projects
)


class Place(NamedTuple):
    """A cursor on an empty line; *written*: the lines that the person wrote there, with their ends."""

    commit: str
    path: str
    document: Document
    line: int
    written: tuple[str, ...]
    window: Window
    rings: Mapping[str, tuple[ContextChunk, ...]]

    @property
    def position(self) -> Position:
        return Position(self.line, 0)


def find_places(
    history: History, rings: Mapping[str, DrivenRing], budget: Budget
) -> Iterator[Place]:
    """Yield a place for each commit but the first ones; *rings* are empty at the beginning."""
    player = _Player(rings, history.workspace(), budget)
    groups = itertools.groupby(_by_commit(history.steps()), key=lambda pair: pair[0])
    for n, (commit, pairs) in enumerate(groups):
        steps = [step for _, step in pairs]
        chosen = _choose(steps, commit) if n >= HISTORY else None
        for idx, step in enumerate(steps):
            if idx == chosen:
                yield player.look(commit, steps[idx:])
            player.play(step, rests=chosen is not None and 0 <= chosen - idx < LATELY)


def _by_commit(steps: Iterator[Step]) -> Iterator[tuple[str, Step]]:
    commit = ""
    for step in steps:
        commit = step.id if isinstance(step, Commit) else commit
        yield commit, step


def _choose(steps: Sequence[Step], commit: str) -> int | None:
    """Return the index of a step that types the first of some lines of a block."""
    fitting = [
        n
        for n, step in enumerate(steps)
        if isinstance(step, Type) and step.line.strip() and len(_written(steps[n:])) >= LEAST
    ]
    return random.Random(commit).choice(fitting) if fitting else None


def _written(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the lines typed from the first step on, without a break."""
    first = steps[0]
    lines = list[str]()
    for n, step in enumerate(steps[:WRITTEN]):
        if not (isinstance(step, Type) and isinstance(first, Type) and step.at == first.at + n):
            break
        lines.append(step.line + "\n")
    return tuple(lines)


class _Player:
    def __init__(
        self, rings: Mapping[str, DrivenRing], files: Mapping[str, str], budget: Budget
    ) -> None:
        self._rings = rings
        self._budget = budget
        self._texts = {path: text.splitlines(keepends=True) for path, text in files.items()}
        self._view: Viewport | None = None

    def look(self, commit: str, steps: Sequence[Step]) -> Place:
        """Return the place where the first of *steps* types."""
        step = steps[0]
        assert isinstance(step, Type)
        document, window, view = self._anchor(step)
        rings = {name: ring.memory.visible(view) for name, ring in self._rings.items()}
        return Place(commit, step.path, document, step.at, _written(steps), window, rings)

    def play(self, step: Step, *, rests: bool) -> None:
        """Tell the rings what happens; they change in pauses if the user *rests*."""
        if isinstance(step, Commit):
            for path, lines in step.outside.items():
                self._outside(path, lines)
        elif isinstance(step, Open):
            self._texts[step.path] = [line + "\n" for line in step.lines]
            for ring in self._rings.values():
                ring.open(step.path, tuple(self._texts[step.path]))
        elif isinstance(step, Replace):
            self._edit(step.path, step.start, step.end, [])
        elif isinstance(step, Type):
            if rests:
                self._rest(step)
            self._edit(step.path, step.at, step.at, [step.line + "\n"])
        elif isinstance(step, Save):
            for ring in self._rings.values():
                ring.memory.note_focus(step.path)

    def _outside(self, path: str, lines: Sequence[str] | None) -> None:
        if lines is None:
            self._texts.pop(path, None)
        else:
            self._texts[path] = [line + "\n" for line in lines]
        text = None if lines is None else tuple(self._texts[path])
        for ring in self._rings.values():
            ring.change_outside(path, text)
        if self._view and self._view.uri == path:
            self._view = None

    def _edit(self, path: str, start: int, end: int, lines: list[str]) -> None:
        self._texts[path][start:end] = lines
        for ring in self._rings.values():
            ring.replace(path, start, end, tuple(lines))
        view = self._view
        delta = len(lines) - (end - start)
        if view and view.uri == path:
            inside = view.first <= start and end <= view.last
            self._view = view._replace(last=view.last + delta) if inside else None

    def _rest(self, step: Type) -> None:
        """Let the rings change where the session would: at a new window, and now and then."""
        view = self._view
        anchored = view is None or view.uri != step.path or not view.first < step.at < view.last
        if view is None or anchored:
            _, _, view = self._anchor(step)
        self._view = view = view._replace(line=step.at)
        for ring in self._rings.values():
            ring.rest(view, anchored=anchored)

    def _anchor(self, step: Type) -> tuple[Document, Window, Viewport]:
        """Return the text with an empty line where *step* types, and the window there."""
        lines = self._texts[step.path]
        text = "".join((*lines[: step.at], "\n", *lines[step.at :]))
        document = open_document(step.path, language_of(step.path), 0, text)
        window = place_window(document, Position(step.at, 0), self._budget, None)
        n_below = window.suffix.count("\n") - 1  # the empty line is none of the file's
        return document, window, Viewport(step.path, step.at, window.first, step.at + n_below)
