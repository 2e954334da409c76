"""
Rows into weights, by the clock: warm-up, constant rate, linear decay; the last part at 2,048 tokens.

    data/t1024_*.npy, data/t2048_*.npy, data/val1024_*.npy  ->  ckpt.pt (float32), train.csv

    python train.py --minutes 50
    python train.py --init ckpt.pt …        go on from saved weights (no optimiser state)

README.md has the six stages the bundled weights come from. Set MALLOC_MMAP_MAX_=0 and
MALLOC_TRIM_THRESHOLD_=20000000000: without them one run was far slower.
"""

from __future__ import annotations

import argparse
import csv
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from model import QUERY_BLOCKS, Model, rotations
from optimiser import Optimiser
from synthetic import MIDDLE, copies, middles
from torch import Tensor

SHORT, LONG = 1024, 2048  # tokens in a row
REACH = 4096  # positions the long rows are stretched to (PoSE), the context the GGUF declares
LOG_SECONDS, SAVE_SECONDS, VALIDATE_SECONDS = 15, 180, 300
FLOOR = 0.03  # of the learning rate, at the end of the decay


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add = parser.add_argument
    add("--minutes", type=float, default=50)
    add("--init", help="start from these weights")
    add("--out", default="ckpt.pt")
    add("--log", default="train.csv")
    add("--threads", type=int, default=2)
    add("--seed", type=int, default=7)
    add("--batch-tokens", type=int, default=4096, help="in one forward pass")
    add("--passes", type=int, default=4, help="forward passes in a step")
    add("--warmup", type=int, default=60, help="steps")
    add("--decay-share", type=float, default=0.4, help="of the time, at the end")
    add("--long-share", type=float, default=0.28, help="of the time, at the end, with long rows")
    add("--reach", type=int, default=SHORT, help="positions the short rows are stretched to")
    add("--lr", type=float, default=0.02, help="matrices")
    add("--lr-embedding", type=float, default=0.003)
    add("--lr-vector", type=float, default=0.002)
    add("--weight-decay", type=float, default=0.05)
    add("--middle-weight", type=float, default=3.0, help="loss weight of middles")
    add("--first-weight", type=float, default=8.0, help="of their first tokens: hard and rare")
    add("--synthetic", type=float, default=0.3, help="share of rows at first; falls to a sixth")
    add("--copies", type=float, default=0.3, help="of the synthetic rows, the plain copies")
    add("--no-compile", action="store_true")
    return parser.parse_args()


def batches(row_tokens: int, n_rows: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows in a new order each epoch, for ever: ids and codes."""
    names = sorted(Path("data").glob(f"t{row_tokens}_*_x.npy"))
    ids = [np.load(name, mmap_mode="r") for name in names]
    codes = [np.load(str(name).replace("_x", "_m"), mmap_mode="r") for name in names]
    order = [(part, row) for part in range(len(ids)) for row in range(len(ids[part]))]
    for epoch in range(1_000_000):
        random.Random(seed + epoch).shuffle(order)
        for at in range(0, len(order) - n_rows, n_rows):
            some = order[at : at + n_rows]
            yield (
                np.stack([ids[part][row] for part, row in some]).astype(np.int64),
                np.stack([codes[part][row] for part, row in some]),
            )


def positions(n_rows: int, n_tokens: int, reach: int, rng: random.Random) -> Tensor:
    """PoSE: in half of the rows one random jump, so that distances up to *reach* are seen."""
    result = torch.arange(n_tokens)[None].repeat(n_rows, 1)
    for row in range(n_rows):
        if reach > n_tokens and rng.random() < 0.5:
            result[row, rng.randrange(64, n_tokens - 64) :] += rng.randrange(reach - n_tokens)
    return result


class Trainer:
    """The model with its optimiser and the options of the run."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.rng = random.Random(0)
        torch.manual_seed(0)
        self.model = Model()
        if given.init:
            self.model.load_state_dict(torch.load(given.init))
        rates = {"matrix": given.lr, "embedding": given.lr_embedding, "vector": given.lr_vector}
        self.optimiser = Optimiser(self.model, rates, given.weight_decay)
        self.model.to(torch.bfloat16)
        self.optimiser.rebind(self.model)
        if not given.no_compile:  # one block is compiled once and used for all
            for block in self.model.blocks:
                block.compile(dynamic=False)
            self.model.head = torch.compile(self.model.head, dynamic=False)
        self.masks = {
            n: torch.full((n, n), float("-inf")).triu(1).to(torch.bfloat16) for n in (SHORT, LONG)
        }

    def losses(self, ids: Tensor, codes: Tensor, reach: int) -> tuple[Tensor, Tensor, Tensor]:
        """The weighted sum, each token's loss, and each token's weight."""
        n_rows, n_tokens = ids.size(0), ids.size(1) - 1
        assert n_tokens % QUERY_BLOCKS == 0
        codes = codes[:, 1:]
        weights = (1 + (self.given.middle_weight - 1) * (codes == 1).float()) * (codes != 2)
        is_first = ids[:, :-1] == MIDDLE
        weights = torch.where(is_first, torch.full_like(weights, self.given.first_weight), weights)
        cos, sin = rotations(positions(n_rows, n_tokens, reach, self.rng))
        total, each = self.model(
            ids[:, :-1].contiguous(),
            ids[:, 1:].contiguous(),
            weights,
            cos,
            sin,
            self.masks[n_tokens],
        )
        return total, each, weights

    def mixed(self, ids: np.ndarray, codes: np.ndarray, share: float) -> tuple[Tensor, Tensor]:
        """The batch with a share of its rows replaced by synthetic ones."""
        for row in range(len(ids)):
            if self.rng.random() < share:
                make = copies if self.rng.random() < self.given.copies else middles
                ids[row], codes[row] = make(ids.shape[1], self.rng, ids)
        return torch.from_numpy(ids), torch.from_numpy(codes)

    def step(
        self, data: Iterator[tuple[np.ndarray, np.ndarray]], done: float, n: int
    ) -> list[float]:
        """One optimiser step when the share *done* of the time is over; returns losses of real code."""
        given = self.given
        decay = 1.0
        if done > 1 - given.decay_share:
            decay = FLOOR + (1 - FLOOR) * (1 - done) / given.decay_share
        share = given.synthetic * (1 - done * 5 / 6)
        denominator, real = 0.0, []
        for _ in range(given.passes):
            ids, codes = self.mixed(*next(data), share)
            reach = REACH if ids.size(1) == LONG + 1 else given.reach
            total, each, weights = self.losses(ids, codes, reach)
            total.backward()
            self.optimiser.accumulate()
            denominator += weights.sum().item()
            real.append(each[(codes[:, 1:] < 2).reshape(-1)].mean().item())
        self.optimiser.step(min(1.0, (n + 1) / given.warmup) * decay, denominator)
        return real

    def validate(self) -> tuple[float, float]:
        """The loss per held-out token, and per token of a middle."""
        ids = torch.from_numpy(np.load("data/val1024_x.npy").astype(np.int64))
        codes = torch.from_numpy(np.load("data/val1024_m.npy"))
        each, is_middle = [], []
        for at in range(0, len(ids) - 3, 4):  # training's shapes: nothing new to compile
            each.append(self.losses(ids[at : at + 4], codes[at : at + 4], 0)[1])
            is_middle.append((codes[at : at + 4, 1:] == 1).reshape(-1))
        losses, middle = torch.cat(each), torch.cat(is_middle)
        return losses.mean().item(), losses[middle].mean().item()

    def save(self) -> None:
        torch.save({item.name: item.weight for item in self.optimiser.items}, self.given.out)


def main() -> None:
    given = options()
    torch.set_num_threads(given.threads)
    trainer = Trainer(given)
    started = time.monotonic()
    row_tokens, n_steps, n_tokens, recent = 0, 0, 0, []
    next_log, next_save, next_validation = 0.0, float(SAVE_SECONDS), float(VALIDATE_SECONDS)
    with Path(given.log).open("w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["seconds", "step", "tokens", "row", "train", "held out", "held out middle"])
        while (done := (time.monotonic() - started) / (given.minutes * 60)) < 1:
            wanted = SHORT if done < 1 - given.long_share else LONG
            if wanted != row_tokens:
                row_tokens = wanted
                data = batches(row_tokens, given.batch_tokens // row_tokens, given.seed)
            recent += trainer.step(data, done, n_steps)
            n_steps += 1
            n_tokens += given.passes * given.batch_tokens
            seconds = time.monotonic() - started
            if seconds > next_log:
                held_out = trainer.validate() if seconds > next_validation else ("", "")
                next_validation += VALIDATE_SECONDS if held_out[0] else 0
                log.writerow(
                    [round(seconds), n_steps, n_tokens, row_tokens, np.mean(recent), *held_out]
                )
                file.flush()
                print(f"{seconds:5.0f} s  step {n_steps}  loss {np.mean(recent):.3f}", flush=True)
                recent, next_log = [], seconds + LOG_SECONDS
            if seconds > next_save:
                trainer.save()
                next_save = seconds + SAVE_SECONDS
    trainer.save()
    print("held out (all, middles):", trainer.validate(), f"after {n_tokens / 1e6:.1f}M tokens")


if __name__ == "__main__":
    main()
