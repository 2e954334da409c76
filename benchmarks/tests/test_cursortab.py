"""The scenarios of cursortab: how one is read, completed and scored."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.next_edit.cursortab import chrf, main

QUALITY = """\
Two calls got an argument; the third one follows.
id: add-argument
language: typescript
file: a.ts
-- buffer.txt --
let n = 1;
show(n);
load(third, n);
-- history --
<|file|> a.ts
<|old|>
load(first, n);
<|new|>
load(first, n, true);
<|file|> a.ts
<|old|>
load(second, n);
<|new|>
load(second, n, true);
-- steps --
request-completion manual
-- expected --
let n = 1;
show(n);
load(third, n, true);
"""
QUIET = """\
id: nothing-to-do
file: b.py
cursor-positions: 2:1, 1:1
-- buffer.txt --
x = 1
y = 2
-- steps --
request-completion manual
"""


@pytest.mark.parametrize(
    ("mine", "expected", "score"),
    [("a = b", "a = b", 100), ("", "a = b", 0), ("abc", "xyz", 0), ("", "", 100)],
)
def test_chrf(mine: str, expected: str, score: float) -> None:
    """The same text scores 100, one with nothing in common 0."""
    assert chrf(mine, expected) == pytest.approx(score)


def test_chrf_favours_recall() -> None:
    """A text that has all that is expected, and more, scores higher than a part of it."""
    assert chrf("item.category", "category") > chrf("cat", "category") > 0


def test_scores_scenarios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Proposals are made from edits outside the shown part, and each cursor counts where none is due."""
    folder = tmp_path / "server/eval/scenarios"
    folder.mkdir(parents=True)
    (folder / "1.txtar").write_text(QUALITY)
    (folder / "2.txtar").write_text(QUIET)
    recorded = {"other": {"score": 0.5, "deltaChrF": 50.0, "showRate": 1.0, "quietRate": 0.5}}
    (folder.parent / "baseline.json").write_text(json.dumps(recorded))
    monkeypatch.setattr(sys, "argv", ["cursortab", str(tmp_path)])
    main()
    rows = capsys.readouterr().out.splitlines()
    assert rows[0] == "add-argument: 100"
    assert rows[-2:] == [
        "| other | 0.33 | 50.0 | 100% | 50% |",
        "| fim-lsp, no model | 1.00 | 100.0 | 100% | 100% |",
    ]
