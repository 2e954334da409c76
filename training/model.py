"""
The network: a Qwen2 of 4.25M parameters, as llama.cpp computes it, written for two CPU cores.

bfloat16, tied embeddings, grouped queries, rotary positions in halves, biases on q, k and v.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

VOCAB = 4096
WIDTH = 256
LAYERS = 5
HEADS = 4
KV_HEADS = 2
HEAD_WIDTH = 64
INNER = 576
ROPE_BASE = 100_000.0
EPS = 1e-6
QUERY_BLOCKS = 8  # attention in blocks of queries, only the keys up to each: 2-4 x faster on CPU


def normed(x: Tensor, weight: Tensor) -> Tensor:
    """RMS norm in float32."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPS)).to(x.dtype) * weight


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions in the half-split layout of Hugging Face's Qwen2 and llama.cpp's qwen2."""
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def rotations(positions: Tensor) -> tuple[Tensor, Tensor]:
    """The tables for `rotated`: positions (batch, time) into two of (batch, 1, time, half a head)."""
    inverse = ROPE_BASE ** (-torch.arange(0, HEAD_WIDTH, 2).float() / HEAD_WIDTH)
    angles = positions.float()[..., None] * inverse
    return angles.cos().to(torch.bfloat16)[:, None], angles.sin().to(torch.bfloat16)[:, None]


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Causal attention: (batch, heads, time, head width) each, fewer heads in *k* and *v*."""
    batch, heads, time, width = q.shape
    kv_heads, step = k.shape[1], time // QUERY_BLOCKS
    group = heads // kv_heads
    q = q.view(batch, kv_heads, group, time, width)
    parts = []
    for start in range(0, time, step):
        end = start + step
        block = q[:, :, :, start:end].reshape(batch, kv_heads, group * step, width)
        scores = (block @ k[:, :, :end].transpose(-1, -2)).view(batch, kv_heads, group, step, end)
        weights = torch.softmax(scores + mask[start:end, :end], -1)
        part = weights.view(batch, kv_heads, group * step, end) @ v[:, :, :end]
        parts.append(part.view(batch, heads, step, width))
    return torch.cat(parts, 2)


class Block(nn.Module):
    """Attention and a gated inner layer, each behind its norm. The names are those of the checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.n1 = nn.Parameter(torch.ones(WIDTH))
        self.n2 = nn.Parameter(torch.ones(WIDTH))
        self.q = nn.Linear(WIDTH, HEADS * HEAD_WIDTH)
        self.k = nn.Linear(WIDTH, KV_HEADS * HEAD_WIDTH)
        self.v = nn.Linear(WIDTH, KV_HEADS * HEAD_WIDTH)
        self.o = nn.Linear(HEADS * HEAD_WIDTH, WIDTH, bias=False)
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.up = nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        batch, time, _ = x.shape
        h = normed(x, self.n1)
        q = self.q(h).view(batch, time, HEADS, HEAD_WIDTH).transpose(1, 2)
        k = self.k(h).view(batch, time, KV_HEADS, HEAD_WIDTH).transpose(1, 2)
        v = self.v(h).view(batch, time, KV_HEADS, HEAD_WIDTH).transpose(1, 2).contiguous()
        q = rotated(q, cos, sin) * HEAD_WIDTH**-0.5
        a = attention(q, rotated(k, cos, sin), v, mask)
        x = x + self.o(a.transpose(1, 2).reshape(batch, time, HEADS * HEAD_WIDTH))
        h = normed(x, self.n2)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Model(nn.Module):
    """Token ids into losses: the logits of all positions would not fit the cache."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Parameter(torch.randn(VOCAB, WIDTH) * 0.02)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.nf = nn.Parameter(torch.ones(WIDTH))
        residual = 0.02 / math.sqrt(2 * LAYERS)
        for block in self.blocks:
            for layer in (block.q, block.k, block.v, block.gate, block.up):
                nn.init.normal_(layer.weight, std=WIDTH**-0.5)
            for layer in (block.q, block.k, block.v):
                nn.init.zeros_(layer.bias)
            nn.init.normal_(block.o.weight, std=residual)
            nn.init.normal_(block.down.weight, std=residual)

    def forward(
        self, ids: Tensor, targets: Tensor, weights: Tensor, cos: Tensor, sin: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        x = F.embedding(ids, self.emb)
        for block in self.blocks:
            x = block(x, cos, sin, mask)
        return self.head(x, targets, weights)

    def head(self, x: Tensor, targets: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The weighted sum of losses, and each token's own."""
        logits = F.linear(normed(x, self.nf), self.emb).float()
        losses = F.cross_entropy(logits.view(-1, VOCAB), targets.view(-1), reduction="none")
        return (losses * weights.view(-1)).sum(), losses.detach()
