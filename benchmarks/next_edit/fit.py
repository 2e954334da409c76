"""
The weights of `fim_lsp/next_edit/confidence.py`, fitted to commits of git histories.

    python -m benchmarks.next_edit.fit ~/src/click ~/src/ripgrep ~/src/express

Every place that is judged while the commits are replayed, from top to bottom and once more from the
middle on, is a row: its evidence, and whether it was right. Logistic regression by Newton's method,
with a small penalty; the rows of an ask together weigh as the root of their number. Prints the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.next_edit.commits import History
from benchmarks.next_edit.replay import Ask, asks
from fim_lsp.next_edit.engine import proposals

PENALTY = 2.0  # on the square of each weight
STEPS = 30
Array = NDArray[np.float64]


class Row(NamedTuple):
    """A place: its evidence, whether it was right, what it weighs; *again* if there were more examples."""

    evidence: dict[str, float]
    is_right: bool
    weight: float
    again: bool


def main() -> None:
    """Replay, fit, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.next_edit.fit", description=__doc__)
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=200, help="how many of the newest")
    options = parser.parse_args()
    rows = [
        row
        for path in options.histories
        for ask in both_orders(History(path, options.commits))
        for row in _rows(ask)
    ]
    names = [*rows[0].evidence]
    once, more = (
        _fitted([row for row in rows if row.again is again], names) for again in (False, True)
    )
    for name, one, other in zip(names, once, more, strict=True):
        print(f'    "{name}": ({one:.2f}, {other:.2f}),')


def both_orders(history: History) -> Iterator[Ask]:
    """Yield the asks of all commits from the top, and from the middle."""
    for commit in history.commits:
        files = history.files(commit)
        middle = len(commit.hunks) // 2
        for first in {0, middle}:
            yield from asks(commit, files, first)


def _rows(ask: Ask) -> Iterator[Row]:
    found = proposals(ask.edits, ask.texts)
    for each in found:
        is_right = ask.is_right(each.uri, each.line, each.before, each.after)
        yield Row(each.evidence, is_right, len(found) ** -0.5, each.n_examples > 1)


def _fitted(rows: list[Row], names: list[str]) -> Array:
    x = np.array([[row.evidence[name] for name in names] for row in rows])
    right = np.array([float(row.is_right) for row in rows])
    weight = np.array([row.weight for row in rows])
    found = np.zeros(len(names))
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-x @ found))
        slope = x.T @ (weight * (p - right)) + PENALTY * found
        bend = (x * (weight * p * (1 - p))[:, None]).T @ x + PENALTY * np.eye(len(names))
        found -= np.linalg.solve(bend, slope)
    return found


if __name__ == "__main__":
    main()
