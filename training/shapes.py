"""The sizes of the models, apart from the network so that they can be read without PyTorch."""

from __future__ import annotations

from typing import NamedTuple

from training.tokens import VOCAB

HEAD_WIDTH = 64
ROPE_BASE = 100_000.0
EPS = 1e-6


class Shape(NamedTuple):
    """
    The sizes of a model: widths in floats, heads of `HEAD_WIDTH`.

    README.md says why `small` is as large as it is. Its widths are multiples of 256, so that every
    quantisation of llama.cpp fits; `smoke` shows in minutes on a CPU that all parts fit together.
    """

    width: int
    layers: int
    heads: int
    kv_heads: int
    inner: int

    @property
    def n_parameters(self) -> int:
        """All of them, the embedding once."""
        kv = self.kv_heads * HEAD_WIDTH
        attention = 2 * self.width * self.heads * HEAD_WIDTH + 2 * self.width * kv
        biases = self.heads * HEAD_WIDTH + 2 * kv
        layer = attention + biases + 3 * self.width * self.inner + 2 * self.width
        return VOCAB * self.width + self.layers * layer + self.width


SHAPES = {
    "small": Shape(512, 10, 8, 2, 1536),
    "smoke": Shape(128, 4, 2, 1, 384),
}
