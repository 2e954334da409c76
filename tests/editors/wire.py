"""What passes between an editor and the server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.editors.meant import ROWS, Row, line_of

Message = dict[str, Any]


class Offer(NamedTuple):
    """An item of a list, with the line and the column that the client had asked at, and what was typed there since."""

    item: Message
    line: str
    column: int
    typed: str


class Wire(NamedTuple):
    """Two files: what the client sends, and what it receives."""

    sent: Path
    received: Path

    @classmethod
    def of(cls, home: Path) -> Wire:
        return cls(home / "sent", home / "received")

    def asked(self, method: str) -> list[Message]:
        return [m for m in messages_in(self.sent) if m.get("method") == method]

    def n_asked(self) -> int:
        return len(self.asked("textDocument/completion"))

    def last_items(self) -> list[Message] | None:
        """Return the items of the answer to the last question for completions, None before it."""
        asked = self.asked("textDocument/completion")
        answers = self._answers()
        return items_of(answers[asked[-1]["id"]]) if asked and asked[-1]["id"] in answers else None

    def offers(self) -> dict[str, Offer]:
        """Return for each row the last item that was the row's."""
        answers = self._answers()
        found = {}
        for asked, text in self._questions():
            where = asked["params"]["position"]
            line = text.split("\n")[where["line"]]
            names = [name for name in ROWS if line_of(name) == where["line"]]
            for name in names:
                for item in items_of(answers.get(asked["id"], {})):
                    if is_of(item, ROWS[name]):
                        column = where["character"]
                        typed = (ROWS[name].lead + ROWS[name].typed)[column:]
                        found[name] = Offer(item, line, column, typed)
        return found

    def _answers(self) -> dict[Any, Message]:
        return {m["id"]: m for m in messages_in(self.received) if "method" not in m}

    def _questions(self) -> Iterator[tuple[Message, str]]:
        """Yield each question for completions, with the text of the file at that time."""
        text = ""
        for message in messages_in(self.sent):
            match message.get("method"):
                case "textDocument/didOpen":
                    text = message["params"]["textDocument"]["text"]
                case "textDocument/didChange":
                    for change in message["params"]["contentChanges"]:
                        text = _changed(text, change)
                case "textDocument/completion":
                    yield message, text


def is_of(item: Message, row: Row) -> bool:
    """Return whether an item has what is meant to be written."""
    return item["insertText"] in row.meant


def items_of(answer: Message) -> list[Message]:
    return list((answer.get("result") or {}).get("items", []))


def _changed(text: str, change: Message) -> str:
    if "range" not in change:
        return str(change["text"])
    start, end = (_offset(text, change["range"][side]) for side in ("start", "end"))
    return f"{text[:start]}{change['text']}{text[end:]}"


def _offset(text: str, position: Message) -> int:
    lines = text.split("\n")[: position["line"]]
    return sum(len(line) + 1 for line in lines) + int(position["character"])


def wiretap(home: Path) -> Wire:
    """Have what an editor sends to the server of *home*, and what it gets, copied to two files."""
    wire = Wire.of(home)
    program = home / ".local/bin/fim-lsp"
    server = program.read_text().replace("exec ", "").removeprefix("#!/bin/sh\n").strip()
    program.write_text(f'#!/bin/sh\ntee "{wire.sent}" | {server} | tee "{wire.received}"\n')
    return wire


def messages_in(file: Path) -> list[Message]:
    """Return the whole JSON-RPC messages that were copied to *file* so far."""
    found = []
    data = file.read_bytes() if file.exists() else b""
    while match := re.match(rb"Content-Length: (\d+)\r\n(?:[^\r]+\r\n)*\r\n", data):
        end = match.end() + int(match[1])
        if end > len(data):
            break
        found.append(json.loads(data[match.end() : end]))
        data = data[end:]
    return found
