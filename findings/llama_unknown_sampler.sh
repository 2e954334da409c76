#!/bin/sh
# llama-server: a sampler's name is misspelled: an error, or what?
# No error: the name is left out, generation_settings tells a list without it, and `temperature` 0 no longer means greedy where
# no sampler is left: the text is drawn from the model's whole distribution and depends on the seed.
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


texts = {}
for samplers in (["temperature"], ["temprature"]):
    answers = [complete(samplers=samplers, seed=seed) for seed in (1, 2, 3)]
    texts[samplers[0]] = len({answer["content"] for answer in answers})
    taken = answers[0]["generation_settings"]["samplers"]
    print(samplers, "three seeds, different texts:", texts[samplers[0]], "samplers told:", taken)
sys.exit(texts != {"temperature": 1, "temprature": 3} or taken != [])
END
