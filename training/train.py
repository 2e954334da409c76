"""
The corpus into weights, by the clock: warm-up, constant rate, linear decay; the last part with long rows.

    python -m training.train ~/fim-data --minutes 20 --out build/weights.npz

README.md has the plan and its arithmetic; --smoke is the same on a CPU in minutes.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.optim import AdamW, Muon, Optimizer
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from training.corpus import read
from training.model import Model
from training.neighbourhood import Neighbourhood, neighbourhoods
from training.rows import ANSWER, Row, rows
from training.shapes import SHAPES

SEED = 7
SIZES = {"row_tokens": 4096, "pass_tokens": 1 << 16, "step_tokens": 1 << 18, "warm_up": 100}
SMOKE = {"row_tokens": 512, "pass_tokens": 4096, "step_tokens": 4096, "warm_up": 10, "workers": 0}
# Matrices by Muon at AdamW's scale (Liu et al. 2025, arXiv 2502.16982), the rest by AdamW
RATE = 3e-3
DECAY = 0.05
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
    add("folder", type=Path, help="with train.jsonl, held_out.jsonl and tokenizer.json")
    add("--minutes", type=float, default=20, help="loading and saving included")
    add("--out", type=Path, default=Path("build/weights.npz"))
    add("--workers", type=int, default=12, help="processes that make examples")
    add("--smoke", action="store_true", help="a small model with short rows")
    options = parser.parse_args()
    vars(options).update(SMOKE if options.smoke else SIZES)
    return options


class Rows(IterableDataset[Row]):
    """Rows for ever; each worker draws its own from all of the corpus."""

    def __init__(
        self, places: list[Neighbourhood], options: argparse.Namespace, row_tokens: int, seed: str
    ) -> None:
        self.places = places
        self.row_tokens = row_tokens
        self.seed = seed
        self.tokenizer = options.folder / "tokenizer.json"
        self.synthetic = SYNTHETIC

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
        self.n_steps = 0
        if self.device.type == "cuda":  # one block is compiled once and used for all
            for block in self.model.blocks:
                block.compile(dynamic=False)

    def losses(self, ids: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """Return each token's loss and weight, of rows with one token more than they predict."""
        ids = ids.to(self.device).long()
        codes = codes.to(self.device)[:, 1:]
        weights = (1 + (ANSWER_WEIGHT - 1) * (codes == ANSWER).float()) * (codes != UNKNOWABLE)
        with torch.autocast(self.device.type, torch.bfloat16):
            return self.model(ids[:, :-1], ids[:, 1:]), weights

    def step(self, data: Iterator[list[Tensor]], share: float) -> float:
        """One step when *share* of the time is over; returns the loss of real code."""
        warm = min(1.0, (self.n_steps + 1) / self.options.warm_up)
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
        self.n_steps += 1
        return float(torch.stack(real).mean())

    @torch.no_grad()
    def validated(self, batch: list[Tensor]) -> dict[str, float]:
        """Return the loss per held-out token, and per token of an answer."""
        losses, _ = self.losses(*batch)
        answers = losses[(batch[1][:, 1:] == ANSWER).to(self.device)]
        parts = {"held out": losses, "answers": answers}
        return {name: round(float(part.mean()), 4) for name, part in parts.items()}

    def save(self) -> None:
        """Write the weights as float32, by the names of `export`."""
        self.options.out.parent.mkdir(parents=True, exist_ok=True)
        weights = {name: t.float().cpu().numpy() for name, t in self.model.state_dict().items()}
        np.savez(self.options.out, allow_pickle=False, **weights)


def batches(
    options: argparse.Namespace, places: list[Neighbourhood], row_tokens: int, seed: str, workers: int
) -> Iterator[list[Tensor]]:  # fmt: skip
    """Batches of `Rows` as tensors of ids and codes."""
    return iter(
        DataLoader(
            Rows(places, options, row_tokens, seed),
            batch_size=options.pass_tokens // row_tokens,
            num_workers=workers,
            multiprocessing_context="fork" if workers else None,  # which shares the corpus
            collate_fn=_as_tensors,
        )
    )


def _as_tensors(some: list[Row]) -> list[Tensor]:
    return [torch.from_numpy(np.stack(p).astype(np.int32)) for p in zip(*some, strict=True)]


def main() -> None:
    """Train until the time is over."""
    started = time.monotonic()
    options = read_options()
    trainer = Trainer(options)
    unseen = neighbourhoods(read(options.folder / "held_out.jsonl"))
    held_out = next(batches(options, unseen, options.row_tokens, "held out", 0))
    places = neighbourhoods(read(options.folder / "train.jsonl"))
    total = options.minutes * 60 - RESERVE_S
    row_tokens = 0
    recent = []
    next_log = 0.0
    while (elapsed := time.monotonic() - started) < total:
        wanted = options.row_tokens * (1 if elapsed < total * (1 - LONG_SHARE) else 2)
        if wanted != row_tokens:
            row_tokens = wanted
            data = batches(options, places, row_tokens, f"{SEED} {row_tokens}", options.workers)
        recent.append(trainer.step(data, elapsed / total))
        if elapsed > next_log:
            losses = {"train": round(float(np.mean(recent)), 4), **trainer.validated(held_out)}
            n_tokens = trainer.n_steps * options.step_tokens
            about = {"seconds": round(elapsed), "tokens": n_tokens, "row": row_tokens}
            print(json.dumps({**about, **losses}), flush=True)
            recent = []
            next_log = elapsed + LOG_S
    trainer.save()
    print(json.dumps({"steps": trainer.n_steps, **trainer.validated(held_out)}))


if __name__ == "__main__":
    main()
