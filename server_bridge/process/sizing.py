"""
A model's header and this machine's memory into what its server may take: tokens per slot, and
copies of a state.

A context costs memory whether it is used or not: 28 KB a token for a model of 1.5B parameters, 57
KB for one of 7B. So it is as long as the model was trained for, as a full ring needs, and as an
eighth of the memory allows, whichever is least. Prompts that are set aside (see `slots`: that is
why two slots are enough) take as much as coming back to them is worth (`ROOM`), and another eighth
at most; the rest is for the model itself and all other programs. A recurrent state is small, but
the server keeps copies of it to go back to (`checkpoints`): 19 MiB each for Qwen3.5-2B, 75 MiB for
Qwen3-Coder-Next. They come out of the part for prompts that are set aside, which take theirs along.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from server_bridge.llama.checkpoints import CLOSE_STEP, Kind, ModelMemory

SHARE = 8  # of the memory: one part for the slots, one for prompts set aside
# Tokens of a slot at most: a full ring of 16 chunks of 64 lines takes some 12,000, and a window.
N_CTX = 16384
# Bytes of all that is evaluated, in slots and set aside: more saves few tokens
# (benchmarks/HISTORY.md). One full context is set aside of any model, six of a small one.
ROOM = 1280 << 20
MOST_ASIDE = 6 * N_CTX
# Bytes beside weights and what is evaluated: vocabulary, Python, buffers to compute in; more than
# the 0.5B and the 1.5B need (benchmarks/HISTORY.md).
ENGINE = 160 << 20
SMALLEST_CTX = 2048  # tokens; with less there is no room for other files
USUAL_BYTES = 32 << 10  # a token, where the header does not tell
USUAL_MEMORY = 8 << 30  # where the system does not tell
F16 = 2  # bytes of a number in the cache
F32 = 4  # in a state
# Copies of a recurrent state; with 16 as little is evaluated again as with 32.
FEWEST_COPIES = 8
MOST_COPIES = 32

_PLAIN = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING = 8
_ARRAY = 9
MOST_TOKENS = 1 << 22  # and merges: Gemma's vocabulary has 262,144 and twice as many of these

Facts = dict[str, Any]


def physical() -> int:
    """Return bytes of memory in this machine."""
    if sys.platform == "win32":
        return USUAL_MEMORY
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return USUAL_MEMORY


def context(facts: Facts, n_slots: int, most: int, memory: int) -> int:
    """
    Return tokens per slot, *most* at most, for a model with these *facts* on a machine with
    *memory* bytes.
    """
    affordable = (memory // SHARE // n_slots - state_bytes(facts)) // bytes_per_token(facts)
    trained = int(facts.get("context_length", most))
    return min(most, trained, max(affordable, SMALLEST_CTX))


def checkpoints(facts: Facts, n_slots: int, memory: int) -> int:
    """Return how many copies of a recurrent state each slot may keep."""
    one = state_bytes(facts) * n_slots
    affordable = memory // SHARE * 3 // 4 // one if one else MOST_COPIES
    return max(FEWEST_COPIES, min(MOST_COPIES, affordable))


def set_aside(facts: Facts, n_slots: int, memory: int) -> int:
    """
    Return bytes for prompts that are set aside: the rest beside copies of states, if there are any,
    else beside the slots.
    """
    if n_bytes := state_bytes(facts):
        return max(0, memory // SHARE - checkpoints(facts, n_slots, memory) * n_slots * n_bytes)
    per_token = bytes_per_token(facts)
    n_tokens = min(MOST_ASIDE, max(N_CTX, ROOM // per_token - n_slots * N_CTX))
    return min(memory // SHARE, n_tokens * per_token)


class Limits(NamedTuple):
    """The limits of a server: tokens of a slot and copies of its state, MiB of prompts aside."""

    n_ctx: int
    n_checkpoints: int
    min_step: int
    aside_mib: int


def limits(facts: Facts, n_slots: int, most: int, room: int, memory: int) -> Limits:
    """Return the limits where a slot has *most* tokens at most, in *room* bytes of some memory."""
    return Limits(
        n_ctx=context(facts, n_slots, most, room),
        n_checkpoints=checkpoints(facts, n_slots, memory),
        min_step=CLOSE_STEP,
        aside_mib=set_aside(facts, n_slots, memory) >> 20,
    )


def memory_of(facts: Facts, n_batch: int, n_slots: int, memory: int) -> ModelMemory:
    """
    Return the model's memory on a server that is started as `command_line` and `embedded_child` do.
    """
    return ModelMemory(
        kind=Kind.RECURRENT
        if state_bytes(facts)
        else Kind.PLAIN,  # a window in use is of full size
        n_batch=n_batch,
        n_ubatch=n_batch,
        n_checkpoints=checkpoints(facts, n_slots, memory),
        min_step=CLOSE_STEP,
        state_bytes=state_bytes(facts),
        token_bytes=bytes_per_token(facts) if facts else 0,
        aside_bytes=set_aside(facts, n_slots, memory) >> 20 << 20,  # the server has whole MiB
        window=int(facts.get("attention.sliding_window", 0)),
        is_told=bool(facts),
    )


def bytes_per_token(facts: Facts) -> int:
    """
    Return the bytes of keys and values for one token, in 16-bit numbers.

    Layers without attention have none; a number of heads for each layer says which these are, or
    every n-th has.
    """
    try:
        n_layers = facts["block_count"]
        width = facts["embedding_length"]
        heads = facts["attention.head_count"]  # of some models one number per layer
        n_heads = max(heads) if isinstance(heads, list) else int(heads)
        n_kv = facts.get("attention.head_count_kv", n_heads)
        n_with = n_layers // facts.get("full_attention_interval", 1)
        n_all = sum(n_kv) if isinstance(n_kv, list) else n_with * n_kv
        key = facts.get("attention.key_length", width // n_heads)
        value = facts.get("attention.value_length", width // n_heads)
        return int(n_all * (key + value) * F16) or USUAL_BYTES
    except (KeyError, TypeError, ZeroDivisionError):
        return USUAL_BYTES


def is_sliding(facts: Facts) -> bool:
    """Return whether some layers see the last tokens only."""
    return bool(facts.get("attention.sliding_window"))


def state_bytes(facts: Facts) -> int:
    """
    Return the bytes of the state of its recurrent layers, in 32-bit numbers; 0 for a model without
    any.

    As llama.cpp's `llama_hparams` counts: the last inputs of a convolution, and what the scan
    carries on.
    """
    try:
        n_kv = facts.get("attention.head_count_kv", 0)
        n_layers = facts["block_count"]
        width = facts["embedding_length"]
        inner = facts.get("ssm.inner_size", 0)
        n_with = (
            n_layers // facts["full_attention_interval"]
            if "full_attention_interval" in facts
            else 0
        )
        n_recurrent = n_kv.count(0) if isinstance(n_kv, list) else n_layers - n_with
        state = facts.get("ssm.state_size", 0)
        channels = inner + 2 * facts.get("ssm.group_count", 0) * state
        convolved = (facts.get("ssm.conv_kernel", 1) - 1) * channels
        convolved += (facts.get("shortconv.l_cache", 1) - 1) * width
        head = facts.get("wkv.head_size", 0)  # RWKV: a matrix per head, and what two shifts look at
        shifts = head * width + 2 * width if head else 0
        return int(n_recurrent * (convolved + inner * state + shifts) * F32)
    except (KeyError, TypeError, ZeroDivisionError):
        return 0


def read_facts(model: Path) -> Facts:
    """
    Return the architecture in a GGUF file's header, keys without its name, in whatever order it has
    them; empty if unreadable. A vocabulary of 150,000 tokens takes 0.16 s, the first time.
    """
    try:
        status = model.stat()
    except OSError:
        return {}
    return _read_facts(model, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4)
def _read_facts(model: Path, _size: int, _mtime_ns: int) -> Facts:
    try:
        with model.open("rb") as file:
            fields = dict(_fields(file))
    except (OSError, ValueError, OverflowError, struct.error, RecursionError):
        return {}
    prefix = f"{fields.get('general.architecture')}."
    facts = {
        key.removeprefix(prefix): value for key, value in fields.items() if key.startswith(prefix)
    }
    return facts if "block_count" in facts else {}  # in part they would say the wrong kind


def _fields(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """Yield the fields but for the vocabulary, which is long (ggml's gguf.md)."""
    magic, _version, _n_tensors, n_fields = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF":
        raise ValueError("not a GGUF file")
    for _ in range(n_fields):
        key = _value(file, _STRING)
        (kind,) = struct.unpack("<I", file.read(4))
        if key.startswith("tokenizer."):
            _skip(file, kind)
        else:
            yield key, _value(file, kind)


def _skip(file: BinaryIO, kind: int) -> None:
    """Go on behind a value: a number, a text, or a list of them."""
    n = 1
    if kind == _ARRAY:
        kind, n = struct.unpack("<IQ", file.read(12))
    if kind != _STRING:
        file.seek(n * _size_of(kind), os.SEEK_CUR)
        return
    if n > MOST_TOKENS:
        raise ValueError(f"no vocabulary has {n} tokens")
    for _ in range(n):
        (size,) = struct.unpack("<Q", file.read(8))
        file.seek(size, os.SEEK_CUR)


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        (size,) = struct.unpack("<Q", file.read(8))
        text = file.read(min(size, 1 << 16))
        file.seek(size - len(text), os.SEEK_CUR)
        return text.decode(errors="replace")
    if kind == _ARRAY:
        kind, n = struct.unpack("<IQ", file.read(12))
        if n > 1 << 16:
            raise ValueError(f"a list of {n} values describes no architecture")
        return [_value(file, kind) for _ in range(n)]
    return struct.unpack(f"<{_PLAIN[kind]}", file.read(_size_of(kind)))[0]


def _size_of(kind: int) -> int:
    """Return the bytes of a number."""
    if kind not in _PLAIN:
        raise ValueError(f"no such type: {kind}")
    return struct.calcsize(f"<{_PLAIN[kind]}")
