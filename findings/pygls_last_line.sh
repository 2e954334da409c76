#!/bin/sh
# pygls: where is a position behind the end of a line?
# At the line's end, as LSP has it, but not on the last line of a text without a final line end: there one character before the
# end. An editor that deletes to the line's end by a large number leaves the last character in pygls' copy, which differs from
# the editor's from then on. A position inside an emoji goes to its end, not to its beginning.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pygls==2.1.1 lsprotocol==2025.0.0
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

from lsprotocol import types
from pygls.workspace import TextDocument

print("pygls", importlib.metadata.version("pygls"))


def delete_to_end(text, line):
    """The text, once all of a line from its second character on is replaced by a mark."""
    start, end = types.Position(line, 1), types.Position(line, 1000)
    document = TextDocument("file:///a", text, 1, sync_kind=types.TextDocumentSyncKind.Incremental)
    document.apply_change(types.TextDocumentContentChangePartial(range=types.Range(start, end), text="#"))
    return document.source


seen = {
    "first line": delete_to_end("ab\ncd", 0),
    "last line": delete_to_end("ab\ncd", 1),
    "with a line end": delete_to_end("ab\ncd\n", 1),
    "inside": TextDocument("file:///a", "a\U0001f980b").offset_at_position(types.Position(0, 2)),
}
print(seen)
expected = {"first line": "a#\ncd", "last line": "ab\nc#d", "with a line end": "ab\nc#\n", "inside": 2}
sys.exit(seen != expected)
END
