#!/bin/sh
# llama.cpp's server in xllamacpp: what becomes of a JSON schema with a keyword that its engine cannot do (`not`, `uniqueItems`)?
# xllamacpp's build hands schemas to llguidance. That refuses such a schema with a message; the server answers 200 and writes
# without any constraint, so not even JSON comes. (Debian's build, by llama.cpp's own converter, leaves the keyword out and keeps the
# rest. The two differ without such keywords, too: here further keys are allowed and bounds of numbers kept, there neither.)
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xllamacpp==2026.10.11549 llguidance==1.9.1 gguf==0.19.0 numpy==2.3.5
cd "$folder"
venv/bin/python "$here/tiny_model.py" tiny.gguf
venv/bin/python - 2>server.log <<'END'
import json
import sys
import urllib.request

import llguidance
import xllamacpp

print("xllamacpp", xllamacpp.__version__)
params = xllamacpp.CommonParams()
params.model.path = "tiny.gguf"
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_parallel, params.n_ctx = 1, 1024
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)


def complete(schema):
    body = {"prompt": "x", "n_predict": 60, "temperature": 1, "seed": 3, "json_schema": schema}
    request = urllib.request.Request(server.listening_address + "/completion", json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def refusal(schema):
    matcher = llguidance.LLMatcher(llguidance.LLTokenizer("byte"), llguidance.LLMatcher.grammar_from_json_schema(schema))
    return matcher.is_error()


pair = {"type": "array", "items": {"enum": [1, 2]}, "minItems": 2, "maxItems": 2}
schemas = {"plain": pair, "uniqueItems": {**pair, "uniqueItems": True}, "not": {"type": "boolean", "not": {"const": True}}}
seen = {}
for name, schema in schemas.items():
    try:
        refused = refusal(schema)
    except ValueError:
        refused = True
    answer = complete(schema)
    begins = answer["content"].lstrip()[:1]
    seen[name] = refused, begins in ("[", "t", "f"), answer["generation_settings"]["grammar"].startswith("%llguidance")
    print(name, repr(answer["content"][:40]), answer["stop_type"])
print("llguidance refuses, JSON comes, grammar is llguidance's:", seen)
sys.exit(seen != {"plain": (False, True, True), "uniqueItems": (True, False, True), "not": (True, False, True)})
END
