"""Weights are stored in files of limited size and read back as llama.cpp would read them."""

from __future__ import annotations

import numpy as np
import pytest

from training import parts
from training.shapes import SHAPES

gguf = pytest.importorskip("gguf")
RNG = np.random.default_rng(0)


def test_blocks_are_those_of_gguf() -> None:
    """Bit for bit, with zeros and outliers in them."""
    matrix = RNG.normal(size=(6, 96)).astype(np.float32)
    matrix[2, :40], matrix[3, 5] = 0, 1e4
    q8_0 = gguf.GGMLQuantizationType.Q8_0
    packed = parts.quantised(matrix)
    assert np.array_equal(packed, gguf.quants.quantize(matrix, q8_0))
    assert np.array_equal(parts.restored(packed), gguf.quants.dequantize(packed, q8_0))


def test_weights_come_back_with_their_notes(tmp_path, monkeypatch) -> None:
    """In as few parts as hold them, matrices within half a step, vectors as they were."""
    monkeypatch.setattr(parts, "MOST_BYTES", 3000)
    weights = {f"w{n}": RNG.normal(size=(16, 64)).astype(np.float32) for n in range(5)}
    weights["norm"] = RNG.normal(size=64).astype(np.float32)
    paths = parts.save(weights, {"shape": "smoke"}, tmp_path)
    assert len(paths) == 3
    back, notes = parts.load(tmp_path)
    assert notes == {"shape": "smoke"}
    assert np.array_equal(back["norm"], weights["norm"])
    for name, tensor in weights.items():
        assert np.abs(parts.as_float(back[name]) - tensor).max() < np.abs(tensor).max() / 127


def test_more_parts_than_can_be_returned_are_an_error_at_once(tmp_path, monkeypatch) -> None:
    """Found in the smoke run, not after half an hour on a GPU."""
    monkeypatch.setattr(parts, "MOST_BYTES", 40)
    with pytest.raises(AssertionError, match="too many"):
        parts.save({f"w{n}": np.ones((1, 32), np.float32) for n in range(5)}, {}, tmp_path)


def test_the_model_fits_the_parts_and_the_package() -> None:
    """Whatever its shape: four parts of 16 MiB."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: the training environment")
    from training.model import Model  # noqa: PLC0415

    for shape in SHAPES.values():
        with torch.device("meta"):
            assert sum(p.numel() for p in Model(shape).parameters()) == shape.n_parameters
    assert SHAPES["small"].n_parameters * 34 / 32 < parts.MOST_BYTES * parts.MOST_PARTS
