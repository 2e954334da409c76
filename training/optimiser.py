"""
Muon for the matrices of the blocks, AdamW for embedding, norms and biases; master weights in float32.

Muon: Keller Jordan, https://kellerjordan.github.io/posts/muon/ (momentum, orthogonalised by five
Newton-Schulz steps).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass
class Item:
    """One parameter: its bfloat16 self in the model, master weights, gradient and moments."""

    name: str
    parameter: nn.Parameter
    weight: Tensor
    grad: Tensor
    first: Tensor
    second: Tensor

    @property
    def kind(self) -> str:
        if self.name == "emb":
            return "embedding"
        return "matrix" if self.parameter.ndim == 2 else "vector"


def orthogonal(grad: Tensor) -> Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315
    x = grad.to(torch.bfloat16)
    is_tall = x.size(0) > x.size(1)
    x = x.T if is_tall else x
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return (x.T if is_tall else x).float()


class Optimiser:
    """`accumulate` after every backward pass, `step` after some of them."""

    def __init__(self, model: nn.Module, rates: dict[str, float], decay: float) -> None:
        """*rates* by kind: matrix, embedding, vector. The model may be made bfloat16 afterwards."""
        self.items = [
            Item(name, p, p.detach().float().clone(), *(torch.zeros(p.shape) for _ in range(3)))
            for name, p in model.named_parameters()
        ]
        self.rates, self.decay, self.n_steps = rates, decay, 0

    def rebind(self, model: nn.Module) -> None:
        """Follow the model's parameters after a change of their type."""
        for item, parameter in zip(self.items, model.parameters(), strict=True):
            item.parameter = parameter

    def accumulate(self) -> None:
        for item in self.items:
            assert item.parameter.grad is not None
            item.grad += item.parameter.grad.float()
            item.parameter.grad = None

    @torch.no_grad()
    def step(self, scale: float, denominator: float) -> float:
        """One step at *scale* of the learning rates; returns the gradient's norm."""
        self.n_steps += 1
        for item in self.items:
            item.grad /= denominator
        norm = sum(float(item.grad.pow(2).sum()) for item in self.items) ** 0.5
        for item in self.items:
            if item.kind == "matrix":
                self._muon(item, self.rates["matrix"] * scale)
            else:
                self._adam(item, self.rates[item.kind] * scale, norm)
            item.parameter.copy_(item.weight)
            item.grad.zero_()
        return norm

    def _muon(self, item: Item, rate: float) -> None:
        momentum = min(0.95, 0.85 + 0.1 * self.n_steps / 300)
        item.first.mul_(momentum).add_(item.grad)
        update = orthogonal(item.grad + momentum * item.first)
        update *= max(1, update.size(0) / update.size(1)) ** 0.5
        item.weight.mul_(1 - rate * self.decay).add_(update, alpha=-rate)

    def _adam(self, item: Item, rate: float, norm: float) -> None:
        grad = item.grad * min(1.0, 1.0 / (norm + 1e-6))
        item.first.mul_(0.9).add_(grad, alpha=0.1)
        item.second.mul_(0.95).addcmul_(grad, grad, value=0.05)
        first = item.first / (1 - 0.9**self.n_steps)
        second = item.second / (1 - 0.95**self.n_steps)
        item.weight.sub_(rate * first / (second.sqrt() + 1e-10))
