"""The sizes of the models, apart from the network so that they can be read without PyTorch."""

from __future__ import annotations

from typing import NamedTuple

from training.tokens import VOCAB

HEAD_WIDTH = 64
ROPE_BASE = 100_000.0
EPS = 1e-6


class Shape(NamedTuple):
    """
    The sizes of a model. Widths are multiples of 256, so that every quantisation of llama.cpp fits, but for smoke.

    57M parameters in q8_0 are 61 MB: what a package of 100 MB and the way back from the GPU have room for.
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
    "small": Shape(512, 16, 8, 2, 1536),
    "smoke": Shape(128, 4, 2, 1, 384),
}
