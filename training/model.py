"""
The network: Qwen2 as llama.cpp computes it (`qwen2`), in plain PyTorch.

Tied embeddings, grouped queries, rotary positions in halves, biases on q, k and v. Weights are float32;
the passes run in bfloat16 under autocast.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.shapes import EPS, HEAD_WIDTH, ROPE_BASE, Shape
from training.tokens import VOCAB


def normed(x: Tensor, weight: Tensor) -> Tensor:
    """RMS norm in float32."""
    return F.rms_norm(x.float(), weight.shape, weight, EPS).to(x.dtype)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions in the half-split layout of Hugging Face's Qwen2 and llama.cpp's qwen2."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(x.dtype)


def rotations(n_tokens: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the tables for `rotated`: two of (time, half a head)."""
    inverse = ROPE_BASE ** (-torch.arange(0, HEAD_WIDTH, 2, device=device).float() / HEAD_WIDTH)
    angles = torch.arange(n_tokens, device=device).float()[:, None] * inverse
    return angles.cos(), angles.sin()


class Block(nn.Module):
    """Attention and a gated inner layer, each behind its norm. The names are those of the checkpoint."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.kv_heads = shape.kv_heads
        width = shape.width
        kv = shape.kv_heads * HEAD_WIDTH
        self.n1 = nn.Parameter(torch.ones(width))
        self.n2 = nn.Parameter(torch.ones(width))
        self.q = nn.Linear(width, shape.heads * HEAD_WIDTH)
        self.k = nn.Linear(width, kv)
        self.v = nn.Linear(width, kv)
        self.o = nn.Linear(shape.heads * HEAD_WIDTH, width, bias=False)
        self.gate = nn.Linear(width, shape.inner, bias=False)
        self.up = nn.Linear(width, shape.inner, bias=False)
        self.down = nn.Linear(shape.inner, width, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        batch, time, _ = x.shape
        h = normed(x, self.n1)
        q = self.q(h).view(batch, time, self.heads, HEAD_WIDTH).transpose(1, 2)
        k = self.k(h).view(batch, time, self.kv_heads, HEAD_WIDTH).transpose(1, 2)
        v = self.v(h).view(batch, time, self.kv_heads, HEAD_WIDTH).transpose(1, 2)
        q = rotated(q, cos, sin)
        k = rotated(k, cos, sin)
        group = self.heads // self.kv_heads  # written out: not every flash kernel groups queries
        k = k.repeat_interleave(group, 1)
        v = v.repeat_interleave(group, 1)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(batch, time, -1))
        h = normed(x, self.n2)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    """Token ids into losses, or into the logits of the last position."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.stream = torch.float32  # what is passed from block to block
        self.emb = nn.Parameter(torch.randn(VOCAB, shape.width) * 0.02)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.nf = nn.Parameter(torch.ones(shape.width))
        residual = 0.02 / math.sqrt(2 * shape.layers)
        for name, parameter in self.named_parameters():
            if name.endswith(".bias"):
                nn.init.zeros_(parameter)
            elif name.endswith(("o.weight", "down.weight")):
                nn.init.normal_(parameter, std=residual)
            elif name.endswith(".weight"):
                nn.init.normal_(parameter, std=shape.width**-0.5)

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Return each token's loss, (batch, time)."""
        flat = self.logits(ids).float().flatten(0, 1)
        return F.cross_entropy(flat, targets.flatten(), reduction="none").view(targets.shape)

    def logits(self, ids: Tensor) -> Tensor:
        """(batch, time, vocabulary)."""
        x = F.embedding(ids, self.emb).to(self.stream)
        cos, sin = rotations(ids.shape[1], ids.device)
        for block in self.blocks:
            x = block(x, cos, sin)
        return F.linear(normed(x, self.nf), self.emb)
