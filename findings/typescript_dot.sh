#!/bin/sh
# typescript-language-server: what does a member's item replace, asked directly behind the dot?
# The dot: newText is ".name", filterText too, and the range begins before it. A client that merges lists of several servers
# therefore has items of two starts at one cursor, one before the dot and one behind it.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
npm install --silent --no-audit --no-fund --prefix "$folder" typescript-language-server@5.3.0 typescript@5.9.3
cd "$folder"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here PATH=$folder/node_modules/.bin:$PATH python3 - <<'END'
import os
import sys

from client import Server, items

print("typescript-language-server 5.3.0, typescript 5.9.3")
os.mkdir("root")
server = Server("root", "typescript-language-server", "--stdio")
uri = server.open("a.ts", "typescript", "const pair = {left: 1, right: 2}\npair.\n")
found = items(server.answer(server.complete(uri, 1, 5)))
server.close()
seen = [(item["label"], item.get("filterText"), item.get("textEdit", {}).get("newText")) for item in found]
starts = [item["textEdit"]["range"]["start"]["character"] for item in found if "textEdit" in item]
print(seen, "starts:", starts)
sys.exit((seen, starts) != ([("left", ".left", ".left"), ("right", ".right", ".right")], [4, 4]))
END
