"""
The process that reads syntax: texts come in on stdin, what is read of them goes out on stdout, a
line of JSON each.

    in    {"language": …, "text": …, "renamings": [[row, old, new, function], …], or [] to count
          its errors, or null}
    out   a `Syntax`, or null where reading failed; with renamings a list of `Renamed`, or null
          where there is no such definition; or how many nodes are errors

A process of its own because tree-sitter holds Python's lock while it parses, and because a hostile
text can take any time and any memory in it (see `context.grammars`). A text that takes too much
ends this process, not the session. It ends when stdin does, so it cannot outlive the session for
longer than one text.
"""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress

import msgspec

from fim_lsp.context.grammars import count_errors, find_borders, parse_text
from fim_lsp.context.uses import Renaming, find_uses

CPU_S = 2.0
"""Of processor time for one text. A million characters of code take 0.2 s."""

MEMORY_BYTES = 1 << 29  # address space; a million characters of code take 30 MB


def main() -> None:
    """Answer until stdin ends."""
    _limit_memory()
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(_answer(line) + b"\n")
        sys.stdout.flush()


def _answer(line: bytes) -> bytes:
    request = json.loads(line)
    _limit_time(CPU_S)
    try:
        language = request["language"]
        text = request["text"]
        if renamings := request["renamings"]:
            uses = find_uses(language, text, [Renaming(*row) for row in renamings])
            return msgspec.json.encode(uses)
        if renamings is not None:
            tree = parse_text(language, text).tree
            return msgspec.json.encode(tree and count_errors(tree))
        return msgspec.json.encode(find_borders(language, text))
    except Exception:  # noqa: BLE001 (one text that cannot be read is no reason to end)
        return b"null"
    finally:
        _limit_time(0)


def _limit_time(seconds: float) -> None:
    """End this process, also in the midst of native code, after so much work; 0 for no limit."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 (not on Windows)

        with suppress(ValueError, OSError):  # macOS has no such limit
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a core file would hold the user's code


if __name__ == "__main__":
    main()
