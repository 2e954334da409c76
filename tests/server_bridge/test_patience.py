"""When a server is given up: the table, and what a run of looks comes to."""

from __future__ import annotations

import pytest

from server_bridge.patience import HUNG_S, LOAD_S, LOOK_S, RULES, NextStep, Seen, ServerKind, Watch

WORKING, IDLE, DEAF, GONE = Seen


RUNS: list[tuple[ServerKind, list[Seen], NextStep, float]] = [
    (ServerKind.ENGINE, [WORKING] * 1000, NextStep.WAIT, 1000),
    (ServerKind.ENGINE, [DEAF] * 100, NextStep.END, 1 + HUNG_S / LOOK_S),
    (ServerKind.ENGINE, [*[DEAF] * 12, WORKING] * 9, NextStep.WAIT, 117),
    (ServerKind.ENGINE, [GONE], NextStep.ASK_AGAIN, 1),
    (ServerKind.ENGINE, [WORKING, IDLE, IDLE], NextStep.ASK_AGAIN, 3),
    (ServerKind.LLAMA, [IDLE, WORKING, IDLE, WORKING], NextStep.WAIT, 4),
    (ServerKind.LLAMA, [WORKING] * 200, NextStep.LEAVE, 1 + LOAD_S / LOOK_S),
    (ServerKind.LLAMA, [IDLE, IDLE], NextStep.ASK_AGAIN, 2),
    (ServerKind.LLAMA, [DEAF] * 200, NextStep.LEAVE, 1 + LOAD_S / LOOK_S),
    (ServerKind.LLAMA, [GONE], NextStep.LEAVE, 1),
    (ServerKind.TEXT, [DEAF], NextStep.LEAVE, 1),
    (ServerKind.TEXT, [WORKING] * 200, NextStep.LEAVE, 1 + LOAD_S / LOOK_S),
    (ServerKind.HURRIED, [WORKING] * 200, NextStep.LEAVE, 1 + LOAD_S / LOOK_S),
    (ServerKind.HURRIED, [DEAF], NextStep.LEAVE, 1),
    (ServerKind.HURRIED, [IDLE, IDLE], NextStep.LEAVE, 2),
    (ServerKind.HURRIED, [GONE], NextStep.LEAVE, 1),
]


def test_each_server_has_a_rule_and_each_is_tried() -> None:
    """There is one for all that is seen of a server; of an OpenAI-style one only its stream is."""
    assert {(server, seen) for server, looks, *_ in RUNS for seen in looks} == {*RULES}


@pytest.mark.parametrize(("server", "looks", "step", "n_looks"), RUNS)
def test_what_follows(server: ServerKind, looks: list[Seen], step: NextStep, n_looks: float):
    """A look every five seconds, until there is something to do."""
    watch = Watch(server)
    n_seen = 0
    follows = NextStep.WAIT
    while follows is NextStep.WAIT and n_seen < len(looks):
        follows = watch.decide(looks[n_seen], n_seen * LOOK_S)
        n_seen += 1
    assert (follows, n_seen) == (step, n_looks)
