"""
Keystrokes in a file, so that a load can be what people typed: JSON Lines, the messages of LSP with their times.

    {"ms": 0, "method": "textDocument/didOpen", "params": {"textDocument": {"uri": "file:///a.py", …}}}
    {"ms": 120, "method": "textDocument/didChange", "params": {…, "contentChanges": [{"range": …, "text": "x"}]}}
    {"ms": 2, "method": "textDocument/inlineCompletion", "params": {"textDocument": …, "position": …}}

*ms* is the time since the line before. Params are those of LSP, with positions in UTF-32, that is in code points. Besides
these three, `textDocument/didFocus`, `textDocument/didSave` and `fim/didYank` count; other methods are passed over, so a log
of an editor's messages will do. Such a file holds the code that was typed: keep it where that code may be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.editor import Step
from benchmarks.traces import Trace
from fim_lsp.documents import Edit, Position
from fim_lsp.events import Changed, Event, Focused, Opened, Saved, Yanked

ASK = "textDocument/inlineCompletion"


def read(path: Path) -> Trace:
    """Return what was recorded in *path*, with its own pace."""
    steps, waited = list[Step](), 0.0
    for line in path.read_text("utf-8").splitlines():
        message = json.loads(line)
        waited += message["ms"]
        method, params = message["method"], message["params"]
        event = _event(method, params)
        if event is None and method != ASK:
            continue
        at = _position(params["position"]) if method == ASK else Position(0, 0)
        key = isinstance(event, Changed)
        events = () if event is None else (event,)
        uri = params["textDocument"]["uri"]
        steps.append(Step(method, waited, events, uri, at, key=key, asks=event is None))
        waited = 0.0
    return Trace(path.stem, steps, paced=True)


def write(trace: Trace, path: Path) -> None:
    """Record *trace* in *path*."""
    lines, waited = list[str](), 0.0
    for step in trace.steps:
        waited += step.wait_ms
        for method, params in _messages(step):
            lines.append(json.dumps({"ms": round(waited, 1), "method": method, "params": params}))
            waited = 0.0
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _event(method: str, params: dict[str, Any]) -> Event | None:
    about = params.get("textDocument", {})
    match method:
        case "textDocument/didOpen":
            return Opened(about["uri"], about["languageId"], about["version"], about["text"])
        case "textDocument/didChange":
            edits = tuple(_edit(change) for change in params["contentChanges"])
            return Changed(about["uri"], about["version"], edits)
        case "textDocument/didFocus":
            return Focused(about["uri"])
        case "textDocument/didSave":
            return Saved(about["uri"])
        case "fim/didYank":
            return Yanked(about["uri"], params["text"])
    return None


def _edit(change: dict[str, Any]) -> Edit | str:
    if "range" not in change:
        return str(change["text"])
    start, end = (_position(change["range"][name]) for name in ("start", "end"))
    return Edit(start, end, change["text"])


def _messages(step: Step) -> Iterator[tuple[str, dict[str, Any]]]:
    for event in step.events:
        about: dict[str, Any] = {"uri": getattr(event, "uri", "")}
        match event:
            case Opened(uri, language, version, text):
                whole = {"uri": uri, "languageId": language, "version": version, "text": text}
                yield "textDocument/didOpen", {"textDocument": whole}
            case Changed(_, version, edits):
                about["version"] = version
                changes = [_change(edit) for edit in edits]
                yield "textDocument/didChange", {"textDocument": about, "contentChanges": changes}
            case Focused():
                yield "textDocument/didFocus", {"textDocument": about}
            case Saved():
                yield "textDocument/didSave", {"textDocument": about}
            case Yanked(_, text):
                yield "fim/didYank", {"textDocument": about, "text": text}
    if step.asks:
        yield ASK, {"textDocument": {"uri": step.uri}, "position": _place(step.position)}


def _change(edit: Edit | str) -> dict[str, Any]:
    if isinstance(edit, str):
        return {"text": edit}
    return {"range": {"start": _place(edit.start), "end": _place(edit.end)}, "text": edit.text}


def _position(place: dict[str, int]) -> Position:
    return Position(place["line"], place["character"])


def _place(position: Position) -> dict[str, int]:
    return {"line": position.line, "character": position.column}
