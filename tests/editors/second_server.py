"""
A small language server beside ours: ghost text `# theirs`, which counts what was accepted. It asks
for nothing.
"""

from __future__ import annotations

import json
import sys
from typing import Any

ITEM = " # theirs"
ACCEPTED = "second.accepted"


def main(log: str) -> None:
    """Answer on stdio until stdin ends; write the methods of what comes into *log*."""
    with open(log, "a", encoding="utf-8", buffering=1) as heard:  # noqa: PTH123
        while length := _length():
            call = json.loads(sys.stdin.buffer.read(length))
            command = (call.get("params") or {}).get("command", "")
            print(call.get("method"), command, file=heard)
            if "id" in call and "method" in call:
                _send({"jsonrpc": "2.0", "id": call["id"], "result": _result(call)})


def _result(call: dict[str, Any]) -> object:
    match call["method"]:
        case "initialize":
            return {
                "capabilities": {
                    "inlineCompletionProvider": {"workDoneProgress": False},
                    "executeCommandProvider": {"commands": [ACCEPTED]},
                    "textDocumentSync": 1,
                }
            }
        case "textDocument/inlineCompletion":
            at = call["params"]["position"]
            command = {"title": "", "command": ACCEPTED, "arguments": []}
            place = {"start": at, "end": at}
            return {"items": [{"insertText": ITEM, "range": place, "command": command}]}
    return None


def _length() -> int:
    """Return the length of the next message, 0 at the end."""
    length = 0
    while (line := sys.stdin.buffer.readline()).strip():
        name, _, value = line.partition(b":")
        length = int(value) if name.lower() == b"content-length" else length
    return length


def _send(message: dict[str, object]) -> None:
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
