"""The laws of waiting (tests/convergence): random stories, and each that was ever wrong."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from tests.convergence.fields import COMPARED, REASONS, list_fields
from tests.convergence.laws import kind_of, pair_of, play, read, shrink
from tests.convergence.steps import KINDS, draw_story
from tests.convergence.waits import Delays
from tests.fuzz import FUZZ

N_AT_ONCE = 20
FIRST, N_SEEDS = (int(f"{datetime.now(UTC):%Y%m%d}") * 10_000, 3000) if FUZZ > 1 else (40, 40)


@pytest.mark.parametrize("first", range(FIRST, FIRST + N_SEEDS, N_AT_ONCE))
def test_random_stories(first: int) -> None:
    """A session ends where it would end without delays, and keeps its promises meanwhile."""
    wrong = dict[str, str]()
    for seed in range(first, first + N_AT_ONCE):
        pair = pair_of(seed)
        for trouble in pair.differ():
            if kind_of(trouble) not in wrong:
                wrong[kind_of(trouble)] = f"seed {seed}: {shrink(pair, trouble)}"
    assert wrong == {}


# Stories that were wrong, as `laws` prints them: law, steps, delays.
ROWS = [
    # the ring is chosen while the rules change, by those of before, and shown
    ("always", "open a 0.5; move a 0.3 0.5; exclude c 0.02", "list #0 -0.451"),
    # a step ahead fails: nothing looked for the server again
    ("always", "open a 0.5; gone 0.02; move a 0.3 4; back 12", ""),
    ("always", "open a 0.5; model other 0.02; move a 0.3 4; wait 12", ""),
    # work that leaves itself for later took the place of a newer one
    ("order", "open a 0.5; open b 0.5; move a 0.3 0.5; move b 0.5 4", "measure #2 +0.4"),
    # what a request in one document is still about takes the place of what the user does in another
    (
        "order",
        "open b 0.001; open a 0.2; ask b typing 0.2; move a 0.9 1.2",
        "measure #0 +2.078",
    ),
    # a cursor that rests in a document before it is judged
    ("order", "open c 0.2; move c 0.5 4.0", "_look c.py #0 +0.812"),
    # a frame that was too long for one server limits another
    (
        "return",
        "open a 0.02; open b 0.02; ask b typing 0.001; wait 4.0; + context 500 0.5; ask a hand 3;"
        " + context 2048 12",
        "",
    ),
    # what is not judged yet counts as private, for good
    ("order", "open b 0.2; open c 0.2; key c paren 0.2; next_edit b 0.02", "_look c.py #0 -2.76"),
    # work is left for later by what ends the session
    ("always", "open b 4.0; ask b typing 0.001; restart 0.5", "measure #0 +0.111"),
    # "\r" ends no line of an edit above a window
    ("always", "open d 0.5; move d 0.5 4; above d 0.5", ""),
    # what judges, and what a request begins, goes on after the end
    ("always", "open c 0.5; key c x 0.2; folders two 0.02; restart 1", "_look c.py #1 +0.7"),
    (
        "always",
        "open a 0.5; open c 0.5; ask a hand 0.02; ask c hand 0.02; restart 4",
        "pieces #0 +0.3; pieces #1 +0.3",
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_each_story_that_was_wrong(row: tuple[str, str, str]) -> None:
    """Each is the smallest one of a fault that was mended."""
    assert read(*row).differ() == {}


def test_a_story_does_something() -> None:
    """Stories in which nothing is asked, or all is private, would always agree."""
    ends = [play(draw_story(random.Random(seed)), Delays()) for seed in range(20)]
    answers = [[*filter(None, run.answers.values())] for _, run in ends]
    assert sum(run.n_prompts for _, run in ends) > 400
    assert sum(any(answer.suggestions for answer in each) for each in answers) >= 8
    assert sum(any("Evaluated" in name for name in values) for values, _ in ends) >= 8


def test_each_field_of_the_state_has_its_line() -> None:
    """It is compared, or has the reason why time may change it."""
    story = "open a 0.2; ask a hand 4; rename a 2 4; next_edit a 3; yank a 1; move a 0.3 4"
    values, run = play(story.split("; "), Delays())
    assert {*list_fields(run)} == {name for name in REASONS if not name.startswith("Evaluated.")}
    assert {name.split()[-1] for name in values} == COMPARED | {"saved", "answer"}
    assert all(REASONS.values())


def test_each_step_is_drawn() -> None:
    """Random stories have each kind of step, and those that leave no trace."""
    drawn = {step.split()[0] for seed in range(300) for step in draw_story(random.Random(seed))}
    assert drawn == {*KINDS, "before"}
