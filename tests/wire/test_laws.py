"""The law over the wire (`tests.wire`): random stories, and each that was ever wrong."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from server_bridge.speeds import GUESS
from tests.fuzz import FUZZ
from tests.wire import attacks, laws
from tests.wire.attacks import ATTACKS, silent
from tests.wire.laws import CONFIG, HOW, Run, Story, draw, find, play
from tests.wire.network import Asked
from tests.wire.servers import SERVERS, Answer

pytestmark = [pytest.mark.promise("answers-are-bounded")]
N_AT_ONCE = 20
N_SEEDS = 20 if FUZZ == 1 else 40 * FUZZ

STORIES = tomllib.loads(Path(laws.__file__).with_name("stories.toml").read_text("utf-8"))


@pytest.mark.parametrize("first", range(0, N_SEEDS, N_AT_ONCE))
def test_random_stories(first: int) -> None:
    """Each request has its answer in time, and the wire is free afterwards."""
    wrong = find(range(first, first + N_AT_ONCE))
    assert [f"seed {seed}, {what}: {story}" for seed, what, story in wrong] == []


@pytest.mark.parametrize("fault", STORIES)
def test_each_story_that_was_wrong(fault: str) -> None:
    """It ends as it should since the fault is mended."""
    for kind, steps in STORIES[fault]:
        assert play(Story(kind, tuple(steps.split("; ")))).troubles == {}


@pytest.mark.parametrize("kind", SERVERS)
def test_an_honest_server_answers_each_kind_of_request(kind: str) -> None:
    """Without an attack, each has its text."""
    asked = [step for how in HOW for step in ("key a 0.0", f"ask a {how} 3.0")]
    run = play(Story(kind, ("honest 1.0", *asked)))
    assert (run.troubles, run.n_texts) == ({}, len(HOW) + 1)


@pytest.mark.parametrize("kind", SERVERS)
def test_a_queue_is_waited_for(kind: str) -> None:
    """A server that sends comments for longer than our patience is none that hangs, nor slow."""

    class Noting(Run):
        async def do_note(self) -> None:
            assert self.session.connection.state.prefill_per_s >= GUESS.prefill_per_s

    run = play(Story(kind, ("attack queued stream 1 1.0", "ask a hand 300.0", "note 0.0")), Noting)
    assert (run.troubles, run.n_texts) == ({}, 2)


@pytest.mark.parametrize("kind", ["openai", "llama-server"])
@pytest.mark.parametrize("attack", ["silent", "empty", "no_text", "letters", "comments", "pings"])
def test_who_waits_behind_a_stream_without_text_is_served(kind: str, attack: str) -> None:
    """By the one server there is: behind another key, by hand, and in another file."""
    warm = ("key a 0.0", "ask a hand 8.0")
    # Of a llama-server eight such events end the answer, also for the key that joined it.
    ends = kind == "llama-server" and attack in ("empty", "no_text")
    for name in "b" if ends else "ab":
        held = (f"attack {attack} stream 1 0.0", "key a 0.0", "ask a hand 1.0", "honest 0.0")
        behind = ("cancel 0.0", f"key {name} 0.0", f"ask {name} hand 19.5", "cancel 0.0")
        run = play(Story(kind, (*warm, *held, *behind)))
        assert (run.troubles, run.n_texts) == ({}, 3)


class Counting(Run):
    """Counts the streams that are open at once for a second: closing one takes a moment."""

    n_open = most_open = 0

    def look(self) -> None:
        self.most_open = max(self.most_open, self.n_open)

    async def serve(self, asked: Asked, second: Any = None) -> AsyncGenerator[bytes, None]:
        is_stream = b'"stream": true' in asked.body
        self.n_open += is_stream
        asyncio.get_running_loop().call_later(1.0, self.look)
        try:
            async with aclosing(super().serve(asked, second)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            self.n_open -= is_stream


@pytest.mark.parametrize(
    ("attack", "n"), [("empty", 2), ("no_text", 2), ("comments", 2), ("thoughts", 1)]
)
def test_a_server_without_text_has_two_requests_of_a_place(attack: str, n: int) -> None:
    """
    What was sent stays open, a further one takes the place of the last, and none is left; a model
    that thinks has no other.
    """
    steps = ("key a 0.0", "ask a hand 8.0", f"attack {attack} stream 1 0.0")
    run: Any = play(Story("openai", (*steps, "key a 0.0", "ask a hand 300.0")), Counting)
    assert (run.troubles, run.most_open, run.n_open) == ({}, n, 0)


@pytest.mark.parametrize("kind", SERVERS)
def test_a_model_that_says_nothing_is_asked_once(kind: str) -> None:
    """
    Of a place, however often the user asks there: an empty text is an answer. An OpenAI-style one
    is asked with the half word in the prompt, too.
    """

    class Mute(Run):
        n_asked_for_text = 0

        async def serve(self, asked: Asked, second: Any = None) -> AsyncGenerator[bytes, None]:
            is_text = f": {CONFIG.completion.max_tokens},".encode() in asked.body
            self.n_asked_for_text += is_text and self.attack is not None
            async with aclosing(super().serve(asked, second)) as pieces:
                async for piece in pieces:
                    yield piece

    asks = (f"ask a {how} 20.0" for how in ("hand", "hand", "menu", "typing"))
    steps = ("key a 0.0", "ask a hand 8.0", "attack mute stream 1 0.0", "key a 0.0", *asks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ATTACKS, "mute", attacks.events(say_nothing))
        run: Any = play(Story(kind, steps), Mute)
    assert (run.troubles, run.n_texts, run.n_asked_for_text) == ({}, 2, 1 + (kind == "openai"))


def say_nothing(event: Any, _: object) -> None:
    event |= {"content": "", "tokens": [], "stop": True, "stop_type": "eos"}
    event |= {"completion_probabilities": [], "choices": [{"text": "", "finish_reason": "stop"}]}


@pytest.mark.parametrize("n_dead", [1, 2, 3])
def test_connections_without_a_byte(n_dead: int) -> None:
    """One after the other is dead, and the request of a user who waits by hand has its text."""

    class Dead(Run):
        n_left = 0

        async def do_die(self) -> None:
            self.n_left = n_dead

        async def serve(self, asked: Asked, second: Any = None) -> AsyncGenerator[bytes, None]:
            pieces = super().serve(asked, second)
            if self.n_left and asked.path.endswith("completions"):
                self.n_left -= 1
                pieces = silent(Answer(), self.rng)
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece

    story = Story("openai", ("ask b hand 3.0", "die 0.0", "key a 0.0", "ask a hand 29.0"))
    run: Any = play(story, Dead)
    assert (run.troubles, run.n_texts, run.n_left) == ({}, 3, 0)


def test_random_stories_do_something() -> None:
    """Each attack is drawn; where nothing is answered or attacked nothing could be wrong."""
    runs = [play(draw(seed)) for seed in range(4)]
    assert sum(run.n_texts for run in runs) >= 5
    assert sum(run.n_attacks for run in runs) >= 20
    stories = " ".join(step for seed in range(500) for step in draw(seed).steps)
    assert {name for name in ATTACKS if f"attack {name} " in stories} == {*ATTACKS}
