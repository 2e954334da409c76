#!/bin/sh
# A SentencePiece model with byte fallback, converted to GGUF: does llama.cpp make the same tokens of code?
# Of a BPE model it does. Of a unigram model (tokenizer "t5") a character outside the vocabulary is <unk>, though the 256 byte tokens
# are there and said to be such: what the user wrote is lost. Runs of spaces are cut elsewhere, too.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xllamacpp==2026.10.11549 gguf==0.19.0 numpy==2.3.5 sentencepiece==0.2.3
cd "$folder"
cat >run.py <<'END'
import argparse
import importlib.metadata
import io
import json
import pathlib
import subprocess
import sys
import urllib.request

import gguf
import numpy as np
import sentencepiece

LINES = ["def f(x):", "    return x + 1", "    if value is None:", "@property", "x = 'é'", "        "]
WIDTH = 64


def train(kind):
    out = io.BytesIO()
    code = pathlib.Path(argparse.__file__).read_text("utf-8").replace("@", "").splitlines()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for line in code if line.strip()]), model_writer=out, model_type=kind, vocab_size=1000,
        byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True, num_threads=1, minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())


def convert(model, tokenizer, path):
    """Write a model of one layer with this vocabulary."""
    writer = gguf.GGUFWriter(path, "llama")
    numbers = range(model.get_piece_size())
    for add, value in (
        (writer.add_context_length, 512), (writer.add_embedding_length, WIDTH), (writer.add_block_count, 1),
        (writer.add_feed_forward_length, WIDTH), (writer.add_head_count, 2), (writer.add_head_count_kv, 2),
        (writer.add_layer_norm_rms_eps, 1e-5), (writer.add_rope_dimension_count, WIDTH // 2),
        (writer.add_tokenizer_model, tokenizer), (writer.add_tokenizer_pre, "default"),
        (writer.add_token_list, [model.id_to_piece(n) for n in numbers]),
        (writer.add_token_scores, [model.get_score(n) for n in numbers]),
        (writer.add_token_types, [2 if n == 0 else 3 if n < 3 else 6 if model.is_byte(n) else 1 for n in numbers]),
        (writer.add_unk_token_id, 0), (writer.add_bos_token_id, 1), (writer.add_eos_token_id, 2),
        (writer.add_add_bos_token, False), (writer.add_add_space_prefix, True), (writer.add_remove_extra_whitespaces, False),
    ):
        add(value)
    square = [f"attn_{name}" for name in ("q", "k", "v", "output")] + ["ffn_gate", "ffn_up", "ffn_down"]
    shapes = {f"blk.0.{name}": (WIDTH, WIDTH) for name in square}
    shapes |= {"token_embd": (len(numbers), WIDTH), "output": (len(numbers), WIDTH)}
    shapes |= {name: (WIDTH,) for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm")}
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", np.ones(shape, "float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


SERVE = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ["127.0.0.1"], 0
params.n_parallel, params.n_ctx, params.cpuparams.n_threads = 1, 512, 1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def compare(kind, tokenizer):
    """Return the lines whose tokens differ, and the pieces that llama.cpp makes of "@property"."""
    model = train(kind)
    convert(model, tokenizer, "model.gguf")
    command = [sys.executable, "-c", SERVE, "model.gguf"]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True) as server:
        url = server.stdout.readline().strip()

        def tokenize(line):
            body = json.dumps({"content": line, "add_special": False}).encode()
            with urllib.request.urlopen(urllib.request.Request(url + "/tokenize", body), timeout=60) as answer:
                return json.load(answer)["tokens"]

        theirs = {line: tokenize(line) for line in LINES}
        server.stdin.close()
    return [line for line in LINES if theirs[line] != model.encode(line)], "<unk>" in map(model.id_to_piece, theirs["@property"])


for name in ("sentencepiece", "xllamacpp"):
    print(name, importlib.metadata.version(name))
seen = compare("bpe", "llama"), compare("unigram", "t5")
print("lines that differ, <unk> for @: BPE", seen[0], "unigram", seen[1])
sys.exit(seen[0] != ([], False) or not {"@property", "x = 'é'"} <= {*seen[1][0]} or not seen[1][1])
END
venv/bin/python run.py
