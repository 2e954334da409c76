"""When a server is given up: the table, and what a run of looks comes to."""

from __future__ import annotations

import math

import pytest

from server_bridge.patience import HUNG_S, LOAD_S, LOOK_S, RULES, Seen, Server, Step, Watch

WORKING, IDLE, DEAF, GONE = Seen


def test_a_living_engine_is_ended_only_where_it_hangs() -> None:
    """A time-out alone ends no process, and only one of ours can be ended at all."""
    ends = {key: rule for key, rule in RULES.items() if rule.step is Step.END}
    assert list(ends) == [(Server.ENGINE, DEAF)]
    assert ends[Server.ENGINE, DEAF].limit_s >= 60


def test_each_server_has_a_rule_for_all_that_is_seen_of_it() -> None:
    """Of an OpenAI-style server only its stream is seen; what works on a machine is waited for."""
    of_text = {(Server.TEXT, WORKING), (Server.TEXT, DEAF)}
    assert set(RULES) == of_text | {
        (server, seen) for server in Server if server is not Server.TEXT for seen in Seen
    }
    works = [rule.limit_s for key, rule in RULES.items() if key[1] is WORKING]
    assert sorted(works) == [LOAD_S, math.inf, math.inf, math.inf]


@pytest.mark.parametrize(
    ("server", "looks", "step", "n_looks"),
    [
        (Server.ENGINE, [WORKING] * 1000, Step.WAIT, 1000),
        (Server.ENGINE, [DEAF] * 100, Step.END, 1 + HUNG_S / LOOK_S),
        (Server.ENGINE, [*[DEAF] * 12, WORKING] * 9, Step.WAIT, 117),
        (Server.ENGINE, [GONE], Step.ASK_AGAIN, 1),
        (Server.ENGINE, [WORKING, IDLE, IDLE], Step.ASK_AGAIN, 3),
        (Server.LLAMA, [IDLE, WORKING, IDLE, WORKING], Step.WAIT, 4),
        (Server.LLAMA, [IDLE, IDLE], Step.ASK_AGAIN, 2),
        (Server.LLAMA, [DEAF] * 200, Step.LEAVE, 1 + LOAD_S / LOOK_S),
        (Server.LLAMA, [GONE], Step.LEAVE, 1),
        (Server.TEXT, [DEAF], Step.LEAVE, 1),
        (Server.TEXT, [WORKING] * 200, Step.LEAVE, 1 + LOAD_S / LOOK_S),
        (Server.HURRIED, [WORKING] * 1000, Step.WAIT, 1000),
        (Server.HURRIED, [DEAF], Step.LEAVE, 1),
        (Server.HURRIED, [IDLE, IDLE], Step.LEAVE, 2),
    ],
)
def test_what_follows(server: Server, looks: list[Seen], step: Step, n_looks: int) -> None:
    """A look every five seconds, until there is something to do."""
    watch, n_seen, follows = Watch(server), 0, Step.WAIT
    while follows is Step.WAIT and n_seen < len(looks):
        follows = watch.decide(looks[n_seen], n_seen * LOOK_S)
        n_seen += 1
    assert (follows, n_seen) == (step, n_looks)
