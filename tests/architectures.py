"""
Small llama.cpp models whose cache is not a plain list of keys and values, with random weights.

A recurrent layer has one state that cannot be rolled back, and a layer with a sliding window forgets
what lies behind it. They share the bundled model's vocabulary. Names of tensors and fields in
`architectures.toml` are those of gguf-py's constants, sizes are the smallest that llama.cpp loads.
Run it to have one for trying out:

    python -m tests.architectures DIR [NAME…]
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np

from tests.models import SPECIALS, add_vocabulary, bytelevel, finish

ARCHITECTURES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
RECURRENT = [name for name, model in ARCHITECTURES.items() if model["recurrent"]]
SLIDING = [
    name for name, model in ARCHITECTURES.items() if "attention.sliding_window" in model["fields"]
]
WIDTH = 64
N_LAYERS = 4


def write(path: Path, name: str, *, n_ctx: int = 32768) -> Path:
    words = bytelevel(SPECIALS)
    rng = np.random.default_rng(1)
    out = gguf.GGUFWriter(path, name)
    out.add_context_length(n_ctx)
    out.add_embedding_length(WIDTH)
    out.add_feed_forward_length(128)
    out.add_block_count(N_LAYERS)
    out.add_head_count(2)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_freq_base(1e6)
    out.add_vocab_size(len(words.tokens))
    add: dict[type, Callable[[str, Any], None]] = {
        bool: out.add_bool, int: out.add_uint32, float: out.add_float32, list: out.add_array,
    }  # fmt: skip
    for field, value in ARCHITECTURES[name]["fields"].items():
        add[type(value)](f"{name}.{field}", value)
    add_vocabulary(out, words)
    head = _values(rng, [len(words.tokens), WIDTH])
    head[[kind != gguf.TokenType.NORMAL for kind in words.kinds]] = 0  # text does not end
    out.add_tensor("token_embd.weight", _values(rng, [len(words.tokens), WIDTH]))
    out.add_tensor("output.weight", head)
    norm = "token_embd_norm" if name == "lfm2" else "output_norm"
    out.add_tensor(norm + ".weight", np.ones(WIDTH, np.float32))
    if name == "starcoder2":
        out.add_tensor(norm + ".bias", np.zeros(WIDTH, np.float32))
    for n, kind in enumerate(ARCHITECTURES[name]["layers"]):
        for tensor in ARCHITECTURES[name][kind].split(","):
            title, size, *how = tensor.split()
            out.add_tensor(f"blk.{n}.{title}", _values(rng, [*map(int, size.split("x"))], *how))
    return finish(out, path)


def _values(rng: np.random.Generator, size: list[int], how: str = "0.05") -> np.ndarray:
    """Return the values that a tensor of this *size* begins with."""
    match how:
        case "ones" | "zeros":
            return np.full(size, float(how == "ones"), np.float32)
        case "falling":
            return -np.linspace(0.01, 1, size[0], dtype=np.float32).reshape(size)
    return rng.standard_normal(size, dtype=np.float32) * np.float32(how)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or ARCHITECTURES:
        print(write(folder / f"{name}.gguf", name))
