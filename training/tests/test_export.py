"""An exported model runs in llama.cpp, with PyTorch's answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from benchmarks.serve import serving
from training.shapes import HEAD_WIDTH, SHAPES
from training.tokens import END, MIDDLE, PREFIX, SUFFIX, VOCAB

gguf = pytest.importorskip("gguf")
from training.export import export  # noqa: E402 (needs gguf)

SHAPE = SHAPES["smoke"]
N_TOKENS = 24
CLOSE = 0.05  # of a logit: half precision decides between such


def tokenizer() -> dict[str, Any]:
    """Return bytes of which only two spaces are merged, padded with tokens that no text is made of."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [n for n in range(256) if n not in printable]
    signs = {n: chr(n) for n in printable} | {n: chr(256 + at) for at, n in enumerate(others)}
    vocab = {signs[n]: n for n in range(256)} | {f"unused {n}": n for n in range(257, END)}
    space = signs[ord(" ")]
    return {"model": {"vocab": vocab | {space + space: 256}, "merges": [[space, space]]}}


def weights(seed: int) -> dict[str, np.ndarray]:
    """Random, as large as after some training."""
    rng = np.random.default_rng(seed)
    width = SHAPE.width
    kv = SHAPE.kv_heads * HEAD_WIDTH
    sizes = {
        "q": (width, width), "k": (kv, width), "v": (kv, width), "o": (width, width),
        "gate": (SHAPE.inner, width), "up": (SHAPE.inner, width), "down": (width, SHAPE.inner),
    }  # fmt: skip
    weights: dict[str, np.ndarray] = {"emb": rng.normal(size=(VOCAB, width)), "nf": np.ones(width)}
    for n in range(SHAPE.layers):
        block = {
            f"{name}.weight": rng.normal(size=size) / size[1] ** 0.5 for name, size in sizes.items()
        }
        block |= {f"{name}.bias": rng.normal(size=len(block[f"{name}.weight"])) for name in "qkv"}
        block |= {"n1": rng.uniform(0.5, 2, width), "n2": rng.uniform(0.5, 2, width)}
        weights |= {f"blocks.{n}.{name}": tensor for name, tensor in block.items()}
    return {name: tensor.astype(np.float32) for name, tensor in weights.items()}


def post(url: str, path: str, **body: Any) -> list[int]:
    return httpx.post(url + path, json=body, timeout=60, trust_env=False).json()["tokens"]


def complete_by_model(url: str, prompt: list[int]) -> list[int]:
    options = {"n_predict": N_TOKENS, "temperature": 0, "return_tokens": True, "ignore_eos": True}
    return post(url, "/completion", prompt=prompt, **options)


@pytest.mark.parametrize("type_", ["q8_0", "q5_0", "q4_0"])
def test_every_type_runs_and_knows_its_special_tokens(type_: str, tmp_path: Path) -> None:
    """llama.cpp loads it, spells the gap as we do, and goes on from it."""
    path = tmp_path / "model.gguf"
    export(weights(0), "smoke", tokenizer(), path, type_)
    with serving(path, n_ctx=1024) as url:
        text = "<|fim_prefix|>a\n<|fim_suffix|>\u00e9<|fim_middle|>"
        tokens = post(url, "/tokenize", content=text, parse_special=True)
        assert tokens == [PREFIX, *b"a\n", SUFFIX, *"\u00e9".encode(), MIDDLE]
        assert len(complete_by_model(url, tokens)) == N_TOKENS


def test_llama_cpp_generates_what_pytorch_does(tmp_path: Path) -> None:
    """Token by token, each is the best of PyTorch's or as good as it."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: the training environment")
    from training.model import Model  # noqa: PLC0415

    model = Model(SHAPE)
    model.load_state_dict({name: torch.from_numpy(a) for name, a in weights(0).items()})
    export(weights(0), "smoke", tokenizer(), path := tmp_path / "model.gguf", "f16")
    prompt = list(b"def f(x):\n    return x")
    with serving(path, n_ctx=1024) as url:
        tokens = complete_by_model(url, prompt)
    with torch.no_grad():
        logits = model.logits(torch.tensor([prompt + tokens]))[0, len(prompt) - 1 : -1]
    missed = logits.max(dim=1).values - logits[range(N_TOKENS), tokens]
    assert float(missed.max()) < CLOSE * float(logits.std())
