"""
cursortab's scenarios, with our engine and without a model, scored as cursortab scores its engines.

    python -m benchmarks.next_edit.cursortab ~/src/cursortab.nvim

Reads the scenarios (`server/eval/scenarios/*.txtar`) and the recorded figures of other engines
(`server/eval/baseline.json`) of a checkout. Each edit of a scenario's history was made where the text
has its new lines; those of edits outside the part of the file that is shown stand above it. Proposals are applied one after another, as a user does who takes each one: the
answers of other engines hold all their stages, too. The metric is that of `server/eval/metrics`,
written again from its description: chrF (orders 1 to 6, beta 2) of the lines that changed, the share
of scenarios in which something was shown, and the share of those without an expected change in which
nothing was; score = chrF * their harmonic mean.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from fim_lsp.context.grammars import language_of
from fim_lsp.documents import alike
from fim_lsp.next_edit.edits import FinishedEdit, Lines
from fim_lsp.next_edit.engine import propose
from fim_lsp.next_edit.texts import EditedText

ORDERS, RECALL = range(1, 7), 4.0  # of chrF; beta squared
STEPS = 20  # proposals that are applied; none of the scenarios needs as many
_PART = re.compile(r"^-- ([\w.]+) --\n", re.MULTILINE)


class Scenario(NamedTuple):
    """The *text* after *edits*, and what is *expected* of it; at *n_cursors* places, where that is nothing."""

    name: str
    n_cursors: int
    edits: list[FinishedEdit]
    text: EditedText
    expected: Lines


def main() -> None:
    """Score each scenario, and print ours below the recorded figures."""
    folder = Path(sys.argv[1]) / "server/eval"
    scenarios = [read(path) for path in sorted((folder / "scenarios").glob("*.txtar"))]
    shown, quality, quiet = 0, list[float](), list[bool]()
    for scenario in scenarios:
        before, after = scenario.text.lines, complete(scenario.edits, scenario.text)
        if scenario.expected == before:
            quiet += [after == before] * scenario.n_cursors
            continue
        quality.append(chrf(_changed(before, after), _changed(before, scenario.expected)))
        shown += after != before
        print(f"{scenario.name}: {quality[-1]:.0f}" + " (nothing shown)" * (after == before))
    print("\n| engine | score | chrF | shown | quiet |\n| --- | ---: | ---: | ---: | ---: |")
    recorded = json.loads((folder / "baseline.json").read_text("utf-8"))
    for name, row in sorted(recorded.items(), key=lambda item: -item[1]["score"]):
        print(_row(name, row["deltaChrF"], row["showRate"], row["quietRate"]))
    print(_row("fim-lsp, no model", fmean(quality), shown / len(quality), fmean(quiet)))


def read(path: Path) -> Scenario:
    """Return the scenario of a file."""
    head, *rest = _PART.split(path.read_text("utf-8"))
    parts = dict(zip(rest[::2], rest[1::2], strict=True))
    fields = dict(line.split(": ", 1) for line in head.splitlines() if ": " in line)
    lines = buffer = _lines(parts["buffer.txt"])
    history = [edit.split("<|new|>\n") for edit in parts.get("history", "").split("<|old|>\n")[1:]]
    made = [(_lines(old), _lines(new.partition("<|file|>")[0])) for old, new in history]
    for _, after in made:
        lines = lines if _find(lines, after) >= 0 else (*after, "", *lines)
    edits = []
    for n, (before, after) in enumerate(made):
        at = _find(lines, after)
        above, below = lines[at - 1] if at else "", (*lines, "")[at + len(after)]
        edits.append(FinishedEdit(fields["file"], at, before, after, above, below, float(n)))
    n_cursors = 1 + fields.get("cursor-positions", "").count(":")
    expected = _lines(parts["expected"]) if "expected" in parts else buffer
    text = EditedText(fields["file"], language_of(fields["file"]), lines)
    return Scenario(fields["id"], n_cursors, edits, text, lines[: -len(buffer)] + expected)


def complete(edits: Sequence[FinishedEdit], text: EditedText) -> Lines:
    """Return the lines of *text* after all proposals were applied, the surest first."""
    for _ in range(STEPS):
        proposal = propose(edits, [text])
        if proposal is None:
            break
        uri, line, before, after, *_ = proposal
        lines = text.lines[:line] + after + text.lines[line + len(before) :]
        text = EditedText(uri, text.language, lines)
        shift = len(after) - len(before)
        edits = [edit._replace(line=edit.line + shift * (edit.line > line)) for edit in edits]
        edits.append(FinishedEdit(uri, line, before, after, at=len(edits)))
    return text.lines


def _find(lines: Lines, part: Lines) -> int:
    """Return where *part* begins in *lines*, -1 if it does not."""
    starts = range(len(lines) - len(part) + 1)
    return next((at for at in starts if lines[at : at + len(part)] == part), -1)


def chrf(mine: str, expected: str) -> float:
    """Return the character n-gram F-score of a text, from 0 to 100."""
    scores = []
    for order in ORDERS:
        one, other = (_grams(text, order) for text in (mine, expected))
        if one or other:
            n_alike = (one & other).total()
            scores.append((1 + RECALL) * n_alike / (RECALL * other.total() + one.total()))
    return 100 * fmean(scores) if scores else 100.0


def _grams(text: str, order: int) -> Counter[str]:
    return Counter(text[at : at + order] for at in range(len(text) - order + 1))


def _changed(before: Lines, after: Lines) -> str:
    head, tail = alike(before, after)
    return "\n".join(after[head : len(after) - tail])


def _lines(text: str) -> Lines:
    return tuple(text.removesuffix("\n").split("\n")) if text else ()


def _row(name: str, quality: float, shown: float, quiet: float) -> str:
    score = quality * 2 * shown * quiet / (shown + quiet or 1) / 100
    return f"| {name} | {score:.2f} | {quality:.1f} | {shown:.0%} | {quiet:.0%} |"


if __name__ == "__main__":
    main()
