"""Steps of training; needs PyTorch, skipped without it."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training.synthetic import middles

torch = pytest.importorskip("torch", reason="needs PyTorch: the training environment")
pytest.importorskip("tokenizers", reason="needs tokenizers: the training environment")
from training import train  # noqa: E402 (needs PyTorch)

OPTIONS = argparse.Namespace(
    smoke=True, warm_up=2, pass_tokens=256, step_tokens=512, out=Path("weights.npz")
)


def data(seed: int) -> Iterator[list[Any]]:
    rng = random.Random(seed)
    code = np.array([rng.randrange(50) for _ in range(8 * 321)], np.uint16).reshape(8, 321)
    while True:
        rows = zip(*(middles(321, rng, code) for _ in range(2)), strict=True)
        yield [torch.from_numpy(np.stack(tensor).astype(np.int32)) for tensor in rows]


def test_what_cannot_be_known_costs_nothing() -> None:
    """The first showing of a copied run has no weight, an answer has the most."""
    trainer = train.Trainer(OPTIONS)
    codes = torch.tensor([[0, 0, 1, 2, 3, 4]])
    _, of = trainer.losses(torch.zeros(1, 6, dtype=torch.int32), codes)
    assert of.tolist() == [[1.0, train.ANSWER_WEIGHT, 0.0, 1.0, 1.0]]


def test_a_loss_falls() -> None:
    """Eight steps on fifty tokens are enough to learn them."""
    trainer = train.Trainer(OPTIONS)
    batches = data(0)
    losses = [trainer.step(batches, 0.0) for _ in range(8)]
    assert losses[-1] < losses[0] - 0.3


def test_what_is_saved_is_what_export_reads(tmp_path: Path) -> None:
    """Float32, by the names of the network."""
    trainer = train.Trainer(argparse.Namespace(**{**vars(OPTIONS), "out": tmp_path / "w.npz"}))
    trainer.save()
    with np.load(tmp_path / "w.npz") as weights:
        assert {"emb", "nf", "blocks.0.n1", "blocks.3.down.weight"} <= {*weights.files}
        assert weights["emb"].dtype == np.float32
