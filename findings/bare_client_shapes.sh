#!/bin/sh
# A client that announces nothing (`capabilities: {}`): does a server keep to what such a client can read?
# intelephense does not: its completion of a function is a snippet, "fooBar($0)", which such a client inserts as it stands, and its symbols
# are a tree. vscode-css-language-server's symbols are a tree, too; those of vscode-json-language-server are flat, as LSP asks then.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" intelephense@1.18.5 vscode-langservers-extracted@4.10.0
cd "$folder"
HOME=$folder PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here PATH=$folder/node_modules/.bin:$PATH python3 - <<'END'
import os
import sys

import client

client.CAPABILITIES = {}
print("intelephense 1.18.5, vscode-langservers-extracted 4.10.0")
SERVERS = {  # command, file, language, text
    "php": ("intelephense", "a.php", "<?php\nfunction fooBar($a) { return $a; }\nfooB\n"),
    "css": ("vscode-css-language-server", "a.css", ".a {\n  color: red;\n}\n"),
    "json": ("vscode-json-language-server", "a.json", '{"a": {"b": 1}}\n'),
}
seen = {}
for language, (command, name, text) in SERVERS.items():
    os.mkdir(language)
    server = client.Server(language, command, "--stdio")
    uri = server.open(name, language, text)
    symbols = server.answer(server.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}))["result"]
    seen[language] = "flat" if "location" in symbols[0] else "tree"
    if language == "php":
        found = client.items(server.answer(server.complete(uri, 2, 4)))
        seen["items"] = [(item.get("insertTextFormat"), item["textEdit"]["newText"]) for item in found if item["label"] == "fooBar"]
    server.close()
print(seen)
sys.exit(seen != {"php": "tree", "items": [(2, "fooBar($0)")], "css": "tree", "json": "flat"})
END
