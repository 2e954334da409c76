"""The sizes of the models, apart from the network so that they can be read without PyTorch."""

from __future__ import annotations

from typing import NamedTuple

HEAD_WIDTH = 64
ROPE_BASE = 100_000.0
EPS = 1e-6


class Shape(NamedTuple):
    """The sizes of a model: widths in floats, multiples of 256 for llama.cpp; heads of `HEAD_WIDTH`."""

    width: int
    layers: int
    heads: int
    kv_heads: int
    inner: int


SHAPES = {"small": Shape(512, 10, 8, 2, 1536), "smoke": Shape(128, 4, 2, 1, 384)}
