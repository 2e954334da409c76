"""
A recorded session, played into the real server over stdio; what it answers in the pauses.

Files are on disk as they were when they were first seen. Changes come at once, each pause waits for its
answer, and then rests for `REST_S`, so that work in the background happens.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from benchmarks.recorded.log import Changed, Entry, Focused, Moved, Opened, entries, replace
from benchmarks.recorded.pauses import SETTLE_MS
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Position, after
from tests.e2e.client import AUTOMATIC, INLINE, Editor, at, wait_until

REST_S = 1.5


class Answer(NamedTuple):
    """What the server showed in the pause after a *change*, "" for nothing, and after how many *ms*."""

    change: int
    text: str
    ms: float


class Turn(NamedTuple):
    """What happened up to the next change: at once with the change *n*, and *later*."""

    n: int
    entries: list[Entry]
    later: list[Entry]


def turns(recording: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield the turns of a session; the first has no change."""
    turn = Turn(0, [], [])
    since = math.inf
    for entry in entries(recording):
        if isinstance(entry, Changed):
            yield turn
            turn = Turn(turn.n + 1, [entry], [])
            since = entry.ms
        else:
            (turn.entries if entry.ms - since <= SETTLE_MS else turn.later).append(entry)
    yield turn


def play(
    recording: Mapping[str, Any], settings: Mapping[str, object], wanted: Mapping[int, int]
) -> Iterator[Answer]:
    """
    Yield what a server with *settings* shows after the changes *wanted*, at the offset of each.

    Before the first of them nothing is asked: so a run can be resumed.
    """
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        played = _Played(Path(folder), settings)
        try:
            for turn in turns(recording):
                if turn.n > max(wanted):
                    return
                played.take(turn.entries)
                if not turn.n:  # the server starts the model once a file is open
                    wait_until(played.is_ready, "the model")
                if turn.n in wanted:
                    yield played.ask(turn, wanted[turn.n])
                    time.sleep(REST_S)
                played.take(turn.later)
        finally:
            played.server.leave()
            played.server.close()


class _Played:
    """A server with files. State: their texts and versions."""

    def __init__(self, folder: Path, settings: Mapping[str, object]) -> None:
        home = folder / "home"
        self._root = folder / "code"
        for made in (home, self._root):
            made.mkdir()
        self.server = Editor(home)
        self.server.initialize(rootUri=self._root.as_uri(), initializationOptions={"fim": settings})
        self._texts: dict[str, str] = {}
        self._versions: dict[str, int] = {}

    def is_ready(self) -> bool:
        """Return whether the model is."""
        return bool(self.server.request("fim/stats", {})["backend"]["state"] == "ready")

    def take(self, happened: list[Entry]) -> None:
        """Tell the server what happened."""
        for entry in happened:
            match entry:
                case Opened(_, path, text):
                    self._open(path, text)
                case Focused(_, path):
                    self.server.notify("textDocument/didFocus", self._document(path))
                case Moved(_, path, offset):
                    place = {"position": _place(self._texts[path], offset)}
                    self.server.notify("fim/didMoveCursor", self._document(path) | place)
                case Changed(_, path, edits):
                    text = self._texts[path]
                    parts = [
                        {
                            "range": {"start": _place(text, start), "end": _place(text, end)},
                            "text": new,
                        }
                        for start, end, new in edits
                    ]
                    self._change(path, replace(text, edits), *parts)

    def ask(self, turn: Turn, offset: int) -> Answer:
        """Return what is shown at an offset of the file that was changed."""
        path = turn.entries[0].path
        asked = time.monotonic()
        place = _place(self._texts[path], offset)
        request = at(self._uri(path), place["line"], place["character"], AUTOMATIC)
        items = (self.server.request(INLINE, request) or {}).get("items", [])
        ms = (time.monotonic() - asked) * 1000
        return Answer(turn.n, _inserted(items[0], place) if items else "", ms)

    def _open(self, path: str, text: str) -> None:
        if path in self._texts:
            self._change(path, text, {"text": text})
            return
        file = self._root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8", newline="")
        self._texts[path] = text
        self._versions[path] = 1
        self.server.open(self._uri(path), text, language_of(path) or "plaintext")

    def _change(self, path: str, text: str, *parts: object) -> None:
        self._texts[path] = text
        self._versions[path] += 1
        self.server.change(self._uri(path), self._versions[path], *parts)

    def _document(self, path: str) -> dict[str, object]:
        return {"textDocument": {"uri": self._uri(path)}}

    def _uri(self, path: str) -> str:
        return (self._root / path).as_uri()


def _inserted(item: Mapping[str, Any], place: Mapping[str, int]) -> str:
    """Return what an item inserts at the cursor, where its range begins there."""
    text = str(item["insertText"])
    start = item.get("range", {}).get("start", place)
    return text if start == place else ""


def _place(text: str, offset: int) -> dict[str, int]:
    """Return a position as LSP has it, from an offset."""
    line, column = after(Position(0, 0), text[:offset])
    units = len(text[offset - column : offset].encode("utf-16-le")) // 2
    return {"line": line, "character": units}
