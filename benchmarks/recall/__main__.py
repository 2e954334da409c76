"""
How useful the extra context is: ours and llama.vim's, on git histories replayed as typing.

    python -m benchmarks.recall                               # this project's own history
    python -m benchmarks.recall ~/src/attrs ~/src/cobra       # others, by path
    python -m benchmarks.recall --sizes 16 --seeds 1 ~/src/x  # a quick look

For each number of llama.vim's chunks its ring is replayed with several seeds, then ours with as many
tokens as that took on average. Prints a table per history and, with --out, writes it and the curve of
recall against tokens. `replay` says what is counted.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import arguments
from benchmarks.plot import Axis, Series, plot
from benchmarks.recall.history import History, Step
from benchmarks.recall.policies import Ours, Theirs
from benchmarks.recall.replay import CHARS_PER_TOKEN, Result, replay

ROOT = Path(__file__).resolve().parents[2]
TOKENS = Axis("tokens", {"512": 512, "1k": 1024, "4k": 4096, "16k": 16_384, "32k": 32_768}, True)
RECALL = Axis("recall", {"0": 0, "0.5": 0.5, "1": 1})
SIZES = (4, 8, 16, 32, 64)  # chunks of llama.vim: about 1,000 to 16,000 tokens
HEAD = ("ring", "chunks", "tokens", "recall")


class Played(NamedTuple):
    """One policy at one size on one history: the means over its runs."""

    policy: str
    chunks: int
    results: list[Result]

    @property
    def tokens(self) -> float:
        """Of extra context per typed line."""
        return _mean([result.tokens for result in self.results])

    @property
    def recall(self) -> float:
        """Of the names in the next line that are out of sight, the share it holds."""
        return _mean([result.recall for result in self.results])


def main() -> None:
    """Play, print, write."""
    options = _options()
    tables, curves = [], {}
    for path in options.histories:
        rows, n_lines = [], 0
        history = History(path, options.commits, options.skip)
        for row in _play(history, options.sizes, options.seeds):
            rows.append(row)
            n_lines = row.results[0].n_lines
        tables.append(_table(f"**{_name(path)}**, {n_lines} typed lines", rows))
        print(tables[-1], flush=True)
        curves[_name(path)] = {
            policy: Series([(row.tokens, row.recall) for row in rows if row.policy == policy])
            for policy in dict.fromkeys(row.policy for row in rows)
        }
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "recall.md").write_text("\n".join(tables), "utf-8")
        (options.out / "recall.svg").write_text(plot(curves, TOKENS, RECALL), "utf-8")


def _play(history: History, sizes: Sequence[int], n_seeds: int) -> Iterator[Played]:
    steps: list[Step] = list(history.steps())
    files = history.workspace(history.commits[0])
    for n_chunks in sizes:
        theirs = [replay(steps, Theirs(n_chunks, seed), files) for seed in range(n_seeds)]
        yield Played("llama.vim", n_chunks, theirs)
        n_chars = int(_mean([result.tokens for result in theirs]) * CHARS_PER_TOKEN)
        yield Played("ours", n_chunks, [replay(steps, Ours(n_chars, n_chunks), files)])


def _table(title: str, rows: Sequence[Played]) -> str:
    lines = [title, "", _line(HEAD), _line(["---"] + ["---:"] * (len(HEAD) - 1))]
    return "\n".join([*lines, *(_line(_cells(row)) for row in rows), ""])


def _cells(row: Played) -> list[str]:
    return [row.policy, str(row.chunks), f"{row.tokens:.0f}", f"{row.recall:.3f}"]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _name(path: Path) -> str:
    """Return what the history calls itself: the last part of where it came from, or of its path."""
    command = ["git", "-C", str(path), "config", "--get", "remote.origin.url"]
    url = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    parts = [part for part in (url or str(path.resolve())).split("/") if part not in ("repo", "")]
    return parts[-1].removesuffix(".git").rpartition("+")[2]


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.recall", __doc__)
    parser.add_argument("histories", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--commits", type=int, default=40, help="how many of the newest")
    parser.add_argument("--skip", type=int, default=0, help="… before so many")
    parser.add_argument("--seeds", type=int, default=5, help="runs of llama.vim")
    sizes = lambda text: tuple(int(part) for part in text.split(","))  # noqa: E731
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="chunks of llama.vim")
    parser.add_argument("--out", type=Path, help="folder for recall.md and recall.svg")
    return parser.parse_args()


if __name__ == "__main__":
    main()
