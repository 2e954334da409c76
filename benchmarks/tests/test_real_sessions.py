"""The choice of what is written again, and the counting of what was shown."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.real_sessions.checked import Checked, compare
from benchmarks.real_sessions.choice import SETS, blocks, choose_blocks, in_set
from benchmarks.real_sessions.scores import (
    Decision,
    Pause,
    Played,
    Score,
    Shown,
    ends,
    explain,
    score,
    table,
)

FUNCTION = """\
def {name}(prices, weights):
    total = sum(prices)
    heaviest = max(weights)
    if heaviest > total:
        return heaviest
    return total - heaviest
"""
OLD = "2024-06-01T12:00:00+00:00"
NEW = "2025-06-01T12:00:00+00:00"


def commit(repo: Path, at: str, **files: str) -> None:
    """Write *files*, and commit them at a time."""
    for name, text in files.items():
        (repo / f"{name}.py").write_text(text)
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a", "GIT_AUTHOR_DATE": at}
    env = {**os.environ, **who, **{key.replace("AUTHOR", "COMMITTER"): who[key] for key in who}}
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
        subprocess.run(["git", "-C", str(repo), *words], env=env, check=True)


def module(*names: str) -> str:
    """Return a file with a function of each name."""
    return "import math\n\n\n" + "\n\n".join(FUNCTION.format(name=name) for name in names)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve files, each with functions that were written before and after the year began."""
    repo = tmp_path_factory.mktemp("history")
    names = [f"shop_{n}" for n in range(12)]
    old = {name: module(*(f"old_{n}" for n in range(5))) for name in names}
    commit(repo, OLD, **old)
    commit(
        repo,
        NEW,
        **{name: text + "\n\n" + FUNCTION.format(name="new") for name, text in old.items()},
    )
    return repo


def test_only_what_was_written_lately_is_written_again(history: Path) -> None:
    """By the blame of each line."""
    sessions = [session for part in SETS for session in choose_blocks([history], 12, part)]
    assert len(sessions) == 12
    assert {session.block[0] for session in sessions} <= {
        "def new(prices, weights):",
        "    total = sum(prices)",
    }
    assert all(session.others and session.path not in session.others for session in sessions)


def test_the_choice_is_the_same_every_time(history: Path) -> None:
    """A set and a seed name the sessions; no file is in both sets."""
    tune, held_out = (choose_blocks([history], 12, part) for part in SETS)
    assert tune == choose_blocks([history], 12, SETS[0])
    assert tune != choose_blocks([history], 12, SETS[0], seed=1)
    assert {in_set(session.path) for session in tune} == {SETS[0]}
    assert not {session.path for session in tune} & {session.path for session in held_out}


def test_histories_take_turns(history: Path, tmp_path: Path) -> None:
    """So a few sessions are of all of them."""
    commit(tmp_path, NEW, **{f"other_{n}": module(*"abcdefg") for n in range(4)})
    repos = [
        session.repo for session in choose_blocks([history, tmp_path], 4, in_set("other_0.py"))
    ]
    assert repos[:2] == [history, tmp_path]


def test_a_block_ends_where_its_indentation_does() -> None:
    """Or its paragraph, once it has lines enough; a block with a line that is not recent is none."""
    lines = module("first", "second").split("\n")
    recent = [True] * len(lines)
    ranges = [(block.start, block.stop) for block in blocks(lines, recent)]
    assert ranges == [(3, 9), (4, 9), (11, 17), (12, 17)]
    recent[8] = False
    assert blocks(lines, recent)[0].start == 11


@pytest.mark.parametrize(
    ("text", "expected", "counts"),
    [
        ("", "x = 1", Score(0, 0, 0, 0)), ("x = 1", "x = 1\ny = 2", Score(1, 1, 5, 0)),
        ("x = 1\nz", "x = 1\ny", Score(1, 1, 6, 1)), ("x = 10", "x = 1", Score(1, 0, 5, 1)),
        ("  ", "x", Score(0, 0, 0, 2)),
    ],
)  # fmt: skip
def test_right_characters_end_at_the_first_that_is_not(
    text: str, expected: str, counts: Score
) -> None:
    """What follows it is wrong, and a first line is exact or not."""
    assert score([(text, expected)]) == counts


PAUSE = Pause(
    "line 1", "to", "tal = 1", 10.0, 14.1, (Shown(1, ""), Shown(250, "tal = 1"), Shown(3000, ""))
)


def test_a_pause_is_seen_at_several_times() -> None:
    """What is on screen then, not what came at any time."""
    assert [PAUSE.at(seconds) for seconds in (0.1, 0.3, 2, 4)] == ["", "tal = 1", "tal = 1", ""]


def test_reports_say_what_was_shown_and_who_cut_it() -> None:
    """And how requests ended."""
    decision = Decision(10.1, "end", "not sure")
    shown = PAUSE._replace(shown=PAUSE.shown[:2])
    played = Played("fim-lsp", "a.py:1", (shown,), (decision,), 70, 8, 1.5, 0.5)
    assert "| 0.3 s | 1 | 1 | 7 | 0 |" in table([played])
    assert "not sure 1" in table([played])
    assert "+0.100 s end: not sure" in explain(played)
    assert ends([played]) == {"not sure": 1}


def test_a_run_in_neovim_is_held_against_simulated_readers() -> None:
    """It is within their interval, or the table says that it is not."""
    many = [0.2 + n / 100 for n in range(40)]
    rows = [Checked("within", 0.3, 0.3, many, 20.0, 0.1), Checked("above", 0.9, 0.3, many, 20, 0)]
    words, _, _, _, within, above = compare(rows).splitlines()
    assert words == "1 of 2 within their interval"
    assert "30.0%" in within
    assert "90.0%" in above
