"""
mlx_lm.server with a small random model, as a process of its own.

MLX is not for every machine, so it lives in an environment of its own (see scripts/test-mlx, which
names that environment's Python in FIM_TEST_MLX). The model is made there by this file run as a
program:

    python tests/mlx_server.py FOLDER SOURCE…
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PYTHON = os.environ.get("FIM_TEST_MLX", "")
START_S = 60.0
SPECIALS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_middle|>",
    "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>",
)  # fmt: skip
SHAPE = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip


@contextmanager
def mlx_server(folder: Path, port: int, sources: list[Path]) -> Iterator[str]:
    """A running server whose model has words of *sources*; its Hugging Face cache is an empty folder, for it needs one to list models."""
    model = folder / "qwen-tiny"
    cache = folder / "hub"
    cache.mkdir()
    subprocess.run([PYTHON, __file__, str(model), *sources], check=True, capture_output=True)
    command = [PYTHON, "-m", "mlx_lm", "server", "--model", str(model), "--port", str(port)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(cache)}
    null = subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, stdout=null, stderr=null) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_well(url)
            yield url
        finally:
            process.terminate()


def _wait_well(url: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(url + "/health", timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(url)


def make_model(folder: Path, sources: list[str]) -> None:
    """Write a Qwen2 model with random weights and a vocabulary of *sources*."""
    import numpy as np  # noqa: PLC0415 (these come with mlx_lm)
    from safetensors.numpy import save_file  # noqa: PLC0415

    folder.mkdir(parents=True)
    n_vocab = _write_tokenizer(folder, sources)
    rng = np.random.default_rng(0)
    width = SHAPE["hidden_size"]
    n_kv = 32
    config = {
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "rms_norm_eps": 1e-6,
        "vocab_size": n_vocab, "rope_theta": 1e6, "max_position_embeddings": 32768,
        "tie_word_embeddings": False, "eos_token_id": n_vocab - len(SPECIALS), **SHAPE,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))

    def random(*size: int):
        return (rng.standard_normal(size) * 0.08).astype(np.float32)

    weights = {
        "model.embed_tokens.weight": random(n_vocab, width),
        "lm_head.weight": random(n_vocab, width),
        "model.norm.weight": np.ones(width, np.float32),
    }
    weights["lm_head.weight"][-len(SPECIALS) :] = 0  # text that does not end by itself
    for layer in range(SHAPE["num_hidden_layers"]):
        block = f"model.layers.{layer}."
        for name, size in (("q", width), ("k", n_kv), ("v", n_kv)):
            weights[f"{block}self_attn.{name}_proj.weight"] = random(size, width)
            weights[f"{block}self_attn.{name}_proj.bias"] = random(size)
        weights[block + "self_attn.o_proj.weight"] = random(width, width)
        n_ff = SHAPE["intermediate_size"]
        weights[block + "mlp.gate_proj.weight"] = random(n_ff, width)
        weights[block + "mlp.up_proj.weight"] = random(n_ff, width)
        weights[block + "mlp.down_proj.weight"] = random(width, n_ff)
        weights[block + "input_layernorm.weight"] = np.ones(width, np.float32)
        weights[block + "post_attention_layernorm.weight"] = np.ones(width, np.float32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})


def _write_tokenizer(folder: Path, sources: list[str]) -> int:
    from tokenizers import (  # noqa: PLC0415
        AddedToken,
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
        trainers,
    )

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1200, show_progress=False, initial_alphabet=alphabet)
    tokenizer.train(sources, trainer)
    tokenizer.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "Qwen2Tokenizer", "eos_token": SPECIALS[0], "pad_token": SPECIALS[0],
        "add_bos_token": False, "add_prefix_space": False,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return tokenizer.get_vocab_size()


if __name__ == "__main__":
    make_model(Path(sys.argv[1]), sys.argv[2:])
