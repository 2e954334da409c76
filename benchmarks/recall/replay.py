"""
Replay a history and count how useful the ring's context is.

*Identifier recall*: of the words in the next typed line that are not in the window, the share that
is in the extra context. The window is what `fim_lsp.prompt.window` anchors by default: 1,024 tokens
above the cursor and 256 below, anchored again when the cursor leaves it. Tokens are characters / 3.6,
the ratio of the bundled tokenizer on Python.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.recall.history import Commit, Open, Replace, Save, Step, Type
from benchmarks.recall.ring import DrivenRing
from fim_lsp.context.chunks import WORD
from fim_lsp.context.ring import Viewport

CHARS_PER_TOKEN = 3.6
_ABOVE, _BELOW = 1024, 256  # tokens


@dataclass
class Result:
    """Sums over all typed lines; sizes in characters."""

    n_lines: int = 0
    needed: int = 0
    n_held: int = 0
    size: int = 0

    @property
    def recall(self) -> float:
        return self.n_held / self.needed if self.needed else 0.0

    @property
    def tokens(self) -> float:
        return self.size / max(1, self.n_lines) / CHARS_PER_TOKEN


def replay(steps: Iterable[Step], ring: DrivenRing, files: Mapping[str, str]) -> Result:
    """Return what *ring* holds in all of *steps*; *files* are what the workspace has at the beginning."""
    player = _Player(ring, files)
    for step in steps:
        player.play(step)
    return player.result


class _Player:
    def __init__(self, ring: DrivenRing, files: Mapping[str, str]) -> None:
        self.result = Result()
        self._ring = ring
        self._texts = {path: text.splitlines(keepends=True) for path, text in files.items()}
        self._view: Viewport | None = None

    def play(self, step: Step) -> None:
        if isinstance(step, Commit):
            for path, lines in step.outside.items():
                self._outside(path, lines)
        elif isinstance(step, Open):
            self._texts[step.path] = [line + "\n" for line in step.lines]
            self._ring.open(step.path, tuple(self._texts[step.path]))
        elif isinstance(step, Replace):
            self._edit(step.path, step.start, step.end, [])
        elif isinstance(step, Type):
            self._measure(step)
            self._edit(step.path, step.at, step.at, [step.line + "\n"])
        elif isinstance(step, Save):
            self._ring.save(step.path)

    def _outside(self, path: str, lines: Sequence[str] | None) -> None:
        if lines is None:
            self._texts.pop(path, None)
        else:
            self._texts[path] = [line + "\n" for line in lines]
        self._ring.change_outside(path, None if lines is None else tuple(self._texts[path]))
        if self._view and self._view.uri == path:
            self._view = None

    def _edit(self, path: str, start: int, end: int, lines: list[str]) -> None:
        self._texts[path][start:end] = lines
        self._ring.replace(path, start, end, tuple(lines))
        view, delta = self._view, len(lines) - (end - start)
        if view and view.uri == path:
            inside = view.first <= start and end <= view.last
            self._view = view._replace(last=view.last + delta) if inside else None

    def _measure(self, step: Type) -> None:
        lines, view = self._texts[step.path], self._view
        anchored = view is None or view.uri != step.path or not view.first < step.at < view.last
        if anchored or view is None:
            view = _window(step.path, lines, step.at)
        self._view = view = view._replace(line=step.at)
        shown = self._ring.pieces(view, anchored=anchored)
        window = lines[view.first : view.last]
        needed = _words(step.line).difference(*map(_words, window))
        words = frozenset().union(*(_words(chunk.text) for chunk in shown))
        self.result.n_lines += 1
        self.result.needed += len(needed)
        self.result.n_held += len(needed & words)
        self.result.size += sum(chunk.size for chunk in shown)


@functools.lru_cache(maxsize=65_536)
def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text))


def _window(path: str, lines: Sequence[str], at: int) -> Viewport:
    first, room = at, _ABOVE * CHARS_PER_TOKEN
    while first > 0 and room > 0:
        first -= 1
        room -= len(lines[first])
    last, room = at, _BELOW * CHARS_PER_TOKEN
    while last < len(lines) and room > 0:
        room -= len(lines[last])
        last += 1
    return Viewport(path, at, first, last)
