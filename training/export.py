"""
Weights and a tokenizer into GGUF files that llama.cpp runs as `qwen2`.

    python -m training.export build/weights.npz ~/fim-data/tokenizer.json small q8_0 q5_0

    ->  fim-small-q8_0.gguf, fim-small-q5_0.gguf

The embedding, which is the output matrix, too, is q8_0 in all of them but f16.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from training.shapes import EPS, HEAD_WIDTH, ROPE_BASE, SHAPES, Shape
from training.tokens import END, FILE, MIDDLE, PAD, PREFIX, REPO, SPELLINGS, SUFFIX, VOCAB

CONTEXT = 8192  # the longest rows of training
NORMAL, CONTROL, UNUSED = 1, 3, 5  # llama.cpp's token types
FILE_TYPES = {"f16": 1, "q4_0": 2, "q8_0": 7, "q5_0": 8}  # llama.h, llama_ftype
SPECIAL = {
    "bos": END, "eos": END, "padding": PAD, "fim_pre": PREFIX, "fim_suf": SUFFIX, "fim_mid": MIDDLE,
    "fim_pad": PAD, "fim_rep": REPO, "fim_sep": FILE,
}  # fmt: skip
BLOCK = {
    "n1": "attn_norm.weight", "n2": "ffn_norm.weight", "q.weight": "attn_q.weight", "q.bias": "attn_q.bias",
    "k.weight": "attn_k.weight", "k.bias": "attn_k.bias", "v.weight": "attn_v.weight", "v.bias": "attn_v.bias",
    "o.weight": "attn_output.weight", "gate.weight": "ffn_gate.weight", "up.weight": "ffn_up.weight",
    "down.weight": "ffn_down.weight",
}  # fmt: skip

Weights = Mapping[str, NDArray[np.float32]]  # by the names of `Model`


def export(weights: Weights, name: str, tokenizer: dict[str, Any], path: Path, type_: str) -> None:
    """Write one file; *name* is of the shape, *tokenizer* the parsed tokenizer.json."""
    shape = SHAPES[name]
    writer = gguf.GGUFWriter(path, "qwen2")
    _add_settings(writer, f"fim-{name}", shape, FILE_TYPES[type_])
    _add_tokenizer(writer, tokenizer)
    embedding_type = "f16" if type_ == "f16" else "q8_0"
    _add(writer, "token_embd.weight", weights["emb"], embedding_type)  # tied: no output.weight
    _add(writer, "output_norm.weight", weights["nf"], type_)
    for layer in range(shape.layers):
        for ours, theirs in BLOCK.items():
            _add(writer, f"blk.{layer}.{theirs}", weights[f"blocks.{layer}.{ours}"], type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add_settings(writer: gguf.GGUFWriter, name: str, shape: Shape, file_type: int) -> None:
    writer.add_name(name)
    writer.add_description("Fill-in-the-middle for code, made for fim-lsp")
    settings = {
        "context_length": CONTEXT, "embedding_length": shape.width, "block_count": shape.layers,
        "feed_forward_length": shape.inner, "head_count": shape.heads, "head_count_kv": shape.kv_heads,
        "key_length": HEAD_WIDTH, "value_length": HEAD_WIDTH, "layer_norm_rms_eps": EPS,
        "rope_freq_base": ROPE_BASE, "file_type": file_type,
    }  # fmt: skip
    for key, value in settings.items():
        getattr(writer, f"add_{key}")(value)


def _add_tokenizer(writer: gguf.GGUFWriter, tokenizer: dict[str, Any]) -> None:
    tokens = [f"[PAD{n}]" for n in range(VOCAB)]
    types = [UNUSED] * VOCAB
    for text, n in tokenizer["model"]["vocab"].items():
        tokens[n] = text
        types[n] = NORMAL
    for n, text in SPELLINGS.items():
        tokens[n] = text
        types[n] = CONTROL
    merges = tokenizer["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_add_bos_token(False)
    for key, n in SPECIAL.items():
        writer.add_uint32(f"tokenizer.ggml.{key}_token_id", n)


def _add(writer: gguf.GGUFWriter, name: str, tensor: NDArray[np.float32], type_: str) -> None:
    if tensor.ndim == 1:
        writer.add_tensor(name, tensor)
    elif type_ == "f16":
        writer.add_tensor(name, tensor.astype(np.float16))
    else:
        kind = gguf.GGMLQuantizationType[type_.upper()]
        writer.add_tensor(name, gguf.quants.quantize(tensor, kind), raw_dtype=kind)


def main() -> None:
    """Write a file of each type asked for, and say how large it is."""
    weights, tokenizer, shape, *types = sys.argv[1:]
    spec = json.loads(Path(tokenizer).read_text("utf-8"))
    with np.load(weights) as tensors:
        for type_ in types:
            path = Path(f"fim-{shape}-{type_}.gguf")
            export(tensors, shape, spec, path, type_)
            print(path, f"{path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
