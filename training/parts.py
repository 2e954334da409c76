"""
Weights into a few files of limited size and back: q8_0 blocks, as llama.cpp lays them out.

The files that a GPU machine returns may be limited in number and size; q8_0 is a quarter of float32 and
the format the model is shipped in, so nothing is lost that matters.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = (16 << 20) - (1 << 16)  # of a part; the rest is for the archive's own headers
MOST_PARTS = 4  # four of 16 MiB: all that may be returned at once, 64 MiB
BLOCK = 32  # weights that share a scale (ggml-common.h, block_q8_0: a float16 and 32 int8)

Weights = dict[str, NDArray[Any]]  # uint8 (rows, bytes of blocks) for matrices, float32 for vectors


def quantised(matrix: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return a matrix in q8_0: rows of blocks, each its scale and 32 rounded values."""
    blocks = matrix.reshape(-1, BLOCK)
    scale = np.abs(blocks).max(axis=1, keepdims=True) / 127
    with np.errstate(divide="ignore"):
        inverse = np.where(scale == 0, 0, 1 / scale)
    values = np.trunc(blocks * inverse + np.copysign(0.5, blocks)).astype(np.int8)  # roundf of C
    packed = np.concatenate(
        (scale.astype(np.float16).view(np.uint8), values.view(np.uint8)), axis=1
    )
    return packed.reshape(len(matrix), -1)


def restored(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the matrix that a model with these blocks computes with."""
    blocks = packed.reshape(-1, 2 + BLOCK)
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    matrix: NDArray[np.float32] = (scale * blocks[:, 2:].view(np.int8)).reshape(len(packed), -1)
    return matrix


def save(
    weights: dict[str, NDArray[np.float32]], notes: dict[str, Any], folder: Path
) -> list[Path]:
    """Write part0.npz … into *folder*, largest tensors first; *notes* beside them."""
    small: Weights = {
        name: quantised(tensor) if tensor.ndim == 2 else tensor for name, tensor in weights.items()
    }
    parts: list[Weights] = []
    for name, tensor in sorted(small.items(), key=lambda item: -item[1].nbytes):
        room = (
            part
            for part in parts
            if sum(a.nbytes for a in part.values()) + tensor.nbytes <= MOST_BYTES
        )
        part = next(room, None)
        if part is None:
            part = {}
            parts.append(part)
        part[name] = tensor
    assert len(parts) <= MOST_PARTS, f"{len(parts)} parts: too many to return"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"part{n}.npz" for n in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        np.savez(path, allow_pickle=False, **part)
    (folder / "notes.json").write_text(json.dumps(notes, indent=1) + "\n", "utf-8")
    return paths


def load(folder: Path) -> tuple[Weights, dict[str, Any]]:
    """Return what `save` wrote: blocks and vectors by name, and the notes."""
    weights: Weights = {}
    for path in sorted(folder.glob("part*.npz")):
        with np.load(path) as part:
            weights.update({name: part[name] for name in part.files})
    return weights, json.loads((folder / "notes.json").read_text("utf-8"))


def as_float(tensor: NDArray[Any]) -> NDArray[np.float32]:
    """Return a tensor of `load` in float32."""
    return restored(tensor) if tensor.dtype == np.uint8 else tensor
