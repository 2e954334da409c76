"""
Shards into weights, by the clock: warm-up, constant rate, linear decay; the last part with long rows.

    python3 -m training.train .shards/0.jsonl.xz --minutes 9 --of 18 --out $OUT

stops in time, saves its state on that machine (--state) and the weights in parts (--out). Called
again with other shards it continues from there; on another machine, --init PARTS continues from the
weights alone. README.md has the plan and its arithmetic; --smoke is the same on a CPU in minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.optim import AdamW, Muon, Optimizer
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from training import parts
from training.model import Model
from training.neighbourhood import Neighbourhood, neighbourhoods
from training.rows import ANSWER, Row, rows
from training.shapes import SHAPES
from training.shards import read

SEED = 7
# Matrices by Muon at AdamW's scale (Liu et al. 2025, arXiv 2502.16982), the rest by AdamW
RATE, DECAY = 3e-3, 0.05
BETAS = (0.9, 0.95)
DECAY_SHARE = 0.4  # of the time, at the end: the rate falls to …
FLOOR = 0.03  # … this part
LONG_SHARE = 0.25  # of the time, at the end, with rows twice as long: the whole context is learnt
ANSWER_WEIGHT = 5.0  # answers are 3 % of the tokens, and what the model is for
UNKNOWABLE = 2  # code of a token without loss
SYNTHETIC = 0.08  # rows that teach copying for each real one
RESERVE_S = 20.0  # of the clock: to save
LOG_S = 15.0


def read_options() -> argparse.Namespace:
    """Return what the plan leaves open."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("shards", nargs="+", type=Path)
    add("--tokenizer", type=Path, default=Path(".shards/tokenizer.json"))
    add("--held-out", type=Path, help="a shard whose loss is logged, never trained on")
    add("--minutes", type=float, default=9, help="of this call, loading and saving included")
    add("--of", type=float, default=18, help="minutes of all calls")
    add("--out", type=Path, default=Path("build/weights"))
    add(
        "--state",
        type=Path,
        default=Path("build/state.pt"),
        help="not among what is sent each time",
    )
    add("--init", type=Path, help="parts to start from where there is no state")
    add("--workers", type=int, default=12, help="processes that make examples")
    add("--row-tokens", type=int, default=4096)
    add("--pass-tokens", type=int, default=1 << 16)
    add("--step-tokens", type=int, default=1 << 18)
    add("--smoke", action="store_true", help="a small model, one worker, short rows")
    add("--warm-up", type=int, default=100, help="steps")
    options = parser.parse_args()
    if options.smoke:
        options.workers, options.row_tokens, options.pass_tokens, options.step_tokens = (
            0,
            512,
            4096,
            4096,
        )
        options.warm_up = 10
    return options


class Rows(IterableDataset[Row]):
    """Rows for ever; each worker draws its own from all of the shards."""

    def __init__(
        self, places: list[Neighbourhood], options: argparse.Namespace, row_tokens: int, seed: str
    ) -> None:
        self.places, self.row_tokens, self.seed = places, row_tokens, seed
        self.tokenizer, self.synthetic = options.tokenizer, SYNTHETIC

    def __iter__(self) -> Iterator[Row]:
        tokenizer = Tokenizer.from_file(str(self.tokenizer))
        worker = get_worker_info()
        rng = random.Random(f"{self.seed} {worker.id if worker else 0}")
        encode = lambda text: tokenizer.encode(text).ids  # noqa: E731
        return rows(rng, self.places, encode, self.row_tokens, self.synthetic)


class Trainer:
    """A model with its optimisers and how far they are."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(SEED)
        self.shape = "smoke" if options.smoke else "small"
        self.model = Model(SHAPES[self.shape]).to(self.device)
        self.model.stream = torch.bfloat16
        inner = [p for name, p in self.model.named_parameters() if p.ndim == 2 and name != "emb"]
        others = [p for name, p in self.model.named_parameters() if p.ndim == 1 or name == "emb"]
        self.optimisers: list[Optimizer] = [
            Muon(inner, lr=RATE, weight_decay=DECAY, adjust_lr_fn="match_rms_adamw"),
            AdamW(others, lr=RATE, betas=BETAS, weight_decay=0.0, fused=self.device.type == "cuda"),
        ]
        self.done: dict[str, float] = {"seconds": 0.0, "steps": 0, "tokens": 0, "calls": 0}
        self._resume()
        if self.device.type == "cuda":  # one block is compiled once and used for all
            for block in self.model.blocks:
                block.compile(dynamic=False)

    def _resume(self) -> None:
        if self.options.state.exists():
            state = torch.load(self.options.state, map_location=self.device)
            self.model.load_state_dict(state["model"])
            for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
                optimiser.load_state_dict(saved)
            self.done = state["done"]
        elif self.options.init:
            packed, notes = parts.load(self.options.init)
            tensors = {name: torch.from_numpy(parts.as_float(a)) for name, a in packed.items()}
            self.model.load_state_dict(tensors)
            self.done = notes["done"]
        self.done["calls"] += 1

    def losses(self, ids: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Return each token's loss and weight, of rows with one token more than they predict."""
        ids, codes = ids.to(self.device).long(), codes.to(self.device)[:, 1:]
        weights = (1 + (ANSWER_WEIGHT - 1) * (codes == ANSWER).float()) * (codes != UNKNOWABLE)
        with torch.autocast(self.device.type, torch.bfloat16):
            return self.model(ids[:, :-1], ids[:, 1:]), weights

    def step(self, data: Iterator[list[Tensor]], share: float) -> float:
        """One step when *share* of the time is over; returns the loss of real code."""
        warm = min(1.0, (self.done["steps"] + 1) / self.options.warm_up)
        rate = RATE * warm * min(1.0, FLOOR + (1 - FLOOR) * (1 - share) / DECAY_SHARE)
        n_passes = self.options.step_tokens // self.options.pass_tokens
        real = []
        for ids, codes in itertools.islice(data, n_passes):
            losses, weights = self.losses(ids, codes)
            ((losses * weights).sum() / weights.sum() / n_passes).backward()
            real.append(losses.detach()[(codes[:, 1:] <= ANSWER).to(self.device)].mean())
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = rate
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        self.done["steps"] += 1
        self.done["tokens"] += self.options.step_tokens
        return float(torch.stack(real).mean())

    @torch.no_grad()
    def validated(self, batch: list[Tensor]) -> dict[str, float]:
        """Return the loss per held-out token, and per token of an answer."""
        losses, _ = self.losses(*batch)
        answers = losses[(batch[1][:, 1:] == ANSWER).to(self.device)]
        return {
            "held out": round(float(losses.mean()), 4),
            "answers": round(float(answers.mean()), 4),
        }

    def save(self, losses: dict[str, float]) -> None:
        """The state for this machine, and the weights in parts for all others."""
        optimisers = [optimiser.state_dict() for optimiser in self.optimisers]
        state = {"model": self.model.state_dict(), "optimisers": optimisers, "done": self.done}
        self.options.state.parent.mkdir(parents=True, exist_ok=True)
        torch.save(state, self.options.state)
        weights = {
            name: tensor.float().cpu().numpy() for name, tensor in self.model.state_dict().items()
        }
        notes: dict[str, Any] = {"shape": self.shape, "done": self.done, "losses": losses}
        parts.save(weights, notes, self.options.out)


def batches(
    options: argparse.Namespace,
    places: list[Neighbourhood],
    row_tokens: int,
    seed: str,
    workers: int,
) -> Iterator[list[Tensor]]:
    """Batches of `Rows` as tensors of ids and codes."""
    data = DataLoader(
        Rows(places, options, row_tokens, seed),
        batch_size=options.pass_tokens // row_tokens,
        num_workers=workers,
        multiprocessing_context="fork" if workers else None,  # which shares the shards
        collate_fn=lambda some: [
            torch.from_numpy(np.stack(part).astype(np.int32)) for part in zip(*some, strict=True)
        ],
    )
    return iter(data)


def held_out_batch(options: argparse.Namespace) -> list[Tensor] | None:
    """One batch of what is held out, the same one always."""
    if options.held_out is None:
        return None
    places = neighbourhoods(read(options.held_out))
    return next(batches(options, places, options.row_tokens, "held out", 0))


def main() -> None:
    """Train until the time is over."""
    started = time.monotonic()
    options = read_options()
    trainer = Trainer(options)
    before, total = trainer.done["seconds"], options.of * 60
    held_out = held_out_batch(options)
    places = neighbourhoods(entry for path in options.shards for entry in read(path))
    row_tokens, recent, next_log, losses = 0, [], 0.0, {}
    while (elapsed := time.monotonic() - started) < options.minutes * 60 - RESERVE_S:
        share = min(1.0, (before + elapsed) / (total - RESERVE_S))
        wanted = options.row_tokens * (1 if share < 1 - LONG_SHARE else 2)
        if wanted != row_tokens:
            row_tokens = wanted
            seed = f"{SEED} {trainer.done['calls']} {row_tokens}"
            data = batches(options, places, row_tokens, seed, options.workers)
        recent.append(trainer.step(data, share))
        trainer.done["seconds"] = before + elapsed
        if elapsed > next_log:
            losses = {"train": round(float(np.mean(recent)), 4)}
            losses |= trainer.validated(held_out) if held_out else {}
            print(json.dumps({**trainer.done, "row": row_tokens, **losses}), flush=True)
            recent, next_log = [], elapsed + LOG_S
    trainer.done["seconds"] = before + time.monotonic() - started
    losses |= trainer.validated(held_out) if held_out else {}
    trainer.save(losses)
    print(json.dumps({**trainer.done, **losses, "saved after": round(time.monotonic() - started)}))


if __name__ == "__main__":
    main()
