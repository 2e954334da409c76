"""
How useful the extra context is: our ring, on git histories replayed as typing.

    python -m benchmarks.recall                     # this project's own history
    python -m benchmarks.recall ~/src/attrs ~/src/cobra
    python -m benchmarks.recall --sizes 16 ~/src/x  # a quick look

Prints a table per history: for each size the names in the next line that are out of sight, and the
share of them that the ring holds. `replay` says what is counted. Commit `a827b9b8` has llama.vim's
ring, and the curve of both.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import arguments
from benchmarks.git import name_of
from benchmarks.markdown import table
from benchmarks.recall.history import History
from benchmarks.recall.replay import CHARS_PER_TOKEN, replay
from benchmarks.recall.ring import DrivenRing

ROOT = Path(__file__).resolve().parents[2]
SIZES = (4, 8, 16, 32, 64)
CHUNK_TOKENS = 250  # of a chunk: as many as llama.vim's has in the table of README


def main() -> None:
    """Play and print."""
    options = _options()
    for path in options.histories:
        history = History(path, options.commits)
        steps, files = [*history.steps()], history.workspace()
        rows = list[tuple[object, ...]]()
        for size in options.sizes:
            n_chars = int(size * CHUNK_TOKENS * CHARS_PER_TOKEN)
            result = replay(steps, DrivenRing(size, n_chars, files), files)
            rows.append((size, f"{result.tokens:.0f}", f"{result.recall:.3f}"))
        print(f"**{name_of(path)}**, {result.n_lines} typed lines, {result.needed} names\n")
        print(table(("chunks", "tokens", "recall"), rows), end="\n\n", flush=True)


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.recall", __doc__)
    parser.add_argument("histories", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--commits", type=int, default=40, help="how many of the newest")
    sizes = lambda text: [int(part) for part in text.split(",")]  # noqa: E731
    parser.add_argument("--sizes", type=sizes, default=SIZES, help="chunks of the ring")
    return parser.parse_args()


if __name__ == "__main__":
    main()
