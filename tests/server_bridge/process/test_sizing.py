"""Sizes for embedded models: read from real files, computed for machines of all kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from server_bridge.process import sizing
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from tests.models import BUNDLED, Shape, write_model

GIB = 1 << 30
QWEN_1_5B = {
    "context_length": 32768, "embedding_length": 1536, "block_count": 28,
    "attention.head_count": 12, "attention.head_count_kv": 2,
}  # fmt: skip
MIXED = {**QWEN_1_5B, "attention.head_count_kv": [2, 0, 4], "attention.key_length": 256}


def test_the_bundled_model_is_read() -> None:
    """What its header says, and what that costs: 2,576 bytes a token were measured in saved files."""
    found = sizing.facts(BUNDLED)
    assert (found["context_length"], found["block_count"]) == (4096, 5)
    assert sizing.bytes_per_token(found) == 2560


@pytest.mark.parametrize(
    ("facts", "n_bytes"),
    [
        (QWEN_1_5B, 28_672),
        (MIXED, (2 + 0 + 4) * (256 + 128) * 2),
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
        ({}, 64 * GIB, 16384),
    ],
)
def test_a_slot_is_as_large_as_model_and_machine_allow(
    facts: sizing.Facts, n_bytes: int, n_ctx: int
) -> None:
    """Never longer than trained, rarely more than an eighth of the memory for two slots."""
    assert sizing.context(facts, 2, 16384, n_bytes) == n_ctx


@pytest.mark.parametrize("junk", [b"", b"GGUF", b"GGUF" + b"\xff" * 100, b"no model" * 10])
def test_any_file_gives_facts_or_none(tmp_path: Path, junk: bytes) -> None:
    """What is wrong with a file llama.cpp says better."""
    (tmp_path / "model.gguf").write_bytes(junk)
    assert sizing.facts(tmp_path / "model.gguf") == {}
    assert sizing.facts(tmp_path / "missing.gguf") == {}


async def test_the_child_takes_these_sizes(tmp_path: Path) -> None:
    """A model trained for more than we need gets what we need."""
    shape = Shape(n_layers=1, width=64, n_heads=2, n_kv_heads=1, n_ff=64)
    model = write_model(tmp_path / "long.gguf", shape=shape, n_ctx=32768)
    backend = Embedded(EmbeddedSettings(model=str(model)))
    state = await backend.connect()
    assert (state.n_ctx, state.slots) == (16384, 2)
    await backend.aclose()
