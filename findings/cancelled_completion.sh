#!/bin/sh
# A completion that is cancelled at once: who answers it with a list all the same?
# bash-language-server does: the whole list, no error. ty and basedpyright answer -32800. LSP allows both, so a client must not
# take a list that comes for one that is still wanted.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
npm install --silent --no-audit --no-fund --prefix "$folder" bash-language-server@5.8.1
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ty==0.0.108 basedpyright==1.40.2
cd "$folder"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here PATH=$folder/venv/bin:$folder/node_modules/.bin:$PATH python3 - <<'END'
import os
import sys

from client import Server

COMMANDS = {
    "ty": ("python", "ty", "server"),
    "basedpyright": ("python", "basedpyright-langserver", "--stdio"),
    "bash": ("shellscript", "bash-language-server", "start"),
}
TEXTS = {
    "python": ("import os\nos.\n", 3),
    "shellscript": ("foo() { :; }\nfo\n", 2),
}
print("ty 0.0.108, basedpyright 1.40.2, bash-language-server 5.8.1")
seen = {}
for name, (language, *command) in COMMANDS.items():
    os.mkdir(name)
    server = Server(name, *command)
    text, character = TEXTS[language]
    uri = server.open("a.py" if language == "python" else "a.sh", language, text)
    request = server.complete(uri, 1, character)
    server.tell("$/cancelRequest", {"id": request})
    answer = server.answer(request)
    seen[name] = answer["error"]["code"] if "error" in answer else "result"
    print(name, seen[name])
    server.close()
sys.exit(seen != {"ty": -32800, "basedpyright": -32800, "bash": "result"})
END
