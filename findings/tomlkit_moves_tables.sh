#!/bin/sh
# tomlkit, which keeps a file's style: is a file that was only read written as it was, and are values kept where one is added?
# Not always. Tables of an array with another table between them are pulled together by reading and writing alone, comments
# change their table. A table added below a dotted key takes the keys that follow into it: the text is valid, its values are others.
# And behind a key of three parts, as the file's last line without a line end, no line is begun: a new key goes into its comment.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tomlkit==0.15.2
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys
import tomllib

import tomlkit

print("tomlkit", importlib.metadata.version("tomlkit"))
text = "[[a]]\nx = 1\n[b]\n# about the second a\n[[a]]\nx = 2\n"


def add(text, key):
    """Return *text* with another key."""
    document = tomlkit.parse(text)
    document[key] = 2
    return tomlkit.dumps(document)


document = tomlkit.parse("a.b = true\nc = 1\n")
document["a"]["d"] = tomlkit.table()
document["a"]["d"]["e"] = 9
seen = {
    "only read": tomlkit.dumps(tomlkit.parse(text)),
    "values": tomlkit.parse(text).unwrap() == tomllib.loads(text),
    "added, in memory": document.unwrap(),
    "added, written": tomllib.loads(tomlkit.dumps(document)),
    "behind the last line": add("a.b.c = 1 # note", "d"),
}
for name, value in seen.items():
    print(name, repr(value))
expected = {
    "only read": "[[a]]\nx = 1\n[[a]]\nx = 2\n[b]\n# about the second a\n",
    "values": True,
    "added, in memory": {"a": {"b": True, "d": {"e": 9}}, "c": 1},
    "added, written": {"a": {"b": True, "d": {"e": 9, "c": 1}}},
    "behind the last line": "a.b.c = 1 # noted = 2\n",
}
sys.exit(seen != expected)
END
