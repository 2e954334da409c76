"""
How good the next edit is without a model: commits of git histories, replayed hunk by hunk.

    python -m benchmarks.next_edit ~/src/requests ~/src/gin
    python -m benchmarks.next_edit --commits 400 --order middle --out benchmarks/results ~/src/gin

After each hunk the engine is asked. A proposal is right when place and text are exactly one of the
commit's remaining changes. Reported are the share of right ones among those shown (precision), the
share of asks with a proposal among those where more changes follow (coverage), and the share of
commits without a recurring change in which nothing was shown (quiet); then the same for the next
line with the old tokens (`baseline`), and the curves over the confidence from which on it is shown: of
all, and of those in files that are not open (`replay` says which are). With `--renames`, names that
became others are looked at instead, see `renames`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial, reduce
from pathlib import Path
from typing import NamedTuple

from benchmarks import arguments
from benchmarks.figures import at
from benchmarks.next_edit.baseline import baseline
from benchmarks.next_edit.commits import History
from benchmarks.next_edit.renames import score_renames, table
from benchmarks.next_edit.replay import Ask, asks
from benchmarks.next_edit.scores import JudgedAsk, Ranked, Score, Shown, Where, judge, score
from benchmarks.plot import Axis, Series, plot
from fim_lsp.next_edit.engine import Proposal, breaks, in_unopened, proposals
from fim_lsp.next_edit.evidence import SURE, SURE_UNOPENED
from fim_lsp.next_edit.renames import find_here, find_renames
from fim_lsp.next_edit.texts import EditedText

LEVELS = (0.1, 0.15, 0.2, 0.25, SURE, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
UNOPENED_LEVELS = (SURE, 0.4, SURE_UNOPENED, 0.6, 0.7, 0.8, 0.9, 1.0, NEVER := 2.0)
COVERAGE = Axis("coverage", {f"{n / 10}": n / 10 for n in range(7)})
PRECISION = Axis("precision", {f"{n / 10}": n / 10 for n in range(4, 11)})
RANKED = 40  # proposals of an ask that are kept: refused ones give way to others
HEAD = "| history | asks | precision | coverage | quiet | next line: precision | coverage |"


class Played(NamedTuple):
    """The asks of a history by engine, and the CPU time of each of ours."""

    ours: list[JudgedAsk]
    theirs: list[JudgedAsk]
    ms: list[float]


def main() -> None:
    """Replay, print, draw."""
    options = _options()
    if options.renames:
        with ProcessPoolExecutor(options.jobs) as pool:
            score_one = partial(score_renames, n_commits=options.commits, skip=options.skip)
            print(table(pool.map(score_one, options.histories)))
        return
    print(HEAD + "\n|" + " --- |" * HEAD.count(" |"))
    everything: dict[str, Played] = {}
    play = partial(_played, options.commits, options.skip, options.order)
    with ProcessPoolExecutor(options.jobs) as pool:
        for path, played in zip(options.histories, pool.map(play, options.histories), strict=True):
            everything[_name(path)] = played
            print(_row(_name(path), [played]), flush=True)
    if len(everything) > 1:
        print(_row("all", [*everything.values()]))
    ms = [each for played in everything.values() for each in played.ms]
    print(
        f"\n{at(ms, 0.5):.1f} ms per ask at the median, {at(ms, 0.95):.1f} at the 95th percentile\n"
    )
    print(_levels([played.ours for played in everything.values()]))
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        lines = {name: _line([played.ours]) for name, played in everything.items()}
        lines["all"] = _line([played.ours for played in everything.values()])
        (options.out / "next-edit.svg").write_text(plot({"": lines}, COVERAGE, PRECISION), "utf-8")


def _played(n_commits: int, skip: int, order: str, path: Path) -> Played:
    """Return the asks of a history, and what each engine had for them."""
    played = Played([], [], [])
    history = History(path, n_commits, skip)
    for commit in history.commits:
        first = len(commit.hunks) // 2 if order == "middle" else 0
        for ask in asks(commit, history.files(commit), first):
            start = time.thread_time()
            ranked = _ranked(ask)
            played.ms.append((time.thread_time() - start) * 1000)
            played.ours.append(judge(ask, ranked))
            played.theirs.append(judge(ask, baseline(ask)))
    return played


def _ranked(ask: Ask) -> Ranked:
    """Return what the server would show at any level, the surest first; then that in files that are not open."""
    opened, unopened = ask.texts[: ask.n_open], ask.unopened
    renames = find_renames(ask.edits, opened, find_here)
    here = _likely(proposals(ask.edits, opened, renames), opened)
    away = _likely(in_unopened(ask.edits, opened, unopened, renames), unopened)
    shown = [Shown(*proposal[:5], proposal.pattern) for proposal in here]
    return shown + [
        Shown(*proposal[:5], proposal.pattern, False, proposal.is_renaming) for proposal in away
    ]


def _likely(all_proposals: Sequence[Proposal], texts: Sequence[EditedText]) -> list[Proposal]:
    surest = sorted(all_proposals, key=lambda proposal: -proposal.confidence)[:RANKED]
    likely = (proposal for proposal in surest if proposal.confidence >= LEVELS[0])
    return [proposal for proposal in likely if not breaks(proposal, texts)]


def _total(
    histories: Sequence[list[JudgedAsk]], sure: float, sure_unopened: float = SURE_UNOPENED
) -> Score:
    renamed = NEVER if sure_unopened == NEVER else sure
    levels = {Where.OPEN: sure, Where.RENAMED: renamed, Where.UNOPENED: max(sure, sure_unopened)}
    return reduce(Score.__add__, (score(judged_asks, levels) for judged_asks in histories))


def _row(name: str, played: Sequence[Played]) -> str:
    ours = _total([history.ours for history in played], SURE)
    theirs = _total([history.theirs for history in played], SURE)
    simplest = f"{theirs.precision:.2f} | {theirs.coverage:.2f} |"
    return f"| {name} | {ours.asks} {_cells(ours)} {simplest}"


def _levels(histories: Sequence[list[JudgedAsk]]) -> str:
    rows = ["| shown from | precision | coverage | quiet |", "| --- |" + " --- |" * 3]
    rows += [f"| {sure} {_cells(_total(histories, sure))}" for sure in LEVELS]
    head = "| in files that are not open from | shown there | right | all: precision | coverage | quiet |"
    rows += ["", head, "| --- |" + " --- |" * 5]
    for level in UNOPENED_LEVELS:
        total = _total(histories, SURE, level)
        name = {NEVER: "never", 1.0: "only renamed names"}.get(level, level)
        away = f"{total.unopened} | {total.unopened_precision:.2f}"
        rows.append(f"| {name} | {away} {_cells(total)}")
    return "\n".join(rows)


def _cells(total: Score) -> str:
    return f"| {total.precision:.2f} | {total.coverage:.2f} | {total.silence:.1%} |"


def _line(histories: Sequence[list[JudgedAsk]]) -> Series:
    """Return precision against coverage by level, with a dot where the default stands."""
    totals = [_total(histories, sure) for sure in (*LEVELS, SURE)]
    *points, default = [(total.coverage, total.precision) for total in totals]
    return Series(points, default)


def _name(path: Path) -> str:
    parts = [part for part in path.resolve().parts if part != "repo"]
    return parts[-1].removesuffix(".git").rpartition("+")[2]


def _options() -> argparse.Namespace:
    parser = arguments.parser("benchmarks.next_edit", __doc__)
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=200, help="how many of the newest")
    parser.add_argument("--skip", type=int, default=0, help="… before so many")
    parser.add_argument("--jobs", type=int, default=2, help="histories at a time")
    parser.add_argument("--order", choices=("top", "middle"), default="top", help="the first hunk")
    parser.add_argument(
        "--renames", action="store_true", help="only renames: the uses after the definition alone"
    )
    parser.add_argument("--out", type=Path, help="folder for next-edit.svg")
    return parser.parse_args()


if __name__ == "__main__":
    main()
