"""
fim-lsp with its decisions noted: what the filters leave of a text, and how each request ends.

    FIM_OBSERVED=FILE python -m benchmarks.real_sessions.observed --stdio

Nothing else is different. FILE gets a line of JSON per decision, with the text in it; a log never has that.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, TextIO
from unittest.mock import patch

from benchmarks.real_sessions.scores import Decision
from fim_lsp import __main__ as program
from fim_lsp.session import completer
from fim_lsp.session.stats import Answer, Stats
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters.order import polish

FILE = "FIM_OBSERVED"


def decisions(file: Path) -> tuple[Decision, ...]:
    """Return what was noted; nothing where fim-lsp did not run."""
    if not file.exists():
        return ()
    lines = file.read_text("utf-8").splitlines()
    return tuple(Decision(*json.loads(line)) for line in lines)


def run(notes: TextIO) -> int:
    """Return the program, its decisions noted."""
    answered = Stats.count_answer

    def note(what: str, words: str) -> None:
        print(json.dumps(Decision(time.monotonic(), what, words)), file=notes, flush=True)

    def noted_polish(candidate: Candidate, *around: Any) -> Candidate:
        left = polish(candidate, *around)
        cuts = ", ".join(f"{cut.filter} ({cut.why})" for cut in left.cuts)
        note("filters", f"{left.text!r} of {candidate.text!r}" + (f", by {cuts}" if cuts else ""))
        return left

    def noted_answered(stats: Stats, answer: Answer, ms: float, **more: bool) -> None:
        note("end", answer.end.key)
        answered(stats, answer, ms, **more)

    with (
        patch.object(completer, "polish", noted_polish),
        patch.object(Stats, "count_answer", noted_answered),
    ):
        return program.main()


if __name__ == "__main__":
    with Path(os.environ[FILE]).open("a", encoding="utf-8") as notes:
        sys.exit(run(notes))
