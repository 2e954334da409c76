"""
How good the next edit is without a model: commits of git histories, replayed hunk by hunk.

    python -m benchmarks.next_edit ~/src/requests ~/src/gin
    python -m benchmarks.next_edit --commits 50 --jobs 1 ~/src/gin

After each hunk the engine is asked. A proposal is right when place and text are exactly one of the commit's remaining
changes. Reported are the share of right ones among those shown (precision), the share of asks with a proposal among
those where more changes follow (coverage), and the share of commits without a recurring change in which nothing was
shown (quiet); then the curves over the confidence from which on it is shown: of all, and of those in files that are not
open (`replay` says which are).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial, reduce
from pathlib import Path

from benchmarks import arguments
from benchmarks.git import name_of
from benchmarks.markdown import table
from benchmarks.next_edit.commits import History
from benchmarks.next_edit.replay import Ask, asks
from benchmarks.next_edit.scores import JudgedAsk, Ranked, Score, Shown, Where, judge, score
from benchmarks.progress import tell
from fim_lsp.next_edit.edits import EditedText
from fim_lsp.next_edit.engine import Proposal, breaks, in_unopened, proposals
from fim_lsp.next_edit.evidence import SURE, SURE_UNOPENED
from fim_lsp.next_edit.renames import find_renames
from tests.parsing import count_here, find_here

LEVELS = (0.1, 0.15, 0.2, 0.25, SURE, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
UNOPENED_LEVELS = (SURE, 0.4, SURE_UNOPENED, 0.6, 0.7, 0.8, 0.9, 1.0, NEVER := 2.0)
RANKED = 40  # proposals of an ask that are kept: refused ones give way to others
HEAD = ("history", "asks", "precision", "coverage", "quiet")


def main() -> None:
    """Replay and print."""
    options = _options()
    everything: list[list[JudgedAsk]] = []
    rows: list[list[object]] = []
    play = partial(_played, options.commits)
    with ProcessPoolExecutor(options.jobs) as pool:
        histories = tell(options.histories, len(options.histories), name_of)
        for path, played in zip(histories, pool.map(play, options.histories), strict=True):
            everything.append(played)
            rows.append(_row(name_of(path), [played]))
            print(*rows[-1], file=sys.stderr, flush=True)
    print(table(HEAD, [*rows, _row("all", everything)]))
    print(f"\n{_levels(everything)}")


def _played(n_commits: int, path: Path) -> list[JudgedAsk]:
    """Return the asks of a history, and what the engine had for them."""
    history = History(path, n_commits)
    return [judge(a, _ranked(a)) for c in history.commits for a in asks(c, history.files(c))]


def _ranked(ask: Ask) -> Ranked:
    """Return what the server would show at any level, the surest first; then that in files that are not open."""
    opened = ask.texts[: ask.n_open]
    unopened = ask.unopened
    renames = find_renames(ask.edits, opened, find_here)
    here = _likely(proposals(ask.edits, opened, renames), opened)
    away = _likely(in_unopened(ask.edits, opened, unopened, renames), unopened)
    shown = [Shown(*proposal[:5], proposal.pattern) for proposal in here]
    for proposal in away:
        where = Where.RENAMED if proposal.is_renaming else Where.UNOPENED
        shown.append(Shown(*proposal[:5], proposal.pattern, where))
    return shown


def _likely(all_proposals: Sequence[Proposal], texts: Sequence[EditedText]) -> list[Proposal]:
    surest = sorted(all_proposals, key=lambda proposal: -proposal.confidence)[:RANKED]
    return [p for p in surest if p.confidence >= LEVELS[0] and not breaks(p, texts, count_here)]


def _total(
    histories: Sequence[list[JudgedAsk]], sure: float, sure_unopened: float = SURE_UNOPENED
) -> Score:
    renamed = NEVER if sure_unopened == NEVER else sure
    levels = {Where.OPEN: sure, Where.RENAMED: renamed, Where.UNOPENED: max(sure, sure_unopened)}
    return reduce(Score.__add__, (score(judged_asks, levels) for judged_asks in histories))


def _row(name: str, played: Sequence[list[JudgedAsk]]) -> list[object]:
    total = _total(played, SURE)
    return [name, total.asks, *_cells(total)]


def _levels(histories: Sequence[list[JudgedAsk]]) -> str:
    figures = ("precision", "coverage", "quiet")
    by_level = [(sure, *_cells(_total(histories, sure))) for sure in LEVELS]
    rows = list[tuple[object, ...]]()
    for level in UNOPENED_LEVELS:
        total = _total(histories, SURE, level)
        name = {NEVER: "never", 1.0: "only renamed names"}.get(level, level)
        rows.append((name, total.unopened, f"{total.unopened_precision:.2f}", *_cells(total)))
    away = ("in files that are not open from", "shown there", "right", *figures)
    return f"{table(('shown from', *figures), by_level)}\n\n{table(away, rows)}"


def _cells(total: Score) -> tuple[str, ...]:
    return f"{total.precision:.2f}", f"{total.coverage:.2f}", f"{total.silence:.1%}"


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.next_edit", __doc__)
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=200, help="how many of the newest")
    parser.add_argument("--jobs", type=int, default=2, help="histories at a time")
    return parser.parse_args()


if __name__ == "__main__":
    main()
