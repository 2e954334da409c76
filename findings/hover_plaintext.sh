#!/bin/sh
# Hover, asked by a client whose `contentFormat` is plaintext only: who answers Markdown all the same?
# pyrefly, zuban and fortls, with fences. ty answers plain text.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ty==0.0.108 pyrefly==1.5.0 zuban==0.10.2 fortls==3.2.2
cd "$folder"
HOME=$folder PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here PATH=$folder/venv/bin:$PATH python3 - <<'END'
import os
import sys

import client

FORMATS = {"hover": {"contentFormat": ["plaintext"]}, "completion": {"completionItem": {"documentationFormat": ["plaintext"]}}}
client.CAPABILITIES = {"textDocument": FORMATS}
print("ty 0.0.108, pyrefly 1.5.0, zuban 0.10.2, fortls 3.2.2")
PYTHON = 'def fun(a):\n    """Doc."""\n'
FORTRAN = "program p\n  integer :: number\nend program\n"
seen = {}
for command in ("ty server", "pyrefly lsp", "zuban server", "fortls"):
    name = command.split()[0]
    os.mkdir(name)
    server = client.Server(name, *command.split())
    is_fortran = name == "fortls"
    uri = server.open("a.f90", "fortran", FORTRAN) if is_fortran else server.open("a.py", "python", PYTHON)
    place = {"line": 1, "character": 14} if is_fortran else {"line": 0, "character": 5}
    answer = server.answer(server.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": place}))
    seen[name] = answer["result"]["contents"]["kind"]
    print(name, answer["result"]["contents"])
    server.close()
sys.exit(seen != {"ty": "plaintext", "pyrefly": "markdown", "zuban": "markdown", "fortls": "markdown"})
END
