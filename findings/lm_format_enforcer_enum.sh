#!/bin/sh
# lm-format-enforcer: is what it allows JSON, and of the schema?
# Not where a value of `enum`, or a key, holds a quote or a line end: it is compared as it is, without escapes. Of 'a"b' it allows "a" and
# no more; of a value with a line end it allows the line end itself, which no reader of JSON takes. A backslash is right.
# `oneOf` of an integer and a string allows neither, but an object; `anyOf` is right.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check lm-format-enforcer==0.11.3
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

from lmformatenforcer import JsonSchemaParser

print("lm-format-enforcer", importlib.metadata.version("lm-format-enforcer"))


def is_allowed(value, text):
    """Tell whether *text* is allowed, where key `k` is to have that value."""
    parser = JsonSchemaParser({"type": "object", "properties": {"k": value}, "required": ["k"]})
    for character in text:
        if character not in parser.get_allowed_characters():
            return False
        parser = parser.add_character(character)
    return parser.can_end()


NAMES = {"enum": ['a"b', "c\\d", "e\nf"]}
KINDS = [{"type": "integer"}, {"type": "string"}]
SEEN = [  # schema, text, whether it is allowed
    (NAMES, r'{"k": "a\"b"}', False),
    (NAMES, '{"k": "a"}', True),
    (NAMES, r'{"k": "c\\d"}', True),
    (NAMES, r'{"k": "e\nf"}', False),
    (NAMES, '{"k": "e\nf"}', True),
    ({"anyOf": KINDS}, '{"k": 1}', True),
    ({"oneOf": KINDS}, '{"k": 1}', False),
    ({"oneOf": KINDS}, '{"k": "x"}', False),
    ({"oneOf": KINDS}, '{"k": {}}', True),
]
changed = False
for schema, text, expected in SEEN:
    seen = is_allowed(schema, text)
    print(schema, repr(text), seen, "" if seen == expected else "CHANGED")
    changed |= seen != expected
sys.exit(changed)
END
