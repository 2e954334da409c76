"""
Small llama.cpp models with random weights, for tests that need another model than the bundled one.

They share the bundled model's vocabulary; only the spellings of its special tokens differ, so one
recipe makes a model of any FIM family, or of none. Run it to have one for trying out:

    python tests/models.py OUT.gguf [tiny|mid] [N_CTX]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np

BUNDLED = Path(__file__).parent.parent / "server_bridge" / "models" / "fim-tiny-q8_0.gguf"
END = "<|endoftext|>"
SPECIALS = (
    "<|fim_prefix|>",
    "<|fim_middle|>",
    "<|fim_suffix|>",
    "<|fim_pad|>",
    "<|repo_name|>",
    "<|file_sep|>",
)


class Shape(NamedTuple):
    """Qwen2's architecture in numbers."""

    n_layers: int
    width: int
    n_heads: int
    n_kv_heads: int
    n_ff: int


SHAPES = {
    "tiny": Shape(2, 64, 2, 1, 128),
    "mid": Shape(12, 896, 14, 2, 4864),  # half the layers of Qwen2.5-Coder-0.5B: 180M parameters
}


class Vocabulary(NamedTuple):
    """Tokens and their kinds; *merges* of a byte-level BPE, or *scores* of a SentencePiece model."""

    tokens: list[str]
    kinds: list[gguf.TokenType]
    start: int
    end: int
    merges: list[str] | None = None
    scores: list[float] | None = None


def write_model(
    path: Path,
    *,
    specials: Sequence[str] = SPECIALS,
    shape: Shape = SHAPES["tiny"],
    n_ctx: int = 4096,
    seed: int = 1,
    sentencepiece: bool = False,
) -> Path:
    """Write a model; *specials* are spellings in `SPECIALS`' order, "" for a token it lacks."""
    words = _sentencepiece(specials) if sentencepiece else _bytelevel(specials)
    out = gguf.GGUFWriter(path, "qwen2")
    out.add_context_length(n_ctx)
    out.add_embedding_length(shape.width)
    out.add_block_count(shape.n_layers)
    out.add_feed_forward_length(shape.n_ff)
    out.add_head_count(shape.n_heads)
    out.add_head_count_kv(shape.n_kv_heads)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_freq_base(1e6)
    out.add_token_list(words.tokens)
    out.add_token_types(words.kinds)
    out.add_bos_token_id(words.start)
    out.add_eos_token_id(words.end)
    out.add_add_bos_token(sentencepiece)
    if words.merges is not None:
        out.add_tokenizer_model("gpt2")
        out.add_tokenizer_pre("qwen2")
        out.add_token_merges(words.merges)
    if words.scores is not None:
        out.add_tokenizer_model("llama")
        out.add_token_scores(words.scores)
        out.add_add_space_prefix(True)
    weights = _weights(shape, len(words.tokens), words.kinds, np.random.default_rng(seed))
    for name, values in weights:
        if values.ndim == 2:
            kind = gguf.GGMLQuantizationType.Q8_0
            out.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            out.add_tensor(name, values)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path


def _bytelevel(specials: Sequence[str]) -> Vocabulary:
    """The bundled model's, with other spellings of its special tokens."""
    fields = gguf.GGUFReader(BUNDLED).fields
    merges = fields["tokenizer.ggml.merges"].contents()
    renamed = dict(zip(SPECIALS, specials, strict=True))
    tokens = [renamed.get(t, t) for t in fields["tokenizer.ggml.tokens"].contents()]
    tokens = [t or f"[UNUSED{i}]" for i, t in enumerate(tokens)]
    end = tokens.index(END)
    return Vocabulary(tokens, [_kind(t, specials) for t in tokens], end, end, merges=merges)


def _sentencepiece(specials: Sequence[str]) -> Vocabulary:
    """Bytes, ASCII and some words with all their beginnings, as SentencePiece would merge them."""
    kind = gguf.TokenType
    special = ["<s>", "</s>", *filter(None, specials)]
    octets = [f"<0x{n:02X}>" for n in range(256)]
    pieces = [*"▁", *map(chr, range(33, 127)), "▁▁", "▁▁▁▁"]
    for word in ("▁def", "▁return", "▁self", "area", "width", "height", "price"):
        pieces += [word[:n] for n in range(2, len(word) + 1)]
    pieces = list(dict.fromkeys(pieces))
    tokens = ["<unk>", *special, *octets, *pieces]
    kinds = [kind.UNKNOWN, *[kind.CONTROL] * len(special), *[kind.BYTE] * 256]
    kinds += [kind.NORMAL] * len(pieces)
    scores = [0.0] * (len(tokens) - len(pieces)) + [-float(n) for n in range(len(pieces))]
    return Vocabulary(tokens, kinds, start=1, end=2, scores=scores)


def _kind(token: str, specials: Sequence[str]) -> gguf.TokenType:
    if token == END or token in specials:
        return gguf.TokenType.CONTROL
    return gguf.TokenType.UNUSED if token.startswith("[UNUSED") else gguf.TokenType.NORMAL


def _weights(shape: Shape, n_vocab: int, kinds: Sequence[int], rng: np.random.Generator):
    """Names and random values; the head never picks a special token, so text does not end."""

    def random(*size: int) -> np.ndarray:
        return rng.standard_normal(size, dtype=np.float32) * np.float32(0.05)

    width, n_kv = shape.width, shape.width // shape.n_heads * shape.n_kv_heads
    head = random(n_vocab, width)
    head[[kind != gguf.TokenType.NORMAL for kind in kinds]] = 0
    yield "token_embd.weight", random(n_vocab, width)
    yield "output_norm.weight", np.ones(width, np.float32)
    yield "output.weight", head
    for layer in range(shape.n_layers):
        block = f"blk.{layer}."
        yield block + "attn_norm.weight", np.ones(width, np.float32)
        yield block + "ffn_norm.weight", np.ones(width, np.float32)
        for name, size in (("q", width), ("k", n_kv), ("v", n_kv)):
            yield f"{block}attn_{name}.weight", random(size, width)
            yield f"{block}attn_{name}.bias", np.zeros(size, np.float32)
        yield block + "attn_output.weight", random(width, width)
        yield block + "ffn_gate.weight", random(shape.n_ff, width)
        yield block + "ffn_up.weight", random(shape.n_ff, width)
        yield block + "ffn_down.weight", random(width, shape.n_ff)


if __name__ == "__main__":
    out, size, n_ctx = [*sys.argv[1:], *("", "tiny", "4096")[len(sys.argv) - 1 :]]
    write_model(Path(out), shape=SHAPES[size], n_ctx=int(n_ctx))
