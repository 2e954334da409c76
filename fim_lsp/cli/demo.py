"""
`fim-lsp demo`: types a scripted session into the bundled sample project through the real server,
with the model that the embedded engine runs, and prints what an editor would show.

`SCENES` has the text to type; a suggestion is accepted only where it agrees with that text. One row
per key: the line with its ghost text, tokens evaluated and reused for it, and milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from fim_lsp.cli.client import EditorAnswer, EditorError, LspClient, Suggested, editor
from fim_lsp.cli.terminal import Screen, clip, clip_left, screen_on
from fim_lsp.documents import Position, body

SAMPLE = Path(__file__).parent / "sample" / "larder"
OPEN = ("items.py", "store.py", "test_store.py")


class Scene(NamedTuple):
    """Put the cursor at the end of the line that reads *below*, and write *text*."""

    title: str
    path: str
    below: str
    text: str


# fmt: off
SCENES = (
    Scene("store.py: an attribute; the model answers in the middle of a word", "store.py",
        "self.owner = owner", "\n        self.capacity = capacity"),
    Scene("store.py: a short method", "store.py", "return iter(self.items.values())",
        "\n\n    def __len__(self) -> int:\n        return len(self.items)"),
    Scene("store.py: a longer one; several lines arrive at once", "store.py",
        "return [item for item in self.items.values() if item.is_expired(today)]",
        "\n\n    def remove(self, name: str) -> None:\n"
        '        """Remove the item of that name."""\n'
        "        if name not in self.items:\n            raise UnknownItem(name)\n"
        "        del self.items[name]"),
    Scene("test_store.py: another file", "test_store.py", 'larder.take("rice", 3.0)',
        '\n\n\ndef test_remove() -> None:\n    larder = Larder("Ada")\n'
        '    larder.add(Item("rice", 2.0, "kg"))\n    larder.remove("rice")\n'
        "    assert len(larder) == 0"),
)
# fmt: on


# The demo needs nothing but this package; a script needs no debounce.
SETTINGS: dict[str, object] = {
    "backend": {"kind": "embedded"},
    "completion": {"debounceMs": 0},
    "state": {"save": False},  # the sample is gone afterwards
}
KEY_SECONDS = 0.05  # 20 keys a second: a fast typist's burst, still readable
LOOK_SECONDS = 0.8  # before a suggestion is accepted, so that it can be read
WORTH_TAKING = 3  # characters; two are typed faster than accepted
# characters of a suggestion that is wrong further on, and so takes longer to read
WORDS_WORTH_TAKING = 8
INSIDE_WORD = re.compile(r"\w\w")
NUMBERS = "{:>9} {:>8} {:>7}"
NUMBERS_WIDTH = 9 + 1 + 8 + 1 + 7
NARROWEST = 30  # of code: a narrower terminal breaks the lines
GHOST_LINES = 6
TOY = (
    "The bundled model is a toy. For real work: fim-lsp setup (it lists what fits, and asks first)."
)
MARGIN, TAKEN = "     ", "   ⇥ "


class KeyCost(NamedTuple):
    """The cost of one key on the model server, and after how long its answer came."""

    evaluated: int
    cached: int
    streams: int
    ms: float


def run(arguments: Namespace) -> int:
    """Type the session; returns the exit code."""
    screen = screen_on(sys.stdout)
    try:
        asyncio.run(_play(screen, hurry=arguments.fast or not screen.live))
    except EditorError as error:
        screen.status("")
        screen.line(f"fim-lsp: the demo stopped: {error}")
        return 1
    return 0


async def _play(screen: Screen, *, hurry: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # A folder of its own: files of an installed package are often git-ignored, and so excluded.
        root = shutil.copytree(SAMPLE, Path(folder, SAMPLE.name))
        async with editor(root, SETTINGS) as server:
            for name in OPEN:  # the first file starts the backend
                server.open(root / name, (root / name).read_text("utf-8"))
            await _start(server, screen)
            typist = Typist(server, screen, hurry=hurry)
            for scene in SCENES:
                await typist.play(scene, root / scene.path)
            _summary(screen, typist, await server.stats())


async def _start(server: LspClient, screen: Screen) -> None:
    screen.line(screen.paint("fim-lsp demo", "title"))
    started = time.perf_counter()
    backend = await server.wait_settled(
        lambda seconds: screen.status(f"starting llama.cpp with its model … {seconds:.1f} s")
    )
    waited = time.perf_counter() - started
    screen.status("")
    if backend["state"] != "ready":
        raise EditorError(backend.get("message") or f"the backend is {backend['state']}")
    screen.say(
        f"{backend['model']} is ready after {waited:.1f} s: llama.cpp inside this package, "
        f"nothing leaves this machine"
    )


class Typist:
    """
    Types a text into a file key by key, and accepts what agrees with it.

    State: what each key cost, and the texts that were taken, for the summary.
    """

    def __init__(self, server: LspClient, screen: Screen, *, hurry: bool) -> None:
        self.costs: list[KeyCost] = []
        self.taken: list[str] = []
        self._server = server
        self._screen = screen
        self._pace = 0.0 if hurry else 1.0
        self._path = Path()
        self._cursor = Position(0, 0)
        self._shown = ""

    async def play(self, scene: Scene, path: Path) -> None:
        """Type *scene* into the file."""
        self._path = path
        self._cursor = _line_below(self._server, self._path, scene.below)
        self._heading(scene)
        rest = scene.text
        while rest:
            key = _key(rest)
            rest = rest[len(key) :]
            self._cursor = self._server.replace(self._path, self._cursor, self._cursor, key)
            answer = await self._ask()
            self._row(answer)
            if answer.suggestions and (length := _right(answer.suggestions[0].text, rest)):
                await asyncio.sleep(self._pace * LOOK_SECONDS)
                await self._take(answer.suggestions[0], length)
                rest = rest[length:]
            await asyncio.sleep(self._pace * KEY_SECONDS)

    async def _ask(self) -> EditorAnswer:
        before = await self._server.stats()
        answer = await self._server.complete(self._path, self._cursor)
        after = await self._server.stats()
        evaluated, cached = (
            after["tokens"][name] - before["tokens"][name] for name in ("evaluated", "cached")
        )
        n_streams = after["streams"] - before["streams"]
        self.costs.append(KeyCost(evaluated, cached, n_streams, answer.ms))
        return answer

    async def _take(self, suggestion: Suggested, length: int) -> None:
        self._cursor = await self._server.accept(self._path, suggestion, length)
        taken = suggestion.text[:length]
        self.taken.append(taken)
        lines = self._server.document(self._path).lines[: self._cursor.line + 1]
        for line in lines[-1 - taken.count("\n") :]:
            text = clip(f"{TAKEN}{body(line)}", self._screen.width)
            self._screen.line(self._screen.paint(text, "accepted"))

    def _heading(self, scene: Scene) -> None:
        self._screen.line()
        self._screen.line(self._screen.paint(scene.title, "title"))
        head = f"{'':<{self._code_width()}}" + NUMBERS.format("evaluated", "cached", "ms")
        self._screen.line(self._screen.paint(head, "faint"))

    def _row(self, answer: EditorAnswer) -> None:
        cost = self.costs[-1]
        ghost = answer.suggestions[0].text if answer.suggestions else ""
        is_ready = not cost.streams  # no request to the model
        evaluated, cached = ("·", "·") if is_ready else (cost.evaluated, cost.cached)
        numbers = NUMBERS.format(evaluated, cached, f"{answer.ms:.1f}")
        self._screen.line(self._code(ghost) + self._screen.paint(numbers, "faint"))
        below = ghost.split("\n")[1:]
        if below and not self._shown.endswith("\n".join(below)):
            for line in below[:GHOST_LINES]:
                text = clip(f"{MARGIN}{line}", self._screen.width)
                self._screen.line(self._screen.paint(text, "ghost"))
        self._shown = ghost

    def _code(self, ghost: str) -> str:
        """Return the line under the cursor in exactly the code column's width."""
        width = self._code_width() - len(MARGIN) - 1
        typed = clip_left(self._line()[: self._cursor.column], width - 1)
        first, *below = ghost.split("\n")
        more = f" ⏎{len(below)}" if below else ""
        shown = clip(first + more, width - len(typed))
        space = " " * (width - len(typed) - len(shown))
        return f"{MARGIN}{typed}│" + self._screen.paint(shown, "ghost") + space

    def _code_width(self) -> int:
        return max(NARROWEST, self._screen.width - NUMBERS_WIDTH)

    def _line(self) -> str:
        return body(self._server.document(self._path).lines[self._cursor.line])


def _key(rest: str) -> str:
    """
    Return the text that one key press inserts: a character, or a line end with the indentation
    editors add.
    """
    if rest[0] != "\n":
        return rest[0]
    return rest[: len(rest) - len(rest.lstrip("\n ")) or 1] if rest.strip() else rest


def _right(suggested: str, rest: str) -> int:
    """
    Return how many characters of a suggestion to accept, of those that agree with *rest*: all of
    it, whole lines, or, where that saves a lot, words.
    """
    length = len(os.path.commonprefix([suggested, rest]))  # noqa: RUF071 (it compares characters)
    ends_line = rest[length:][:1] in {"", "\n"}
    if ends_line and suggested[length:][:1] in {"", "\n"}:
        return length if length >= WORTH_TAKING else 0
    if (line := suggested.rfind("\n", 0, length)) > 0:
        return line
    while length and INSIDE_WORD.fullmatch(suggested, length - 1, length + 1):
        length -= 1
    return length if length >= WORDS_WORTH_TAKING else 0


def _line_below(server: LspClient, path: Path, below: str) -> Position:
    """Open a new line below the one that reads *below*, as `o` does in vi."""
    lines = server.document(path).lines
    number = next(n for n, line in enumerate(lines) if body(line).strip() == below)
    return Position(number, len(body(lines[number])))


def _summary(screen: Screen, typist: Typist, stats: Mapping[str, Any]) -> None:
    taken, costs = typist.taken, typist.costs
    n_keys, n_chars = len(costs), sum(map(len, taken))
    n_multi = sum("\n" in text for text in taken)
    asked = [cost.evaluated for cost in costs if cost.streams]
    reused = sum(cost.cached for cost in costs)
    waits_ms = sorted(cost.ms for cost in costs)
    screen.line()
    screen.line(screen.paint("In all", "title"))
    screen.say(f"""\
  {n_keys} keys typed, and {n_chars} more characters taken from {len(taken)} suggestions \
({n_multi} of several lines)
  {len(asked)} of {n_keys} completions needed the model, the others were known already
  tokens evaluated: {statistics.median(asked):.0f} for one of them (median), {sum(asked)} for all, \
{stats["tokens"]["background"]} more while idle
  {reused / max(1, reused + sum(asked)):.1%} of all prompts came from the cache
  {statistics.median(waits_ms):.0f} ms from key to ghost text (median), \
{waits_ms[int(0.95 * n_keys)]:.0f} ms (95th percentile)""")
    if stats["backend"]["bundled"]:
        screen.line()
        screen.say(TOY)
