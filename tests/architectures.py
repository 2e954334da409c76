"""
Small llama.cpp models whose cache is not a plain list of keys and values, with random weights.

A recurrent layer has one state that cannot be rolled back, and a layer with a sliding window forgets what lies
behind it. They share the bundled model's vocabulary. Names of tensors and keys are those of gguf-py's
constants, sizes are the smallest that llama.cpp loads. Run it to have one for trying out:

    python -m tests.architectures DIR [NAME…]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import gguf
import numpy as np

from tests.models import SPECIALS, bytelevel

WIDTH, N_HEADS, N_KV, N_FF, N_LAYERS = 64, 2, 1, 128, 4
HEAD = WIDTH // N_HEADS
N_EXPERTS, WINDOW = 4, 512
INNER, STATE, TIME_STEPS, GROUPS, CONV = 2 * WIDTH, 16, 4, 1, 4  # of a Mamba-2 layer
DELTA_KEY, DELTA_KEYS, DELTA_VALUES = (
    32,
    2,
    4,
)  # of a gated delta net: width of a head, and their numbers

Weights = Iterator[tuple[str, np.ndarray]]


class Values:
    """Random matrices from one seed, and vectors of ones."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def __call__(self, *size: int, scale: float = 0.05) -> np.ndarray:
        return self._rng.standard_normal(size, dtype=np.float32) * np.float32(scale)

    @staticmethod
    def ones(*size: int) -> np.ndarray:
        return np.ones(size, np.float32)


def write(path: Path, name: str, *, n_ctx: int = 32768) -> Path:
    """Write the model of `ARCHITECTURES` that has this name."""
    describe, layer = ARCHITECTURES[name]
    words, random = bytelevel(SPECIALS), Values(1)
    out = gguf.GGUFWriter(path, name)
    out.add_context_length(n_ctx)
    out.add_embedding_length(WIDTH)
    out.add_feed_forward_length(N_FF)
    out.add_block_count(N_LAYERS)
    out.add_head_count(N_HEADS)
    out.add_layer_norm_rms_eps(1e-6)
    out.add_rope_freq_base(1e6)
    out.add_vocab_size(len(words.tokens))
    describe(out)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("qwen2")
    out.add_token_list(words.tokens)
    out.add_token_types(words.kinds)
    assert words.merges is not None
    out.add_token_merges(words.merges)
    out.add_bos_token_id(words.start)
    out.add_eos_token_id(words.end)
    out.add_add_bos_token(False)
    head = random(len(words.tokens), WIDTH)
    head[[kind != gguf.TokenType.NORMAL for kind in words.kinds]] = 0  # text does not end
    out.add_tensor("token_embd.weight", random(len(words.tokens), WIDTH))
    out.add_tensor("output.weight", head)
    norm = "token_embd_norm" if name == "lfm2" else "output_norm"
    out.add_tensor(norm + ".weight", random.ones(WIDTH))
    if name == "starcoder2":
        out.add_tensor(norm + ".bias", 0 * random.ones(WIDTH))
    for n in range(N_LAYERS):
        for tensor, values in layer(n, random):
            out.add_tensor(f"blk.{n}.{tensor}", values)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()
    return path


# -- parts of a layer ---------------------------------------------------------------------------------


def attention(random: Values, *, queries: int = 1, bias: bool = False) -> Weights:
    """*queries* 2: with a gate of the same size."""
    sizes = {"q": (queries * N_HEADS * HEAD, WIDTH), "k": (N_KV * HEAD, WIDTH)}
    sizes |= {"v": (N_KV * HEAD, WIDTH), "output": (WIDTH, N_HEADS * HEAD)}
    for name, size in sizes.items():
        yield f"attn_{name}.weight", random(*size)
        if bias:
            yield f"attn_{name}.bias", 0 * random.ones(size[0])


def head_norms(random: Values) -> Weights:
    yield "attn_q_norm.weight", random.ones(HEAD)
    yield "attn_k_norm.weight", random.ones(HEAD)


def gated(random: Values) -> Weights:
    yield "ffn_gate.weight", random(N_FF, WIDTH)
    yield "ffn_up.weight", random(N_FF, WIDTH)
    yield "ffn_down.weight", random(WIDTH, N_FF)


def norms(random: Values, *names: str) -> Weights:
    for name in names:
        yield f"{name}.weight", random.ones(WIDTH)


def mamba(random: Values, *, norm: bool = True) -> Weights:
    n_conv = INNER + 2 * GROUPS * STATE
    yield "ssm_in.weight", random(2 * INNER + 2 * GROUPS * STATE + TIME_STEPS, WIDTH)
    yield "ssm_conv1d.weight", random(n_conv, CONV, scale=0.3)
    yield "ssm_conv1d.bias", 0 * random.ones(n_conv)
    yield "ssm_dt.bias", 0 * random.ones(TIME_STEPS)
    yield "ssm_a", -np.linspace(0.01, 1, TIME_STEPS, dtype=np.float32).reshape(TIME_STEPS, 1)
    yield "ssm_d", random.ones(TIME_STEPS, 1)
    if norm:
        yield "ssm_norm.weight", random.ones(GROUPS, INNER // GROUPS)
    yield "ssm_out.weight", random(WIDTH, INNER)


def delta_net(random: Values) -> Weights:
    keys, values = DELTA_KEY * DELTA_KEYS, DELTA_KEY * DELTA_VALUES
    yield "attn_qkv.weight", random(2 * keys + values, WIDTH)
    yield "attn_gate.weight", random(values, WIDTH)
    yield "ssm_conv1d.weight", random(2 * keys + values, CONV, scale=0.3)
    yield "ssm_dt.bias", 0 * random.ones(DELTA_VALUES)
    yield "ssm_a", -np.linspace(0.01, 1, DELTA_VALUES, dtype=np.float32)
    yield "ssm_beta.weight", random(DELTA_VALUES, WIDTH)
    yield "ssm_alpha.weight", random(DELTA_VALUES, WIDTH)
    yield "ssm_norm.weight", random.ones(DELTA_KEY)
    yield "ssm_out.weight", random(WIDTH, values)


# -- the architectures --------------------------------------------------------------------------------


def _granite(out: gguf.GGUFWriter) -> None:
    out.add_head_count_kv([0, 0, N_KV, 0])
    out.add_rope_dimension_count(HEAD)
    out.add_rope_scaling_finetuned(True)
    _mamba(out)


def _granite_layer(n: int, random: Values) -> Weights:
    yield from norms(random, "attn_norm", "ffn_norm")
    yield from gated(random)
    yield from attention(random) if n == 2 else mamba(random)


def _falcon(out: gguf.GGUFWriter) -> None:
    out.add_head_count_kv(N_KV)
    out.add_key_length(HEAD)
    out.add_value_length(HEAD)
    out.add_rope_dimension_count(HEAD)
    _mamba(out)


def _falcon_layer(_: int, random: Values) -> Weights:
    yield from norms(random, "attn_norm")
    yield "ffn_norm", random.ones(WIDTH)  # llama.cpp asks for it without a suffix
    yield from gated(random)
    yield from attention(random)
    yield from mamba(random, norm=False)


def _mamba(out: gguf.GGUFWriter) -> None:
    out.add_ssm_conv_kernel(CONV)
    out.add_ssm_inner_size(INNER)
    out.add_ssm_state_size(STATE)
    out.add_ssm_time_step_rank(TIME_STEPS)
    out.add_ssm_group_count(GROUPS)


def _lfm(out: gguf.GGUFWriter) -> None:
    out.add_head_count_kv([0, 0, N_KV, 0])
    out.add_shortconv_l_cache(3)


def _lfm_layer(n: int, random: Values) -> Weights:
    yield from norms(random, "attn_norm", "ffn_norm")
    yield from gated(random)
    if n == 2:
        yield from attention(random)
        yield from head_norms(random)
    else:
        yield "shortconv.conv.weight", random(WIDTH, 3, scale=0.5)
        yield "shortconv.in_proj.weight", random(3 * WIDTH, WIDTH)
        yield "shortconv.out_proj.weight", random(WIDTH, WIDTH)


def _qwen(out: gguf.GGUFWriter) -> None:
    out.add_head_count_kv(N_KV)
    out.add_key_length(HEAD)
    out.add_value_length(HEAD)
    out.add_rope_dimension_count(16)
    out.add_rope_dimension_sections([3, 3, 2, 0])
    out.add_full_attention_interval(4)
    out.add_ssm_conv_kernel(CONV)
    out.add_ssm_inner_size(DELTA_KEY * DELTA_VALUES)
    out.add_ssm_state_size(DELTA_KEY)
    out.add_ssm_time_step_rank(DELTA_VALUES)
    out.add_ssm_group_count(DELTA_KEYS)


def _qwen_layer(n: int, random: Values) -> Weights:
    yield from norms(random, "attn_norm", "post_attention_norm")
    yield from gated(random)
    if n == 3:
        yield from attention(random, queries=2)
        yield from head_norms(random)
    else:
        yield from delta_net(random)


def _windowed(out: gguf.GGUFWriter) -> None:
    out.add_head_count_kv(N_KV)
    out.add_key_length(HEAD)
    out.add_value_length(HEAD)
    out.add_sliding_window(WINDOW)


def _gemma_layer(_: int, random: Values) -> Weights:
    yield from norms(random, "attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm")
    yield from attention(random)
    yield from head_norms(random)
    yield from gated(random)


def _mixture(out: gguf.GGUFWriter) -> None:
    _windowed(out)
    out.add_expert_count(N_EXPERTS)
    out.add_expert_used_count(2)
    out.add_expert_feed_forward_length(N_FF)


def _mixture_layer(_: int, random: Values) -> Weights:
    yield from norms(random, "attn_norm", "post_attention_norm")
    yield from attention(random, bias=True)
    yield "attn_sinks.weight", random(N_HEADS)
    yield "ffn_gate_inp.weight", random(N_EXPERTS, WIDTH)
    yield "ffn_gate_inp.bias", random(N_EXPERTS)
    for name, size in (("gate", (N_FF, WIDTH)), ("up", (N_FF, WIDTH)), ("down", (WIDTH, N_FF))):
        yield f"ffn_{name}_exps.weight", random(N_EXPERTS, *size)
        yield f"ffn_{name}_exps.bias", random(N_EXPERTS, size[0])


def _starcoder(out: gguf.GGUFWriter) -> None:
    out.add_head_count_kv(N_KV)
    out.add_layer_norm_eps(1e-5)
    out.add_rope_dimension_count(HEAD)
    out.add_sliding_window(WINDOW)


def _starcoder_layer(_: int, random: Values) -> Weights:
    for name in ("attn_norm", "ffn_norm"):
        yield f"{name}.weight", random.ones(WIDTH)
        yield f"{name}.bias", 0 * random.ones(WIDTH)
    yield from attention(random, bias=True)
    for name, size in (("up", (N_FF, WIDTH)), ("down", (WIDTH, N_FF))):
        yield f"ffn_{name}.weight", random(*size)
        yield f"ffn_{name}.bias", 0 * random.ones(size[0])


Layer = Callable[[int, Values], Weights]
RECURRENT: dict[str, tuple[Callable[[gguf.GGUFWriter], None], Layer]] = {
    "granitehybrid": (_granite, _granite_layer),  # Mamba-2 layers among attention
    "falcon-h1": (_falcon, _falcon_layer),  # both in each layer
    "lfm2": (_lfm, _lfm_layer),  # short convolutions
    "qwen35": (_qwen, _qwen_layer),  # gated delta nets
}
SLIDING: dict[str, tuple[Callable[[gguf.GGUFWriter], None], Layer]] = {
    "gemma3": (_windowed, _gemma_layer),
    "gpt-oss": (_mixture, _mixture_layer),  # a mixture of experts
    "starcoder2": (_starcoder, _starcoder_layer),
}
ARCHITECTURES = RECURRENT | SLIDING


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for each in sys.argv[2:] or ARCHITECTURES:
        print(write(folder / f"{each}.gguf", each))
