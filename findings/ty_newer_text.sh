#!/bin/sh
# ty: a change comes while a completion is computed: what is the answer?
# No error: the completion is computed once more, of the newer text at the old position. Asked behind `os.` with a line typed
# above meanwhile, it lists names that fit into `import os`: the request's position is no longer where the cursor was.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ty==0.0.108
cd "$folder"
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here PATH=$folder/venv/bin:$PATH venv/bin/python - <<'END'
import importlib.metadata
import os
import sys

from client import Server, items

print("ty", importlib.metadata.version("ty"))
seen = []
for number in range(3):
    os.mkdir(f"root{number}")
    server = Server(f"root{number}", "ty", "server")
    uri = server.open("a.py", "python", "import os\nos.\n")
    request = server.complete(uri, 1, 3)
    server.insert(uri, 2, 0, 0, "# a line\n")
    answer = server.answer(request)
    labels = [item["label"] for item in items(answer)]
    seen.append("error" if "error" in answer else "older" if "getcwd" in labels else "newer")
    print("error:", answer.get("error"), "|", len(labels), "items:", labels[:4])
    server.close()
sys.exit("newer" not in seen or "error" in seen)  # an idle machine may be done before the change comes
END
