"""A llama model of two layers, random weights, one token per byte, for llama.cpp: `python tiny_model.py OUT.gguf`."""

import sys

import gguf
import numpy as np

WIDTH = 64
SPECIALS = ["<|end|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]
VISIBLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
HIDDEN = [byte for byte in range(256) if byte not in VISIBLE]
LETTERS = {byte: chr(byte) for byte in VISIBLE} | {b: chr(256 + n) for n, b in enumerate(HIDDEN)}


def write_facts(writer):
    """Write the shape and the vocabulary, as GPT-2's tokenizer spells bytes."""
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(2)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // 2)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([LETTERS[byte] for byte in range(256)] + SPECIALS)
    writer.add_token_types([1] * 256 + [3] * len(SPECIALS))
    writer.add_token_merges([f"{LETTERS[32]} {LETTERS[32]}"])  # one has to be there
    writer.add_eos_token_id(256)
    writer.add_bos_token_id(256)
    writer.add_add_bos_token(False)


def write_weights(writer):
    """Write weights that are the same each time."""
    rng = np.random.default_rng(1)
    n_tokens = 256 + len(SPECIALS)
    shapes = {"token_embd": (n_tokens, WIDTH), "output": (n_tokens, WIDTH), "output_norm": (WIDTH,)}
    for layer in ("blk.0.", "blk.1."):
        shapes |= {layer + name: (WIDTH,) for name in ("attn_norm", "ffn_norm")}
        shapes |= {f"{layer}attn_{name}": (WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        shapes |= {layer + name: (2 * WIDTH, WIDTH) for name in ("ffn_gate", "ffn_up")}
        shapes[layer + "ffn_down"] = (WIDTH, 2 * WIDTH)
    for name, shape in shapes.items():
        weights = rng.standard_normal(shape) * 0.3 if len(shape) == 2 else np.ones(shape)
        writer.add_tensor(name + ".weight", weights.astype(np.float32))


writer = gguf.GGUFWriter(sys.argv[1], "llama")
write_facts(writer)
write_weights(writer)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
