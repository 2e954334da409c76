#!/bin/sh
# gguf (Python): what does the writer do with an empty list, an empty text, and a key that is added twice?
# The two empty values are left out without a word, so a reader cannot tell "none" from "not said"; of a key that is added
# twice the later value stands, with a warning in the log only. A list of whole and broken numbers is refused when the file
# is written, not when it is added, and leaves a file of 24 bytes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check gguf==0.19.0 numpy==2.3.5
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import os
import sys

import gguf

print("gguf", importlib.metadata.version("gguf"))


def write(**values):
    writer = gguf.GGUFWriter("x.gguf", "llama")
    for key, value in values.items():
        (writer.add_array if isinstance(value, list) else writer.add_string)(key, value)
    if "twice" in values:
        writer.add_string("twice", "second")
    writer.add_tensor("w", __import__("numpy").zeros((1, 1), "float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


write(list=[], text="", twice="first", full=["a"])
fields = gguf.GGUFReader("x.gguf").fields
seen = {key: fields[key].contents() for key in ("list", "text", "twice", "full") if key in fields}
try:
    write(mixed=[1, 2.5])
    refused = None
except ValueError as error:
    refused = str(error)
left = os.path.getsize("x.gguf")
print(seen, "| mixed:", refused, "| bytes left:", left)
sys.exit((seen, bool(refused), left) != ({"twice": "second", "full": ["a"]}, True, 24))
END
