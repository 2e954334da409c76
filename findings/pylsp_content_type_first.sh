#!/bin/sh
# Two header fields, in either order, before a message: is it read?
# Not by python-lsp-server (python-lsp-jsonrpc) where Content-Type stands first, as LSP allows: the message is never answered, and
# nothing is logged; behind Content-Length it is. jedi-language-server (pygls) reads both.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check python-lsp-server==1.15.0 python-lsp-jsonrpc==1.1.2 jedi-language-server==0.47.0
cd "$folder"
HOME=$folder PATH=$folder/venv/bin:$PATH python - <<'END'
import importlib.metadata
import json
import subprocess
import sys
import threading

for name in ("python-lsp-server", "python-lsp-jsonrpc", "jedi-language-server"):
    print(name, importlib.metadata.version(name))
KIND = b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
params = {"processId": None, "rootUri": None, "capabilities": {}}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
length = b"Content-Length: %d\r\n" % len(body)


def is_answered(command, header, limit_s):
    """Tell whether a server answers `initialize` behind that header."""
    server = subprocess.Popen([command], stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)
    server.stdin.write(header + b"\r\n" + body)
    server.stdin.flush()
    answered = threading.Event()
    reader = threading.Thread(target=lambda: server.stdout.readline() and answered.set(), daemon=True)
    reader.start()
    answered.wait(limit_s)
    seen = answered.is_set()
    server.terminate()
    server.wait()
    return seen


seen = {
    "pylsp, length first": is_answered("pylsp", length + KIND, 60),
    "pylsp, type first": is_answered("pylsp", KIND + length, 15),
    "jedi-language-server, type first": is_answered("jedi-language-server", KIND + length, 60),
}
print(seen)
sys.exit([*seen.values()] != [True, False, True])
END
