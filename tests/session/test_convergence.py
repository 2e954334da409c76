"""The laws of waiting (tests/convergence): random stories, and each that was ever wrong."""

from __future__ import annotations

import os
import random
import tomllib
from datetime import date
from pathlib import Path

import pytest

from tests.convergence import laws
from tests.convergence.fields import COMPARED, REASONS, list_fields
from tests.convergence.laws import play, read, scan
from tests.convergence.steps import KINDS, draw_story
from tests.convergence.waits import Delays

pytestmark = pytest.mark.promise("rules-act-at-once")

N_AT_ONCE = 20
N_SEEDS = int(os.environ.get("FIM_STORIES", "40"))
# Other ones each day where there are many (scripts/test-security).
FIRST = 40 if N_SEEDS == 40 else date.today().toordinal() * 10_000  # noqa: DTZ011 (any day does)


@pytest.mark.parametrize("first", range(FIRST, FIRST + N_SEEDS, N_AT_ONCE))
def test_random_stories(first: int) -> None:
    """A session ends where it would end without delays, and keeps its promises meanwhile."""
    assert scan(first, N_AT_ONCE) == {}


# What was wrong in words: law, steps and delays of the smallest story, as `laws` prints them.
STORIES = tomllib.loads(Path(laws.__file__).with_name("stories.toml").read_text("utf-8"))


@pytest.mark.parametrize("fault", STORIES)
def test_each_story_that_was_wrong(fault: str) -> None:
    """It ends as it should, and keeps the promises, since the fault is mended."""
    for story in STORIES[fault]:
        assert read(*story).differ() == {}


def test_a_story_does_something() -> None:
    """Stories in which nothing is asked, or all is private, would always agree."""
    ends = [play(draw_story(random.Random(seed)), Delays()) for seed in range(8)]
    answers = [[*filter(None, run.answers.values())] for _, run in ends]
    assert sum(run.n_prompts for _, run in ends) > 400
    assert sum(any(answer.suggestions for answer in each) for each in answers) >= 3
    assert sum(any("Evaluated" in name for name in values) for values, _ in ends) >= 3


def test_each_field_of_the_state_has_its_line() -> None:
    """It is compared, or has the reason why time may change it."""
    story = "open a 0.2; ask a hand 4; rename a 2 4; next_edit a 3; yank a 1; move a 0.3 4"
    values, run = play(story.split("; "), Delays())
    assert {*list_fields(run)} == {name for name in REASONS if not name.startswith("Evaluated.")}
    assert {name.split()[-1] for name in values} == COMPARED | {"saved", "answer", "refused"}
    assert all(REASONS.values())


def test_each_step_is_drawn() -> None:
    """Random stories have each kind of step, and those that leave no trace."""
    drawn = {step.split()[0] for seed in range(300) for step in draw_story(random.Random(seed))}
    assert drawn == {*KINDS, "before"}
