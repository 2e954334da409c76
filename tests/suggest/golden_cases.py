"""
Golden cases: one TOML file each, in `golden/<filter>/`.

`text` is a file with the cursor `▮` and behind it what the model wrote, `⟦…⟧`. `expected` is what is
to be inserted, `replaces` how many characters on the right it takes the place of (0), `by` the filters
that changed something, in order. `whole = false` says that a budget ended the text. `unsure` is where in the text
the model stops being sure of it. `by_hand = true` says that the user asked.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from fim_lsp.documents import Position, open_document
from fim_lsp.suggest.cursor import Candidate, Cursor, Odds, cursor_at
from fim_lsp.suggest.filters.order import polish

GOLDEN = Path(__file__).parent / "golden"
CURSOR, OPEN, CLOSE = "▮⟦⟧"


def cases() -> dict[str, dict[str, Any]]:
    paths = sorted(GOLDEN.rglob("*.toml"))
    return {
        path.relative_to(GOLDEN).with_suffix("").as_posix(): tomllib.loads(path.read_text("utf-8"))
        for path in paths
    }


def parsed(text: str, language: str = "python", path: str = "src/app.py") -> tuple[Cursor, str]:
    """Return the place of the cursor mark and the raw text in brackets behind it, "" where there is none."""
    head, _, tail = text.partition(CURSOR)
    raw = ""
    if tail.startswith(OPEN):
        raw, _, tail = tail[1:].partition(CLOSE)
    lines = head.split("\n")
    document = open_document("file:///src/app", language, 1, head + tail)
    return cursor_at(document, Position(len(lines) - 1, len(lines[-1])), path), raw


def check(case: dict[str, Any]) -> None:
    """The one caller of `polish` for golden files."""
    cursor, raw = parsed(
        case["text"], case.get("language", "python"), case.get("path", "src/app.py")
    )
    cursor = replace(cursor, by_hand=case.get("by_hand", False))
    sure_until = raw.index(case["unsure"]) if "unsure" in case else len(raw)
    odds = (Odds(sure_until, -0.01), Odds(len(raw), -9.0))
    candidate = polish(Candidate(raw, case.get("whole", True), odds), cursor, sure=0.35)
    assert candidate.text == case["expected"], candidate.cuts
    assert candidate.replaces == case.get("replaces", 0), candidate.cuts
    assert [cut.filter for cut in candidate.cuts] == case.get("by", []), candidate.cuts
