#!/bin/sh
# A request that crosses `shutdown`: what does the server answer? LSP says InvalidRequest, -32600.
# Rust servers (ruff) say so. Servers of vscode-languageserver (bash-language-server; yaml, json, css, html, basedpyright by hand)
# answer as if nothing had been said. Servers of pygls (jedi) never answer: a client that waits for all of its requests does not end.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ruff==0.17.5 jedi-language-server==0.47.0 pygls==2.1.1
npm install --silent --no-audit --no-fund --prefix "$folder" bash-language-server@5.8.1
cd "$folder"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here PATH=$folder/venv/bin:$folder/node_modules/.bin:$PATH HOME=$folder python3 - <<'END'
import os
import queue
import sys

from client import Server

os.mkdir("root")


def ask_behind_shutdown(name, language, *command):
    """Return the code of the error, or the result, of a request behind `shutdown`; "never" after 8 s without any."""
    server = Server("root", *command)
    uri = server.open(name, language, "x=1\n")
    shutdown = server.ask("shutdown", None)
    hover = server.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}})
    server.answer(shutdown)
    wait = server._inbox.get
    server._inbox.get = lambda timeout: wait(timeout=min(timeout, 8))
    try:
        answer = server.answer(hover)
        said = answer["error"]["code"] if "error" in answer else answer["result"]
    except queue.Empty:
        said = "never"
    server.tell("exit", None)
    code = server._process.wait(10)
    return said, code


seen = {
    "ruff": ask_behind_shutdown("a.py", "python", "ruff", "server"),
    "bash-language-server": ask_behind_shutdown("a.sh", "shellscript", "bash-language-server", "start"),
    "jedi-language-server": ask_behind_shutdown("b.py", "python", "jedi-language-server"),
}
print("answer, exit code:", seen)
sys.exit(seen != {"ruff": (-32600, 0), "bash-language-server": (None, 0), "jedi-language-server": ("never", 0)})
END
