"""
Weights and tokenizer into GGUF files that llama.cpp runs as `qwen2`.

    ckpt.pt, tokenizer.json  ->  fim-tiny-f16.gguf, fim-tiny-q8_0.gguf

    python export.py [ckpt.pt [FOLDER]]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import gguf
import model
import numpy as np
import torch

CONTEXT = 4096  # the reach of training; above it the loss rises
NORMAL, CONTROL, UNUSED = 1, 3, 5  # llama.cpp's token types
FIM = {
    "pre": "<|fim_prefix|>",
    "suf": "<|fim_suffix|>",
    "mid": "<|fim_middle|>",
    "pad": "<|fim_pad|>",
    "rep": "<|repo_name|>",
    "sep": "<|file_sep|>",
}
BLOCK = {
    "n1": "attn_norm.weight",
    "n2": "ffn_norm.weight",
    "q.weight": "attn_q.weight",
    "q.bias": "attn_q.bias",
    "k.weight": "attn_k.weight",
    "k.bias": "attn_k.bias",
    "v.weight": "attn_v.weight",
    "v.bias": "attn_v.bias",
    "o.weight": "attn_output.weight",
    "gate.weight": "ffn_gate.weight",
    "up.weight": "ffn_up.weight",
    "down.weight": "ffn_down.weight",
}


def add_settings(writer: gguf.GGUFWriter, file_type: int) -> None:
    writer.add_name("fim-tiny")
    writer.add_description("Fill-in-the-middle for Python, tiny, for trying out and tests")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(model.WIDTH)
    writer.add_block_count(model.LAYERS)
    writer.add_feed_forward_length(model.INNER)
    writer.add_head_count(model.HEADS)
    writer.add_head_count_kv(model.KV_HEADS)
    writer.add_layer_norm_rms_eps(model.EPS)
    writer.add_rope_freq_base(model.ROPE_BASE)
    writer.add_file_type(file_type)


def add_tokenizer(writer: gguf.GGUFWriter, tokenizer: dict) -> None:
    tokens = [f"[PAD{i}]" for i in range(model.VOCAB)]
    types = [UNUSED] * model.VOCAB
    for text, i in tokenizer["model"]["vocab"].items():
        tokens[i], types[i] = text, NORMAL
    specials = {t["content"]: t["id"] for t in tokenizer["added_tokens"]}
    for text, i in specials.items():
        tokens[i], types[i] = text, CONTROL
    merges = tokenizer["model"]["merges"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    writer.add_bos_token_id(specials["<|endoftext|>"])
    writer.add_eos_token_id(specials["<|endoftext|>"])
    writer.add_pad_token_id(specials["<|fim_pad|>"])
    writer.add_add_bos_token(False)
    for key, text in FIM.items():
        writer.add_uint32(f"tokenizer.ggml.fim_{key}_token_id", specials[text])


def add_weights(writer: gguf.GGUFWriter, weights: dict, add: Callable) -> None:
    add(writer, "token_embd.weight", weights["emb"])  # no output.weight: tied
    add(writer, "output_norm.weight", weights["nf"])
    for i in range(model.LAYERS):
        for ours, theirs in BLOCK.items():
            add(writer, f"blk.{i}.{theirs}", weights[f"blocks.{i}.{ours}"])


def add_f16(writer: gguf.GGUFWriter, name: str, weight: torch.Tensor) -> None:
    array = weight.float().numpy()
    writer.add_tensor(name, array.astype(np.float16) if array.ndim == 2 else array)


def add_q8_0(writer: gguf.GGUFWriter, name: str, weight: torch.Tensor) -> None:
    array, q8_0 = weight.float().numpy(), gguf.GGMLQuantizationType.Q8_0
    if array.ndim == 2:
        writer.add_tensor(name, gguf.quants.quantize(array, q8_0), raw_dtype=q8_0)
    else:
        writer.add_tensor(name, array)


def main() -> None:
    checkpoint, folder, *_ = [*sys.argv[1:], *["ckpt.pt", "."][len(sys.argv) - 1 :]]
    weights = torch.load(checkpoint, map_location="cpu")
    tokenizer = json.loads(Path("tokenizer.json").read_text("utf-8"))
    for name, file_type, add in (("f16", 1, add_f16), ("q8_0", 7, add_q8_0)):
        path = Path(folder) / f"fim-tiny-{name}.gguf"
        writer = gguf.GGUFWriter(path, "qwen2")
        add_settings(writer, file_type)
        add_tokenizer(writer, tokenizer)
        add_weights(writer, weights, add)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        print(path, path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
