"""
Editing sessions as data: JSON Lines, the messages of LSP with their times, as an editor sends them.

    {"ms": 0, "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///a.py", …}}}
    {"ms": 120, "method": "textDocument/didChange", "params": {…, "contentChanges": [{"range": …, "text": "x"}]}}
    {"ms": 2, "method": "textDocument/inlineCompletion", "params": {"textDocument": …, "position": …}}

*ms* is the time since the line before. Params are those of LSP, with positions in UTF-32, that is in code points. Besides
these three, `textDocument/didFocus`, `textDocument/didSave`, `fim/didYank` and `fim/didMoveCursor` count; other methods are
passed over, so a log of an editor's messages will do. Such a file holds the code that was typed: keep it where that code may be.
A line may say what the user did (*action*), whether that is a press of a *key*, and that it *also* belongs to the step before.

`traces.tar.xz` has those of the benchmarks: a simulated user types lines of configparser into argparse, modules of Python 3.11
that no model sees by accident; `made_…` are of code that is made up. Times are those of a fast typist (Dhakal et al.,
"Observations on Typing from 136 Million Keystrokes", CHI 2018): 80 ms within words, 200 ms around blanks and punctuation;
slower typing is easier for every client. Pauses to think are 0.5–3 s. No step reacts to a suggestion, so a trace is the same
for every client. Commit `ffe3522f` has the program that made them (`benchmarks`: `editor.py` and `traces.py`).
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import enum
import functools
import inspect
import json
import optparse
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

from fim_lsp.documents import Edit, Position
from fim_lsp.events import Changed, CursorMoved, Event, Focused, Opened, Saved, Yanked
from server_bridge.protocol import Chunk
from tests.places import place

DATA = Path(__file__).with_name("traces.tar.xz")
RECORDED_IN = (
    "file:///tmp/fim-lsp-tests-root/demo"  # nothing is shown in a folder that is not there
)
TRACES = ("straight", "corrections", "inside", "pairs", "jumps", "far", "files", "undo", "mix")
TYPISTS = 16  # `typist0` …: the mix by other users, in two files each
NEIGHBOURS = (ast, enum, dataclasses, difflib, tempfile, optparse, subprocess, tarfile)
ASK = "textDocument/inlineCompletion"
LOOKS: dict[str, Callable[[str], Event]] = {
    "textDocument/didFocus": Focused,
    "textDocument/didSave": Saved,
}


class Step(NamedTuple):
    """One action: *wait_ms* passes before it; *key* says that it is a press of a key."""

    action: str
    wait_ms: float
    events: tuple[Event, ...]
    uri: str
    position: Position
    key: bool
    asks: bool


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

    def cut(self, n_asks: int) -> Trace:
        """Return its steps as far as the first *n_asks* requests."""
        steps = list[Step]()
        asked = 0
        for step in self.steps:
            asked += step.asks
            if asked > n_asks:
                break
            steps.append(step)
        return self._replace(steps=steps)


@functools.cache
def load(name: str) -> Trace:
    """Return one of the benchmarks' traces; those of a mix run at their own pace."""
    with tarfile.open(DATA) as tar:
        file = tar.extractfile(f"{name}.jsonl")
        assert file is not None
        text = file.read().decode().replace(RECORDED_IN, place("demo"))
        steps = steps_in(text.splitlines())
    return Trace(name, steps, paced=name == "mix" or name.startswith("typist"))


def read(path: Path) -> Trace:
    """Return what was recorded in *path*, with its own pace."""
    return Trace(path.stem, steps_in(path.read_text("utf-8").splitlines()), paced=True)


def steps_in(lines: Iterable[str]) -> list[Step]:
    """Return the steps of these messages."""
    steps = list[Step]()
    waited = 0.0
    for message in map(json.loads, lines):
        waited += message["ms"]
        method = message["method"]
        params = message["params"]
        event = _event(method, params)
        asks = method == ASK
        if event is None and not asks:
            continue
        events = () if event is None else (event,)
        at = _position(params["position"]) if "position" in params else Position(0, 0)
        key = message.get("key", isinstance(event, Changed))
        uri = params["textDocument"]["uri"]
        step = Step(message.get("action", method), waited, events, uri, at, key=key, asks=asks)
        if message.get("also"):
            first = steps.pop()
            step = first._replace(events=first.events + events, position=at, asks=asks)
        steps.append(step)
        waited = 0.0
    return steps


def source(module: object) -> str:
    """Return the text of a module of the standard library, as it lies in this interpreter."""
    return Path(inspect.getsourcefile(module) or "").read_text("utf-8")  # type: ignore[arg-type]


def neighbours() -> list[Event]:
    """Other files of the same workspace, opened and read through: more than a ring holds."""
    return [
        event
        for module in NEIGHBOURS
        for uri in [f"{place('demo')}/{module.__name__.replace('.', '/')}.py"]
        for event in (Opened(uri, "python", 1, source(module)), Focused(uri))
    ]


def full_ring() -> tuple[Chunk, ...]:
    """Return a ring for clients that are given one: 16 chunks of 64 lines from the same files."""
    texts = {f"{each.__name__}.py": source(each).splitlines(keepends=True) for each in NEIGHBOURS}
    return tuple(
        Chunk(name, "".join(lines[at : at + 64]))
        for name, lines in texts.items()
        for at in (60, 200)
    )


def _event(method: str, params: dict[str, Any]) -> Event | None:
    about = params.get("textDocument", {})
    if method in LOOKS:
        return LOOKS[method](about["uri"])
    match method:
        case "textDocument/didOpen":
            return Opened(about["uri"], about["languageId"], about["version"], about["text"])
        case "textDocument/didChange":
            edits = tuple(_edit(change) for change in params["contentChanges"])
            return Changed(about["uri"], about["version"], edits)
        case "fim/didYank":
            return Yanked(about["uri"], params["text"])
        case "fim/didMoveCursor":
            return CursorMoved(about["uri"], _position(params["position"]))
    return None


def _edit(change: dict[str, Any]) -> Edit:
    if "range" not in change:
        return Edit(Position(0, 0), Position(10**9, 0), change["text"])  # all of it
    start, end = (_position(change["range"][name]) for name in ("start", "end"))
    return Edit(start, end, change["text"])


def _position(place: dict[str, int]) -> Position:
    return Position(place["line"], place["character"])
