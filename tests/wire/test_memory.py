"""What a session keeps does not grow with what a server says."""

from __future__ import annotations

import gc
import random
import sys
import types
from typing import Any

import pytest

from server_bridge.llama import contents, tokenizer
from tests.fuzz import FUZZ
from tests.wire.attacks import ATTACKS
from tests.wire.laws import Run, Story, play
from tests.wire.servers import SERVERS

pytestmark = [pytest.mark.promise("answers-are-bounded")]
NOT_KEPT = (
    types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType, types.CodeType,
    types.FrameType, types.CoroutineType, types.AsyncGeneratorType,
)  # fmt: skip
HOURS = 2 if FUZZ > 1 else 0.1
FEW, MUCH = 16 << 10, 128 << 10  # bytes: of one attack, and of caches with prompts of any length


def count_bytes(root: object) -> int:
    """Return how many bytes are reached from *root*."""
    seen = set[int]()
    left = [root]
    n_bytes = 0
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, (*NOT_KEPT, Run)):
            continue
        seen.add(id(each))
        n_bytes += sys.getsizeof(each)
        left += gc.get_referents(each)
    return n_bytes


@pytest.fixture(autouse=True)
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are full soon."""
    for name in ("N_TEXTS", "N_RUNS", "N_PIECES"):
        monkeypatch.setattr(tokenizer, name, 16)
    monkeypatch.setattr(contents, "N_SAVED", 4)


class Measured(Run):
    """A run that notes how much is kept."""

    async def do_measure(self) -> None:
        await self.do_cancel()
        gc.collect()
        self.sizes = [*getattr(self, "sizes", ()), count_bytes(self.session.connection.backend)]


def sizes(kind: str, steps: list[str]) -> list[int]:
    """Return how many bytes were kept each time that the story measures it."""
    run: Any = play(Story(kind, tuple(steps)), Measured)
    assert run.troubles == {}
    return run.sizes


@pytest.mark.parametrize(
    ("kind", "attack"),
    [("openai", "cookies"), ("llama-server", "tokens")],
)
def test_what_a_server_names_is_not_kept(kind: str, attack: str) -> None:
    """Cookies, and tokens without end."""
    asked = ["text a 0.0", "ask a hand 1.0"]
    some = ["honest 0.0", *asked * 2, f"attack {attack} all 1 0.0", *asked * 6, "measure 0.0"]
    *_, before, after = sizes(kind, ["honest 1.0", *some * 3])
    assert after - before < FEW, (before, after)


def test_slots_that_it_does_not_have_are_none() -> None:
    """Whichever the server says that it answered in, the text counts and nothing is noted."""

    class Noting(Run):
        async def do_note(self) -> None:
            serving: Any = self.session.connection.backend
            client = serving._serving.backend._connected.cache.client
            assert {*client.mirror.held} <= {0, 1}

    asked = ["text a 0.0", "ask a hand 1.0", "note 0.0"] * 8
    run = play(Story("llama-server", ("attack slots all 1 1.0", *asked)), Noting)
    assert (run.troubles, run.n_texts) == ({}, 9)


@pytest.mark.parametrize("kind", SERVERS)
def test_hours_with_a_hostile_server(kind: str) -> None:
    """All attacks, one after the other: what is kept is bounded, and each request is answered."""
    rng = random.Random(kind)
    steps = list[str]()
    for _ in range(3):
        for _ in range(int(HOURS * 1200 / 60)):
            steps.append(f"attack {rng.choice([*ATTACKS])} all {rng.choice((0.2, 1))} 1.0")
            for _ in range(6):
                steps += ["text a 0.0", f"ask a {rng.choice(('menu', 'typing', 'hand'))} 8.0"]
            steps += ["honest 10.0"]
        steps += ["honest 120.0", "text a 0.0", "ask a hand 5.0", "measure 0.0"]
    *_, before, after = sizes(kind, steps)
    assert after - before < MUCH, (before, after)
