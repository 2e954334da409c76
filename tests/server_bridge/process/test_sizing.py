"""Sizes for embedded models: read from real files, computed for machines of all kinds."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from server_bridge.llama.checkpoints import Kind
from server_bridge.process import sizing
from tests import architectures
from tests.models import BUNDLED

GIB = 1 << 30
QWEN_1_5B = {
    "context_length": 32768, "embedding_length": 1536, "block_count": 28,
    "attention.head_count": 12, "attention.head_count_kv": 2,
}  # fmt: skip
MIXED = {**QWEN_1_5B, "attention.head_count_kv": [2, 0, 4], "attention.key_length": 256}


# Granite-4.0-H-tiny: 36 Mamba-2 layers and 4 with attention. Qwen3.5-2B's proportions: attention in every fourth layer.
GRANITE_H = {
    "context_length": 131072, "embedding_length": 1536, "block_count": 40,
    "attention.head_count": 12,
    "attention.head_count_kv": ([0] * 9 + [4]) * 4, "ssm.conv_kernel": 4, "ssm.inner_size": 3072,
    "ssm.state_size": 128, "ssm.group_count": 1,
}  # fmt: skip
QWEN_35 = {
    **QWEN_1_5B, "block_count": 24, "full_attention_interval": 4, "attention.key_length": 256,
    "attention.value_length": 256, "ssm.conv_kernel": 4, "ssm.inner_size": 2048,
    "ssm.state_size": 128,
    "ssm.group_count": 16,
}  # fmt: skip
MIB = 1 << 20


def test_the_bundled_model_is_read() -> None:
    """What its header says, and what that costs: 2,576 bytes a token were measured in saved files."""
    found = sizing.read_facts(BUNDLED)
    assert (found["context_length"], found["block_count"]) == (4096, 5)
    assert sizing.bytes_per_token(found) == 2560


@pytest.mark.parametrize(
    ("facts", "n_bytes"),
    [
        (QWEN_1_5B, 28_672),
        (MIXED, (2 + 0 + 4) * (256 + 128) * 2),
        (GRANITE_H, 4 * 4 * (128 + 128) * 2),
        (QWEN_35, 6 * 2 * (256 + 256) * 2),
        ({}, sizing.USUAL_BYTES),
        ({"block_count": "many"}, sizing.USUAL_BYTES),
        ({**QWEN_1_5B, "attention.head_count": 0}, sizing.USUAL_BYTES),
    ],
)
def test_a_token_costs_what_the_header_says(facts: sizing.Facts, n_bytes: int) -> None:
    """Layers times heads times widths, whatever is missing or odd."""
    assert sizing.bytes_per_token(facts) == n_bytes


@pytest.mark.parametrize(
    ("facts", "n_bytes", "n_ctx"),
    [
        (QWEN_1_5B, 64 * GIB, 16384),
        (QWEN_1_5B, 4 * GIB, 9362),
        (QWEN_1_5B, GIB // 2, sizing.SMALLEST_CTX),
        ({**QWEN_1_5B, "context_length": 4096}, 64 * GIB, 4096),
        ({**QWEN_1_5B, "context_length": 1024}, GIB // 2, 1024),
        (GRANITE_H, 8 * GIB, 16384),
        ({}, 64 * GIB, 16384),
    ],
)
def test_a_slot_is_as_large_as_model_and_machine_allow(
    facts: sizing.Facts, n_bytes: int, n_ctx: int
) -> None:
    """Never longer than trained, rarely more than an eighth of the memory for two slots."""
    assert sizing.context(facts, 2, 16384, n_bytes) == n_ctx


@pytest.mark.parametrize(
    ("facts", "n_mib"), [(GRANITE_H, 55), (QWEN_35, 19), (QWEN_1_5B, 0), ({}, 0), (MIXED, 0)]
)
def test_a_recurrent_state_costs_what_the_header_says(facts: sizing.Facts, n_mib: int) -> None:
    """As llama.cpp tells the size of a checkpoint."""
    assert sizing.state_bytes(facts) // MIB == n_mib


@pytest.mark.parametrize("n_gib", [4, 8, 16, 64])
def test_copies_of_a_state_leave_memory_for_others(n_gib: int) -> None:
    """With the prompts that are set aside they take an eighth, or as much as the fewest take."""
    memory = n_gib * GIB
    copies = sizing.checkpoints(GRANITE_H, 2, memory)
    taken = copies * 2 * sizing.state_bytes(GRANITE_H)
    aside = sizing.set_aside(GRANITE_H, 2, memory)
    assert 8 <= copies <= 32
    assert taken + aside == memory // 8 or (aside, copies) == (0, 8)
    assert sizing.checkpoints(QWEN_1_5B, 2, memory) == 32


@pytest.mark.parametrize(
    ("per_token", "n_gib", "n_mib"),
    [
        (2 << 10, 24, 192), (2 << 10, 1, 128),  # six contexts
        (12 << 10, 24, 896), (12 << 10, 4, 512),  # what two slots leave
        (28 << 10, 24, 448), (28 << 10, 8, 448), (56 << 10, 64, 896), (56 << 10, 4, 512),  # one context
    ],
)  # fmt: skip
def test_what_is_set_aside_takes_no_more_than_it_is_worth(
    per_token: int, n_gib: int, n_mib: int
) -> None:
    """With the slots 1.25 GiB, one context at least, six at most; never more than an eighth of the memory."""
    width = per_token // 2 // sizing.F16
    facts = {
        "block_count": 1, "embedding_length": width,
        "attention.head_count": 1, "attention.head_count_kv": 1,
    }  # fmt: skip
    assert sizing.bytes_per_token(facts) == per_token
    assert round(sizing.set_aside(facts, 2, n_gib * GIB) / MIB) == n_mib


@pytest.mark.parametrize(
    ("name", "kind"), [("granitehybrid", Kind.RECURRENT), ("gemma3", Kind.PLAIN)]
)
def test_the_kind_of_memory_is_read(name: str, kind: Kind, tmp_path: Path) -> None:
    """A window is of full size where we start the server, so it is like any other memory."""
    found = sizing.read_facts(architectures.write(tmp_path / "model.gguf", name))
    assert sizing.memory_of(found, 512, 2, GIB).kind is kind
    assert sizing.is_sliding(found) == (kind is Kind.PLAIN)


def _text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


FIELDS = {
    "general.architecture": struct.pack("<I", 8) + _text("lfm2"),
    "general.description": struct.pack("<I", 8) + _text("é" * 50_000),
    "lfm2.block_count": struct.pack("<II", 4, 16),
    "lfm2.attention.head_count_kv": struct.pack("<IIQ", 9, 4, 2) + struct.pack("<II", 0, 8),
    "tokenizer.ggml.tokens": struct.pack("<IIQ", 9, 8, 3) + _text("a") + _text("") + _text("b" * 99),
    "tokenizer.ggml.scores": struct.pack("<IIQ", 9, 6, 70_000) + bytes(4 * 70_000),
    "tokenizer.ggml.model": struct.pack("<I", 8) + _text("gpt2"),
    "tokenizer.ggml.add_bos_token": struct.pack("<I?", 7, True),
}  # fmt: skip
ORDERS = [[*FIELDS][n:] + [*FIELDS][:n] for n in range(len(FIELDS))]


def _gguf(path: Path, names: list[str]) -> Path:
    fields = b"".join(_text(name) + FIELDS[name] for name in names)
    path.write_bytes(struct.pack("<4sIQQ", b"GGUF", 3, 0, len(names)) + fields)
    return path


@pytest.mark.parametrize("names", [*ORDERS, *(names[::-1] for names in ORDERS)])
def test_a_header_is_read_in_any_order(names: list[str], tmp_path: Path) -> None:
    """A vocabulary may stand before what describes the model, or between."""
    found = sizing.read_facts(_gguf(tmp_path / "model.gguf", names))
    assert found == {"block_count": 16, "attention.head_count_kv": [0, 8]}


@pytest.mark.parametrize("missing", ["general.architecture", "lfm2.block_count"])
def test_half_a_header_says_nothing(missing: str, tmp_path: Path) -> None:
    """A hybrid would count as plain; what is not told, requests show."""
    names = [name for name in FIELDS if name != missing]
    found = sizing.read_facts(_gguf(tmp_path / "model.gguf", names))
    assert found == {}
    assert not sizing.memory_of(found, 512, 2, GIB).is_told


def test_another_file_of_the_same_name_is_read_again(tmp_path: Path) -> None:
    """Facts are kept by what the file is."""
    path = tmp_path / "model.gguf"
    assert not sizing.read_facts(_gguf(path, [*FIELDS][:2]))
    assert sizing.read_facts(_gguf(path, [*FIELDS]))


MANY = struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + _text("tokenizer.x")
JUNK = [
    b"", b"GGUF", b"GGUF" + b"\xff" * 100, b"no model" * 10,
    MANY + struct.pack("<IIQ", 9, 8, 1 << 60) + bytes(1000),
    MANY + struct.pack("<IIQ", 9, 4, 1 << 63),
    MANY + struct.pack("<IIQ", 9, 9, 1),
    MANY + struct.pack("<IQ", 8, 1 << 63),
]  # fmt: skip


@pytest.mark.parametrize("junk", JUNK)
def test_any_file_gives_facts_or_none(tmp_path: Path, junk: bytes) -> None:
    """What is wrong with a file llama.cpp says better."""
    (tmp_path / "model.gguf").write_bytes(junk)
    assert sizing.read_facts(tmp_path / "model.gguf") == {}
    assert sizing.read_facts(tmp_path / "missing.gguf") == {}
