#!/bin/sh
# outlines-core: which JSON does the regular expression of a schema allow?
# `allOf` of two objects is one object behind another, which is no JSON: nothing that the schema means can be written. Bounds of
# numbers are ignored without a word, 1e5 is no number (1.5E+3 is one), a required key without a property is not asked for, and a
# pattern without anchors must match all of the text.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check outlines_core==0.2.14
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import json
import re
import sys

from outlines_core.json_schema import build_regex_from_schema

print("outlines_core", importlib.metadata.version("outlines_core"))


def member(name):
    return {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}


SEEN = [  # schema, text, whether it is allowed
    ({"allOf": [member("a"), member("b")]}, '{"a":1,"b":2}', False),
    ({"allOf": [member("a"), member("b")]}, '{"a":1}{"b":2}', True),
    ({"type": "integer", "minimum": 1, "maximum": 5}, "77", True),
    ({"type": "number"}, "1e5", False),
    ({"type": "number"}, "1.5E+3", True),
    ({**member("a"), "required": ["a", "z"]}, '{"a":1}', True),
    ({"type": "string", "pattern": "ab"}, '"cabd"', False),
]
changed = False
for schema, text, expected in SEEN:
    seen = re.fullmatch(build_regex_from_schema(json.dumps(schema)), text) is not None
    print("allowed" if seen else "refused", text, "by", json.dumps(schema), "" if seen == expected else "CHANGED")
    changed |= seen != expected
sys.exit(changed)
END
