"""
How large the slots of an embedded model may be: its header and this machine's memory into tokens.

A context costs memory whether it is used or not: 28 KB a token for a model of 1.5B parameters, 57 KB
for one of 7B. So it is as long as the model was trained for, as a full ring needs, and as an eighth
of the memory allows, whichever is least. Another eighth holds prompts that are set aside (see
`slots`: that is why two slots are enough); the rest is for the model itself and all other programs.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

SHARE = 8  # of the memory: one part for the slots, one for prompts set aside
SMALLEST_CTX = 2048  # tokens; with less there is no room for other files
USUAL_BYTES = 32 << 10  # a token, where the header does not tell
USUAL_MEMORY = 8 << 30  # where the system does not tell
F16 = 2  # bytes of a number in the cache

_PLAIN = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9

Facts = dict[str, Any]


def physical() -> int:
    """Bytes of memory in this machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # Windows
        return USUAL_MEMORY


def context(facts: Facts, n_slots: int, most: int, memory: int) -> int:
    """Tokens per slot, *most* at most, for a model with these *facts* on a machine with *memory* bytes."""
    affordable = memory // SHARE // n_slots // bytes_per_token(facts)
    trained = int(facts.get("context_length", most))
    return min(most, trained, max(affordable, SMALLEST_CTX))


def bytes_per_token(facts: Facts) -> int:
    """What the cache of keys and values takes for one token, in 16-bit numbers."""
    try:
        n_heads, width = _largest(facts["attention.head_count"]), facts["embedding_length"]
        n_kv = _largest(facts.get("attention.head_count_kv", n_heads))
        key = facts.get("attention.key_length", width // n_heads)
        value = facts.get("attention.value_length", width // n_heads)
        return int(facts["block_count"] * n_kv * (key + value) * F16) or USUAL_BYTES
    except (KeyError, TypeError, ZeroDivisionError):
        return USUAL_BYTES


def facts(model: Path) -> Facts:
    """What a GGUF file's header says of its architecture, keys without its name; empty if unreadable."""
    try:
        with model.open("rb") as file:
            found = dict(_fields(file))
    except (OSError, ValueError, struct.error):
        return {}
    prefix = f"{found.get('general.architecture')}."
    return {
        key.removeprefix(prefix): value for key, value in found.items() if key.startswith(prefix)
    }


def _fields(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """The fields up to the vocabulary, which is long (ggml's docs/gguf.md)."""
    magic, _version, _n_tensors, n_fields = struct.unpack("<4sIQQ", file.read(24))
    if magic != b"GGUF":
        raise ValueError("not a GGUF file")
    for _ in range(n_fields):
        key = _value(file, _STRING)
        if key.startswith("tokenizer."):
            break
        yield key, _value(file, *struct.unpack("<I", file.read(4)))


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        (size,) = struct.unpack("<Q", file.read(8))
        return file.read(min(size, 1 << 16)).decode(errors="replace")
    if kind == _ARRAY:
        kind, n = struct.unpack("<IQ", file.read(12))
        return [_value(file, kind) for _ in range(min(n, 1 << 16))]
    if kind not in _PLAIN:
        raise ValueError(f"no such type: {kind}")
    return struct.unpack(f"<{_PLAIN[kind]}", file.read(struct.calcsize(f"<{_PLAIN[kind]}")))[0]


def _largest(value: Any) -> int:
    """Some models have a number per layer."""
    return max(value) if isinstance(value, list) else int(value)
