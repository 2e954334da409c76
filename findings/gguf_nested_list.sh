#!/bin/sh
# gguf (Python): does a list of lists come back as it was written?
# No: the reader tells the right types (list of lists of whole numbers) and gives one flat list, so the inner lengths are lost.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check gguf==0.19.0 numpy==2.3.5
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

import gguf
import numpy

print("gguf", importlib.metadata.version("gguf"))
writer = gguf.GGUFWriter("x.gguf", "llama")
writer.add_array("pairs", [[1, 2], [3]])
writer.add_tensor("w", numpy.zeros((1, 1), "float32"))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
field = gguf.GGUFReader("x.gguf").fields["pairs"]
seen = [kind.name for kind in field.types], field.contents()
print("written [[1, 2], [3]], read", seen)
sys.exit(seen != (["ARRAY", "ARRAY", "INT32"], [1, 2, 3]))
END
