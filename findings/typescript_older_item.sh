#!/bin/sh
# typescript-language-server: an item of one list is resolved after another list was asked for: whose import does it get?
# The newer list's: items carry only their number, and the numbers begin again with each list. `makeThing` comes back under its
# own name, with the edit that imports `sellThing`, and no error.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
npm install --silent --no-audit --no-fund --prefix "$folder" typescript-language-server@5.3.0 typescript@5.9.3
cd "$folder"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here PATH=$folder/node_modules/.bin:$PATH python3 - <<'END'
import sys
from pathlib import Path

from client import Server, items

print("typescript-language-server 5.3.0, typescript 5.9.3")
Path("root").mkdir()
Path("root/tsconfig.json").write_text("{}")
Path("root/lib.ts").write_text("export function makeThing() { return 1 }\nexport function sellThing() { return 1 }\n")
server = Server("root", "typescript-language-server", "--stdio")
uri = server.open("a.ts", "typescript", "makeTh\nsellTh\n")


def find(name, line):
    for _ in range(20):  # the first answers come before the project is read
        found = [item for item in items(server.answer(server.complete(uri, line, 6))) if item["label"] == name]
        if found:
            return found[0]
    sys.exit(f"{name} was not offered")


older = find("makeThing", 0)
find("sellThing", 1)
resolved = server.answer(server.ask("completionItem/resolve", older))["result"]
edits = [edit["newText"].strip() for edit in resolved.get("additionalTextEdits", [])]
print("resolved", resolved["label"], "with", edits)
server.close()
sys.exit(resolved["label"] != "makeThing" or edits != ['import { sellThing } from "./lib"'])
END
