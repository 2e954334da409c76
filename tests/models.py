"""
Small llama.cpp models with random weights, for tests that need another model than the bundled one.

They share the bundled model's vocabulary; only the spellings of its special tokens differ, so one
recipe makes a model of any FIM family, or of none. Others have the bundled model's weights, too. Run it to have one
for trying out: with random weights in a size, or with those of the bundled model as a family of `fim.tokens`, as `plain`,
or as `chat`.

    python tests/models.py OUT.gguf [tiny|mid] [N_CTX]
    python tests/models.py OUT.gguf FAMILY
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import gguf
import numpy as np

from server_bridge.fim.tokens import find_by_name

BUNDLED = Path(__file__).parent.parent / "server_bridge" / "models" / "fim-tiny-q8_0.gguf"
END = "<|endoftext|>"
# Byte-level vocabularies spell a byte that is no visible sign by a letter from U+0100 on.
VISIBLE = {*range(33, 127), *range(161, 173), *range(174, 256)}
HIDDEN = [byte for byte in range(256) if byte not in VISIBLE]
BYTE_OF = {chr(b): b for b in VISIBLE} | {chr(256 + n): b for n, b in enumerate(HIDDEN)}
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SPECIALS = (
    "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>",
    "<|file_sep|>",
)  # fmt: skip


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
    moved: int = 0,
) -> Path:
    """
    Write a model; *specials* are spellings in `SPECIALS`' order, "" for a token it lacks.

    All numbers of its tokens are *moved* by as much.
    """
    return write_random(path, bytelevel(specials, moved), shape, n_ctx=n_ctx, seed=seed)


def write_random(
    path: Path, words: Vocabulary, shape: Shape, *, n_ctx: int, seed: int, rope: float = 1e6
) -> Path:
    """Write a model of random weights, with the vocabulary *words* and rotary embeddings to the base *rope*."""
    out = gguf.GGUFWriter(path, "qwen2")
    out.add_context_length(n_ctx)
    out.add_embedding_length(shape.width)
    out.add_block_count(shape.n_layers)
    out.add_feed_forward_length(shape.n_ff)
    out.add_head_count(shape.n_heads)
    out.add_head_count_kv(shape.n_kv_heads)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_freq_base(rope)
    add_vocabulary(out, words)
    values_of = weights(shape, len(words.tokens), words.kinds, np.random.default_rng(seed))
    for name, values in values_of:
        quantized(out, name, values)
    return finish(out, path)


def rewritten(
    path: Path,
    *,
    specials: Sequence[str] = SPECIALS,
    sentencepiece: bool = False,
    chat_template: str = "",
) -> Path:
    """
    Write the bundled model, which completes Python, with another vocabulary for the same weights.

    A *sentencepiece* one has the same pieces, with `▁` for a space; a byte that is no ASCII sign is a byte token.
    """
    out = gguf.GGUFWriter(path, "qwen2")
    for name, field in bundled().fields.items():
        if name.startswith("qwen2.") or name == "general.file_type":
            out.add_key_value(name, field.contents(), field.types[0])
    add_vocabulary(out, _sentencepiece(specials) if sentencepiece else bytelevel(specials))
    if chat_template:
        out.add_chat_template(chat_template)
    for tensor in bundled().tensors:
        out.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    return finish(out, path)


def of_family(path: Path, name: str) -> Path:
    """Write the bundled model as one of a family, in SentencePiece's vocabulary where the family has such."""
    if name == "chat":
        marks = ("", "<|im_start|>", "<|im_end|>", "", "", "")
        return rewritten(path, specials=marks, chat_template=CHATML)
    family = find_by_name(name)
    assert family is not None
    spellings = (family.prefix, family.middle, family.suffix, "", family.repo, family.file)
    return rewritten(path, specials=spellings, sentencepiece=name == "codellama")


def add_vocabulary(out: gguf.GGUFWriter, words: Vocabulary) -> None:
    """Add tokens, their kinds, and what a tokenizer needs besides."""
    out.add_token_list(words.tokens)
    out.add_token_types(words.kinds)
    out.add_bos_token_id(words.start)
    out.add_eos_token_id(words.end)
    out.add_add_bos_token(words.scores is not None)
    if words.merges is not None:
        out.add_tokenizer_model("gpt2")
        out.add_tokenizer_pre("qwen2")
        out.add_token_merges(words.merges)
    if words.scores is not None:
        out.add_tokenizer_model("llama")
        out.add_token_scores(words.scores)
        out.add_add_space_prefix(True)


def quantized(out: gguf.GGUFWriter, name: str, values: np.ndarray) -> None:
    """Add a tensor, in Q8_0 where it is a matrix."""
    if values.ndim == 2:
        kind = gguf.GGMLQuantizationType.Q8_0
        out.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    else:
        out.add_tensor(name, values)


def finish(out: gguf.GGUFWriter, path: Path) -> Path:
    """Write all that was added, and close the file."""
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path


@functools.cache
def bundled() -> gguf.GGUFReader:
    """Return the bundled model, read once: that takes longer than to write another one."""
    return gguf.GGUFReader(BUNDLED)


@functools.cache
def spelled() -> tuple[list[str], list[str]]:
    """Return its tokens and merges."""
    fields = bundled().fields
    tokens, merges = (fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    return tokens, merges


def bytelevel(specials: Sequence[str], moved: int = 0) -> Vocabulary:
    """Return the bundled model's, with other spellings of its special tokens."""
    known, merges = spelled()
    renamed = dict(zip(SPECIALS, specials, strict=True))
    tokens = [renamed.get(t, t) for t in known]
    tokens = [t or f"[UNUSED{i}]" for i, t in enumerate(tokens)]
    tokens = tokens[-moved:] + tokens[:-moved]
    end = tokens.index(END)
    return Vocabulary(tokens, [_kind(t, specials) for t in tokens], end, end, merges=merges)


def _sentencepiece(specials: Sequence[str]) -> Vocabulary:
    """Return the bundled model's pieces, numbered as they are, as SentencePiece would have them."""
    known = bytelevel(specials)
    found = [
        _piece(token, number) if kind == gguf.TokenType.NORMAL else (token, kind)
        for number, (token, kind) in enumerate(zip(known.tokens, known.kinds, strict=True))
    ]
    tokens = [token for token, _ in found]
    kinds = [kind for _, kind in found]
    scores = [-float(number) for number in range(len(tokens))]
    return Vocabulary(tokens, kinds, known.start, known.end, scores=scores)


def _piece(token: str, number: int) -> tuple[str, gguf.TokenType]:
    """One token of a byte-level vocabulary in SentencePiece's spelling."""
    data = bytes(map(BYTE_OF.__getitem__, token))
    if len(data) == 1 and not 32 <= data[0] < 127:
        return f"<0x{data[0]:02X}>", gguf.TokenType.BYTE
    try:
        return data.decode().replace(" ", "▁"), gguf.TokenType.NORMAL
    except UnicodeDecodeError:  # part of a character with its neighbours
        return f"[UNUSED{number}]", gguf.TokenType.UNUSED


def _kind(token: str, specials: Sequence[str]) -> gguf.TokenType:
    if token == END or token in specials:
        return gguf.TokenType.CONTROL
    return gguf.TokenType.UNUSED if token.startswith("[UNUSED") else gguf.TokenType.NORMAL


def weights(shape: Shape, n_vocab: int, kinds: Sequence[int], rng: np.random.Generator):
    """Names and random values; the head never picks a special token, so text does not end."""

    def random(*size: int) -> np.ndarray:
        return rng.standard_normal(size, dtype=np.float32) * np.float32(0.05)

    width = shape.width
    n_kv = shape.width // shape.n_heads * shape.n_kv_heads
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
    if size in SHAPES:
        write_model(Path(out), shape=SHAPES[size], n_ctx=int(n_ctx))
    else:
        of_family(Path(out), size)
