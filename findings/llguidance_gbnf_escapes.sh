#!/bin/sh
# llguidance's converter of llama.cpp's grammars (`gbnf_to_lark`): does it take what llama.cpp takes?
# Not `\u00e9`: the zeros are left out, and its own parser refuses `\ue9`. Not rules whose names differ in case or in `-` and `_`:
# both become one name in capitals. It takes `_` in names, which llama.cpp refuses.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xllamacpp==2026.10.11549 gguf==0.19.0 numpy==2.3.5 llguidance==1.9.1
cd "$folder"
venv/bin/python "$here/tiny_model.py" tiny.gguf
venv/bin/python - 2>server.log <<'END'
import importlib.metadata
import json
import sys
import urllib.error
import urllib.request

import xllamacpp
from llguidance import LLMatcher, LLTokenizer
from llguidance.gbnf_to_lark import gbnf_to_lark

for name in ("llguidance", "xllamacpp"):
    print(name, importlib.metadata.version(name))
params = xllamacpp.CommonParams()
params.model.path = "tiny.gguf"
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_parallel, params.n_ctx = 1, 512
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)


def is_taken_by_llama(grammar):
    body = json.dumps({"prompt": "x", "n_predict": 1, "grammar": grammar}).encode()
    try:
        urllib.request.urlopen(urllib.request.Request(server.listening_address + "/completion", body), timeout=60).close()
    except urllib.error.HTTPError:
        return False
    return True


def is_taken_by_llguidance(grammar):
    try:
        converted = gbnf_to_lark(grammar)
    except Exception:  # it raises no other class
        return False
    return not LLMatcher(LLTokenizer("byte"), LLMatcher.grammar_from_lark(converted)).is_error()


SEEN = {  # llama.cpp, llguidance
    'root ::= [^"]* "a"{2,3}': (True, True),
    'root ::= "\\u00e9"': (True, False),
    'root ::= item Item\nitem ::= "a"\nItem ::= "b"': (True, False),
    'root ::= my_item\nmy_item ::= "a"': (False, True),
}
changed = False
for grammar, expected in SEEN.items():
    seen = is_taken_by_llama(grammar), is_taken_by_llguidance(grammar)
    print(repr(grammar), "llama.cpp:", seen[0], "llguidance:", seen[1], "" if seen == expected else "CHANGED")
    changed |= seen != expected
sys.exit(changed)
END
