"""
`fim-lsp demo`: types a script into the bundled sample project through the real server, with the
model that the embedded engine runs, and prints what an editor would show.

`SCENES` has the text to type, a key at a time; a suggestion is accepted where it agrees with that
text. One row for each of these: the line with its ghost text, tokens evaluated and reused for it,
and milliseconds.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import sys
import tempfile
import time
import tomllib
from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

from fim_lsp.cli.client import EditorError, LspClient, editor
from fim_lsp.cli.terminal import Screen, clip, screen_on
from fim_lsp.documents import Position, body

SAMPLE = Path(__file__).parent / "sample" / "larder"
SCRIPT = SAMPLE.with_name("script.toml")
OPEN = ("items.py", "store.py", "test_store.py")


class Scene(NamedTuple):
    """Put the cursor at the end of the line that reads *below*, and write *text*."""

    title: str
    path: str
    below: str
    text: str


SCENES = [Scene(*row.values()) for row in tomllib.loads(SCRIPT.read_text("utf-8"))["scenes"]]


# The demo needs nothing but this package; a script needs no debounce.
SETTINGS: dict[str, object] = {
    "backend": {"kind": "embedded"},
    "completion": {"debounceMs": 0},
    "state": {"save": False},  # the sample is gone afterwards
}
WORTH_TAKING = 3  # characters; two are typed faster than accepted
NUMBERS = "{:>9} {:>8} {:>7}"
TOY = (
    "The bundled model is a toy. For real work: fim-lsp setup (it marks what fits, and asks first)."
)
MARGIN = "     "


class KeyCost(NamedTuple):
    """The cost of one key on the model server, and after how long its answer came."""

    evaluated: int
    cached: int
    streams: int
    ms: float


def run(_: Namespace) -> int:
    """Type the script; returns the exit code."""
    screen = screen_on(sys.stdout)
    try:
        asyncio.run(_play(screen))
    except EditorError as error:
        screen.status("")
        screen.line(f"fim-lsp: the demo stopped: {error}")
        return 1
    return 0


async def _play(screen: Screen) -> None:
    with tempfile.TemporaryDirectory() as folder:
        # A folder of its own: files of an installed package are often git-ignored, and so excluded.
        root = shutil.copytree(SAMPLE, Path(folder, SAMPLE.name))
        async with editor(root, SETTINGS) as server:
            for name in OPEN:  # the first file starts the backend
                server.open(root / name, (root / name).read_text("utf-8"))
            await _start(server, screen)
            costs = list[KeyCost]()
            taken = list[str]()
            for scene in SCENES:
                await _type(scene, root / scene.path, server, screen, costs, taken)
            stats = await server.stats()
    summarize(screen, costs, taken, is_toy=stats["backend"]["bundled"])


async def _start(server: LspClient, screen: Screen) -> None:
    screen.line(screen.paint("fim-lsp demo", "title"))
    started = time.perf_counter()
    backend = await server.wait_settled(
        lambda seconds: screen.status(f"starting llama.cpp with its model … {seconds:.1f} s")
    )
    screen.status("")
    if not backend["ready"]:
        raise EditorError(backend.get("message") or f"the backend is {backend['state']}")
    screen.say(
        f"{backend['model']} is ready after {time.perf_counter() - started:.1f} s: llama.cpp "
        "inside this package, nothing leaves this machine"
    )


async def _type(
    scene: Scene,
    path: Path,
    server: LspClient,
    screen: Screen,
    costs: list[KeyCost],
    taken: list[str],
) -> None:
    """Type *scene* into the file; notes what each key cost, and the texts that were *taken*."""
    lines = server.document(path).lines
    line = next(n for n, line in enumerate(lines) if body(line).strip() == scene.below)
    cursor = Position(line, len(body(lines[line])))
    rest = scene.text
    width = screen.width - len(NUMBERS.format("", "", ""))
    head = f"{clip(scene.title, width):<{width}}"
    screen.line()
    screen.line(screen.paint(head + NUMBERS.format("evaluated", "cached", "ms"), "title"))
    while rest:
        key = _key(rest)
        cursor = server.replace(path, cursor, cursor, key)
        rest = rest[len(key) :]
        before = await server.stats()
        answer = await server.complete(path, cursor)
        cost = _cost(before, await server.stats(), answer.ms)
        costs.append(cost)
        text = answer.suggestions[0].text if answer.suggestions else ""
        if n_taken := _right(text, rest):
            typed = MARGIN + body(server.document(path).lines[cursor.line])[: cursor.column] + "│"
            first, *more = text[:n_taken].split("\n")
            numbers = NUMBERS.format(cost.evaluated, cost.cached, f"{cost.ms:.1f}")
            first = clip(first, width - len(typed))
            ghost = screen.paint(first, "ghost")
            space = " " * (width - len(typed) - len(first))
            screen.line(typed + ghost + space + screen.paint(numbers, "faint"))
            for below in more:
                screen.line(screen.paint(clip(MARGIN + below, screen.width), "ghost"))
            cursor = await server.accept(path, answer.suggestions[0], n_taken)
            taken.append(text[:n_taken])
            rest = rest[n_taken:]


def _key(rest: str) -> str:
    """
    Return the text that one key press inserts: a character, or a line end with the indentation
    editors add.
    """
    if rest[0] != "\n":
        return rest[0]
    return rest[: len(rest) - len(rest.lstrip("\n ")) or 1] if rest.strip() else rest


def _right(suggested: str, rest: str) -> int:
    """Return how many characters of a suggestion agree with *rest*: all of it, or whole lines."""
    length = len(os.path.commonprefix([suggested, rest]))  # noqa: RUF071 (it compares characters)
    if rest[length:][:1] not in {"", "\n"} or suggested[length:][:1] not in {"", "\n"}:
        length = max(0, suggested.rfind("\n", 0, length))
    return length if length >= WORTH_TAKING else 0


def _cost(before: dict[str, Any], after: dict[str, Any], ms: float) -> KeyCost:
    evaluated, cached = (
        after["tokens"][name] - before["tokens"][name] for name in ("evaluated", "cached")
    )
    return KeyCost(evaluated, cached, after["streams"] - before["streams"], ms)


def summarize(screen: Screen, costs: list[KeyCost], taken: list[str], *, is_toy: bool) -> None:
    """Print what all keys cost, and what was *taken*."""
    n_keys = len(costs)
    n_chars = sum(map(len, taken))
    asked = [cost.evaluated for cost in costs if cost.streams]
    waits_ms = sorted(cost.ms for cost in costs)
    screen.line()
    screen.line(screen.paint("In all", "title"))
    screen.say(f"""\
  {n_keys} keys typed, and {n_chars} more characters taken from {len(taken)} suggestions
  {len(asked)} of {n_keys} completions needed the model, the others were known already
  tokens evaluated: {statistics.median(asked):.0f} for one of them (median), {sum(asked)} for all
  {statistics.median(waits_ms):.0f} ms from key to ghost text (median), \
{waits_ms[int(0.95 * n_keys)]:.0f} ms (95th percentile)""")
    if is_toy:
        screen.line()
        screen.say(TOY)
