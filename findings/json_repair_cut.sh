#!/bin/sh
# json_repair on JSON that is cut off, as a stream of tool calls is at each of its pieces: are the parts that came whole kept?
# Not all: a line end at the end of a string is lost, so the whole "x = 1\n" is "x = 1", unless `stream_stable` is set. A value's kind changes
# with it, too: `{"k"` is a list, `{"k": 1` an object. jiter has both right.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check json-repair==0.64.6 jiter==0.19.0
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

import jiter
import json_repair

for name in ("json-repair", "jiter"):
    print(name, importlib.metadata.version(name))
SEEN = [  # text, what it is read as, and with `stream_stable`
    (r'{"code": "x = 1\n", "more": [2', {"code": "x = 1", "more": [2]}, {"code": "x = 1\n", "more": [2]}),
    (r'{"code": "x = 1\ny", "more": [2', {"code": "x = 1\ny", "more": [2]}, {"code": "x = 1\ny", "more": [2]}),
    ('{"k"', ["k"], ["k"]),
    ('{"k": 1', {"k": 1}, {"k": 1}),
]
changed = False
for text, *expected in SEEN:
    seen = [json_repair.loads(text), json_repair.loads(text, stream_stable=True)]
    stable = jiter.from_json(text.encode(), partial_mode="trailing-strings")
    print(text, *seen, "jiter:", stable)
    changed |= seen != expected or stable != (expected[1] if ":" in text else {})
sys.exit(changed)
END
