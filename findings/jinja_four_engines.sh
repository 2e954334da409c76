#!/bin/sh
# Chat templates: do four engines print the same: Jinja2 (as transformers sets it), minijinja, @huggingface/jinja, llama.cpp's?
# Not where nothing fails, either: llama.cpp's counts bytes for `length`, gives a default for none, does not join spaces in `split()`,
# knows six digits, leaves `%s` as it is, and drops a text of one character before a template's first tag; the remainder of a negative
# number is C's there and JavaScript's in the other; minijinja's `tojson` escapes `<`. A template tried in one may prompt otherwise.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xllamacpp==2026.10.11549 gguf==0.19.0 numpy==2.3.5 jinja2==3.1.6 minijinja==3.1.0
npm install --silent --no-audit --no-fund --prefix "$folder" @huggingface/jinja@0.5.11
cd "$folder"
venv/bin/python "$here/tiny_model.py" tiny.gguf
cat >render.cjs <<'END'
const { Template } = require("@huggingface/jinja");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map((text) => new Template(text).render({}))));
END
venv/bin/python - 2>server.log <<'END'
import importlib.metadata
import json
import subprocess
import sys
import urllib.request

import minijinja
import xllamacpp
from jinja2.sandbox import ImmutableSandboxedEnvironment

for name in ("jinja2", "minijinja", "xllamacpp"):
    print(name, importlib.metadata.version(name))
SEEN = {  # text: what Jinja2, minijinja, @huggingface/jinja and llama.cpp make of it
    "{{ 'aé🦀' | length }}": ("3", "3", "4", "7"),
    "{{ none | default('d') }}": ("None", "None", "", "d"),
    "{{ 'a  b'.split() | join('|') }}": ("a|b", "a|b", "a|b", "a||b"),
    "{{ -7 % 3 }}": ("2", "2", "-1", "-1"),
    "{{ 1 / 3 }}": ("0.3333333333333333", "0.3333333333333333", "0.3333333333333333", "0.333333"),
    "{{ '<a>' | tojson }}": ('"<a>"', '"\\u003ca\\u003e"', '"<a>"', '"<a>"'),
    "{{ [1, 'a'] }}": ("[1, 'a']", "[1, 'a']", '[1, "a"]', "1a"),
    "{{ '{' }}a {% if true %}b{% endif %}": ("{a b", "{a b", "{a b", "{a b"),
    "a {% if true %}b{% endif %}": ("a b", "a b", "a b", "b"),
}


def in_python(text):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    return environment.from_string(text).render()


def in_rust(text):
    return minijinja.Environment(trim_blocks=True, lstrip_blocks=True).render_str(text)


def in_llama(text):
    params = xllamacpp.CommonParams()
    params.model.path = "tiny.gguf"
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_parallel, params.n_ctx, params.warmup = 1, 512, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.use_jinja, params.chat_template = True, text
    server = xllamacpp.Server(params)
    body = json.dumps({"messages": [{"role": "user", "content": "x"}]}).encode()
    request = urllib.request.Request(server.listening_address + "/apply-template", body)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)["prompt"]


done = subprocess.run(["node", "render.cjs"], input=json.dumps(list(SEEN)), capture_output=True, text=True, check=True)
changed = False
for (text, expected), in_javascript in zip(SEEN.items(), json.loads(done.stdout)):
    seen = in_python(text), in_rust(text), in_javascript, in_llama(text)
    print(text, *map(repr, seen), "" if seen == expected else f"CHANGED, was {expected}")
    changed |= seen != expected
sys.exit(changed)
END
