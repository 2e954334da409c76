"""A run in two parts continues as one run would; needs PyTorch, skipped without it."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training import parts
from training.synthetic import middles

torch = pytest.importorskip("torch", reason="needs PyTorch: the training environment")
pytest.importorskip("tokenizers", reason="needs tokenizers: the training environment")
from training import train  # noqa: E402 (needs PyTorch)


def make_options(folder: Path, **options: object) -> argparse.Namespace:
    sizes = {"smoke": True, "warm_up": 2, "pass_tokens": 256, "step_tokens": 512}
    places = {"state": folder / "state.pt", "out": folder / "weights", "init": None}
    return argparse.Namespace(**{**sizes, **places, **options})


def data(seed: int) -> Iterator[list[Any]]:
    rng = random.Random(seed)
    code = np.array([rng.randrange(50) for _ in range(8 * 321)], np.uint16).reshape(8, 321)
    while True:
        rows = zip(*(middles(321, rng, code) for _ in range(2)), strict=True)
        yield [torch.from_numpy(np.stack(tensor).astype(np.int32)) for tensor in rows]


def weights(trainer: train.Trainer) -> dict[str, np.ndarray]:
    return {name: tensor.numpy().copy() for name, tensor in trainer.model.state_dict().items()}


def test_a_second_call_continues_where_the_first_one_ended(tmp_path: Path) -> None:
    """With weights, optimisers and counts: the next step is the same, to the bit."""
    first, later = train.Trainer(make_options(tmp_path)), data(1)
    for share in (0.0, 0.1):
        first.step(data(0), share)
    first.save({})
    second = train.Trainer(make_options(tmp_path))
    assert second.done == {**first.done, "calls": 2}
    first.step(later, 0.2)
    second.step(data(1), 0.2)
    for name, tensor in weights(first).items():
        assert np.array_equal(tensor, weights(second)[name]), name


def test_without_the_state_training_continues_from_the_parts(tmp_path: Path) -> None:
    """On another machine: rounded weights, the schedule where it was."""
    first = train.Trainer(make_options(tmp_path))
    first.step(data(0), 0.0)
    first.done["seconds"] = 123.0
    first.save({"train": 9.0})
    again = train.Trainer(
        make_options(tmp_path, state=tmp_path / "none.pt", init=tmp_path / "weights")
    )
    assert again.done == {**first.done, "calls": 2}
    packed, notes = parts.load(tmp_path / "weights")
    assert notes["losses"] == {"train": 9.0}
    assert np.array_equal(weights(again)["emb"], parts.as_float(packed["emb"]))


def test_what_cannot_be_known_costs_nothing(tmp_path: Path) -> None:
    """The first showing of a copied run has no weight, an answer has the most."""
    trainer = train.Trainer(make_options(tmp_path))
    codes = torch.tensor([[0, 0, 1, 2, 3, 4]])
    _, of = trainer.losses(torch.zeros(1, 6, dtype=torch.int32), codes)
    assert of.tolist() == [[1.0, train.ANSWER_WEIGHT, 0.0, 1.0, 1.0]]


def test_a_loss_falls(tmp_path: Path) -> None:
    """Eight steps on fifty tokens are enough to learn them."""
    trainer, batches = train.Trainer(make_options(tmp_path)), data(0)
    losses = [trainer.step(batches, 0.0) for _ in range(8)]
    assert losses[-1] < losses[0] - 0.3
