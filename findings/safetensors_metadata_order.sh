#!/bin/sh
# safetensors: is a file that is saved twice the same file?
# Not with metadata of several keys: each save writes them in another order, so a hash of the file says nothing about its
# content. The tensors are told in two more orders: sorted by name (keys), and as they lie in the file (offset_keys).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check safetensors==0.8.0 numpy==2.3.5
cd "$folder"
venv/bin/python - <<'END'
import importlib.metadata
import sys

import numpy
import safetensors
import safetensors.numpy

print("safetensors", importlib.metadata.version("safetensors"))
tensors = {"b": numpy.zeros(2, "float32"), "z": numpy.zeros(2, "float64"), "a": numpy.zeros(2, "int8")}
metadata = {sign: sign for sign in "qwertyuiop"}
with_metadata = {safetensors.numpy.save(tensors, metadata) for _ in range(20)}
without = {safetensors.numpy.save(tensors) for _ in range(20)}
safetensors.numpy.save_file(tensors, "x.safetensors")
with safetensors.safe_open("x.safetensors", "np") as file:
    orders = "".join(file.keys()), "".join(file.offset_keys())
print(len(with_metadata), "different files of 20 with metadata,", len(without), "without; keys, offset_keys:", orders)
sys.exit(not (len(with_metadata) > 1 and len(without) == 1 and orders == ("abz", "zba")))
END
