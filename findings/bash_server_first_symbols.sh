#!/bin/sh
# bash-language-server: a request directly behind didOpen: does the answer know the document?
# No: the symbols of a file that was just opened are an empty list, those of the next request are right; nothing says that the
# first answer came too early. Besides, the server asks for the whole text with every change (sync 1).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
npm install --silent --no-audit --no-fund --prefix "$folder" bash-language-server@5.8.1
cd "$folder"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here PATH=$folder/node_modules/.bin:$PATH python3 - <<'END'
import os
import sys

from client import Server

print("bash-language-server 5.8.1")
os.mkdir("root")
server = Server("root", "bash-language-server", "start")
uri = server.open("a.sh", "shellscript", "foo_one() { :; }\n")


def name_symbols():
    answer = server.answer(server.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}))
    return [symbol["name"] for symbol in answer["result"] or []]


seen = name_symbols(), name_symbols(), server.capabilities["textDocumentSync"]
server.close()
print("first, second, sync:", seen)
sys.exit(seen != ([], ["foo_one"], 1))
END
