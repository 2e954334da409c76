"""
What the filters leave of the same text of a model at other thresholds, noted by the server that shows it.

So one run compares thresholds, and neither the load of the machine nor chance is between them. The model stops where
the server's own threshold tells it to, so the others are to be higher.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fim_lsp.session import completer
from fim_lsp.suggest.confidence import behind
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.filters.order import polish
from fim_lsp.suggest.known import Displayed


def note(file: str, thresholds: Sequence[float]) -> None:
    """In the server: write a line to *file* for each answer, the texts that *thresholds* leave."""
    notes = Path(file).open("a", encoding="utf-8")  # noqa: SIM115 (until the server ends)
    find_rest = Displayed.find_rest

    def write(candidate: Candidate, cursor: Cursor) -> None:
        texts = [polish(candidate, cursor, sure).text for sure in thresholds]
        print(json.dumps(texts), file=notes, flush=True)

    def noted_polish(candidate: Candidate, cursor: Cursor, sure: float) -> Candidate:
        write(candidate, cursor)
        return polish(candidate, cursor, sure)

    def noted_rest(self: Displayed, cursor: Cursor, model: str) -> Candidate | None:
        """What stands on screen is filtered no more; its odds are those of where it was first shown."""
        if left := find_rest(self, cursor, model):
            odds = behind(left.odds, len(self.candidate.text) - len(left.text))
            write(replace(left, odds=odds), cursor)
        return left

    completer.polish = noted_polish  # type: ignore[assignment]
    Displayed.find_rest = noted_rest  # type: ignore[method-assign]


def read(file: Path) -> list[str]:
    """Return the texts of the last answer, and forget them."""
    *_, last = ["[]", *file.read_text("utf-8").splitlines()] if file.exists() else ["[]"]
    file.write_text("", "utf-8")
    texts: list[str] = json.loads(last)
    return texts
