"""Failover over the wire (`tests.wire.pairs`): random stories, and each kind of trouble first."""

from __future__ import annotations

import pytest

from tests.fuzz import FUZZ
from tests.wire.laws import Story, find, play
from tests.wire.pairs import Pair, draw, prepare

pytestmark = pytest.mark.promise("answers-are-bounded")
N_AT_ONCE = 10
N_SEEDS = 10 if FUZZ == 1 else 20 * FUZZ

TROUBLES = {
    "nothing listens": "gone 0 0.0",
    "expired": "fault 0 0 0.0",
    "another name": "fault 0 1 0.0",
    "mute": "attack silent all 1 0.0",
}


WARM = ("key a 0.0", "ask a hand 8.0")
SOON = (
    "key a 0.0",
    "ask a hand 2.8",
    "cancel 0.0",
)  # for two seconds, and what a step and a way take


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch)


@pytest.mark.parametrize("first", range(0, N_SEEDS, N_AT_ONCE))
def test_random_stories(first: int) -> None:
    """Each request has its answer in time, and each key stays where it belongs."""
    wrong = find(range(first, first + N_AT_ONCE), Pair, draw)
    assert [f"seed {seed}, {what}: {story}" for seed, what, story in wrong] == []


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_second_serves_from_the_first_request_on(trouble: str) -> None:
    """By hand nothing is told of the first while it is not known yet whether the second can."""
    asked = ["key a 0.0", "ask a hand 8.0", "key a 0.0", "ask a hand 8.0"]
    steps = "far 1 0.0", TROUBLES[trouble], *asked
    run = play(Story("openai llama-server", steps), Pair)
    assert (run.troubles, run.n_texts) == ({}, 3)


@pytest.mark.parametrize("kind", ["openai openai", "openai llama-server", "llama-server openai"])
@pytest.mark.parametrize("attack", ["silent", "empty", "no_text", "letters", "comments", "pings"])
def test_an_answer_without_text_is_silence(kind: str, attack: str) -> None:
    """The second, which is well, writes within two seconds and a step, whatever the first sends."""
    run = play(Story(kind, (*WARM, f"attack {attack} stream 1 0.0", *SOON)), Pair)
    assert (run.troubles, run.n_texts) == ({}, 3)


def test_random_stories_do_something() -> None:
    """Both servers serve, and both have trouble."""
    runs = [play(draw(seed), Pair) for seed in range(3)]
    assert sum(run.n_texts for run in runs) >= 4
    steps = " ".join(step for seed in range(100) for step in draw(seed).steps)
    assert all(f"{what} {n}" in steps for what in ("gone", "fault", "well") for n in (0, 1))


def test_a_key_in_the_wrong_place_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law itself: both servers are given the key of the second."""
    monkeypatch.setenv("key_of_one", "key-of-two")
    run = play(Story("openai openai", ("key a 0.0", "ask a hand 4.0")), Pair)
    assert {law for law, _ in run.troubles} == {"key"}
