#!/bin/sh
# llama-server: what does an empty text among the stop strings do?
# It stops at once: one token is made, no text is told, stop_type is "word" and stopping_word "". A client that fills `stop` from
# a setting or a line that may be empty gets empty completions, with status 200.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xllamacpp==2026.10.11549 gguf==0.19.0 numpy==2.3.5
cd "$folder"
venv/bin/python "$here/tiny_model.py" tiny.gguf
venv/bin/python - 2>server.log <<'END'
import json
import sys
import urllib.request

import xllamacpp

print("xllamacpp", xllamacpp.__version__)
params = xllamacpp.CommonParams()
params.model.path = "tiny.gguf"
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_parallel, params.n_ctx = 1, 1024
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)


def complete(**fields):
    body = {"prompt": "def f(x):", "n_predict": 20, "temperature": 0, "seed": 1, **fields}
    request = urllib.request.Request(server.listening_address + "/completion", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


fields = "content", "tokens_predicted", "stop_type", "stopping_word"
seen = [[complete(stop=stop)[field] for field in fields] for stop in ([], ["", "\n"])]
print("stop []:", seen[0], "stop ['', newline]:", seen[1])
sys.exit(seen[0][1] != 20 or seen[1] != ["", 1, "word", ""])
END
