"""The simulation of routers: a cache checked against a plain one, and rules on cases with known results."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.recording import Sent, read, write
from benchmarks.routing import (
    BLOCK,
    STEP_TOKENS,
    Replica,
    alone,
    blocks,
    groups,
    merged,
    plot,
    simulated,
    streamed,
)
from benchmarks.wire import Blocks

N_BLOCKS = 40  # the plain cache's capacity


def session(seed: int, n: int = 60) -> list[Sent]:
    """Typing in two files after a common beginning, with edits further up now and then."""
    rng = random.Random(seed)
    head = tuple(range(100))
    texts = {name: list(rng.choices(range(1000, 2000), k=80)) for name in ("a.py", "b.py")}
    found = []
    for step in range(n):
        name = rng.choice(["a.py", "b.py"])
        texts[name] = texts[name][: rng.randint(40, 120)] + rng.choices(range(1000, 2000), k=8)
        tokens = (*head, *texts[name])
        found.append(Sent(step * 100, step, rng.random() < 0.2, name, len(tokens) - 4, tokens))
    return found


class Plain:
    """A cache of blocks, each spelled out, without any shortcut."""

    def __init__(self) -> None:
        self.held: dict[tuple[int, tuple[int, ...]], None] = {}

    def serve(self, user: int, one: Sent) -> int:
        ends = range(BLOCK, len(one.tokens), BLOCK)
        keys = [(user, one.tokens[:end]) for end in ends]
        found = next((n for n, key in enumerate(keys) if key not in self.held), len(keys))
        for key in reversed(keys):
            self.held.pop(key, None)
            self.held[key] = None
        while len(self.held) > N_BLOCKS:
            del self.held[next(iter(self.held))]
        return found


def test_segments_are_dropped_as_blocks_are() -> None:
    """A cache of runs of blocks gives the same counts as one of single blocks."""
    sent = session(1)
    recorded, plain, replica = blocks(sent), Plain(), Replica(N_BLOCKS)
    rng = random.Random(2)
    for _ in range(500):
        user, n = rng.randrange(3), rng.randrange(len(sent))
        assert replica.serve(user, recorded.paths[n], recorded.sizes) == plain.serve(user, sent[n])


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Storing only what is new loses nothing."""
    sent = session(3)
    write(tmp_path / "p.json.gz", sent)
    assert read(tmp_path / "p.json.gz") == sent


def test_rules_say_which_requests_stay_together() -> None:
    """By file, by what was sent where, all, or none."""
    sent = session(4)
    found = groups(sent)
    assert found["session"] == [0] * len(sent)
    assert found["round-robin"] == list(range(len(sent)))
    assert {(one.document, n) for one, n in zip(sent, found["document"], strict=True)} in (
        {("a.py", 0), ("b.py", 1)},
        {("a.py", 1), ("b.py", 0)},
    )
    assert set(found["prefix"]) == {0}  # the common beginning is a third of every prompt
    other = [*sent, sent[0]._replace(tokens=tuple(range(5000, 5200)), n_prompt=200)]
    assert groups(other)["prefix"][-1] == len(sent)


@pytest.mark.parametrize("rule", ["round-robin", "document", "prefix", "session"])
def test_one_replica_for_all_is_the_same_under_every_rule(rule: str) -> None:
    """Where there is nothing to choose, the rule does not matter, and every request is served."""
    sent = session(5)
    row = simulated(blocks(sent), rule, groups(sent)[rule], 1, 1e9, n_users=1)
    same = simulated(blocks(sent), "session", groups(sent)["session"], 1, 1e9, n_users=1)
    assert sorted(row.evaluated) == sorted(same.evaluated)
    assert len(row.evaluated) > 20


def test_a_worse_rule_evaluates_more() -> None:
    """With many replicas, a session on one replica evaluates least, a scattered one all of each prompt."""
    sent = session(6)
    rows = {
        rule: simulated(blocks(sent), rule, group, 200, 1e9, n_users=2000)
        for rule, group in groups(sent).items()
    }
    mean = {rule: sum(row.evaluated) / len(row.evaluated) for rule, row in rows.items()}
    assert mean["session"] <= mean["document"] < mean["round-robin"]
    assert mean["round-robin"] > 0.8 * sum(one.n_prompt for one in sent) / len(sent)
    assert plot(list(rows.values())).count("<rect") == 1 + len(rows)


def test_small_warm_steps_are_one() -> None:
    """A slow machine's background steps are merged as a fast one's would be; foreground requests stay."""
    tokens = tuple(range(3 * STEP_TOKENS))
    steps = [
        Sent(n, n, True, "a.py", n, (*tokens[:n], 0)) for n in range(100, len(tokens) + 1, 100)
    ]
    waited = [Sent(9999, 0, False, "a.py", len(tokens), tokens)]
    assert len(merged([*steps, *waited])) == 4
    assert merged([*steps, *waited])[-1:] == waited


def test_a_replica_of_ones_own_counts_as_a_plain_cache_does() -> None:
    """What `benchmarks.cluster` compares with real replicas: the same as blocks, each spelled out."""
    sent, plain = session(3), Blocks(32)
    expected = [
        plain.evaluate([*one.tokens[: one.n_prompt]], [*one.tokens[one.n_prompt :]]) for one in sent
    ]
    assert alone(blocks(sent, 32), groups(sent)["session"], 32) == expected


def test_short_requests_of_one_completion_become_one() -> None:
    """The prompt is the first one's, the answer goes on to the last one's end; other requests stay."""
    sent = [
        Sent(0, 1, False, "a", 4, (1, 2, 3, 4, 5)),
        Sent(0, 1, False, "a", 6, (1, 2, 3, 4, 5, 6, 7)),
        Sent(0, 1, True, "a", 7, (1, 2, 3, 4, 5, 6, 7)),
        Sent(9, 2, False, "a", 5, (1, 2, 3, 4, 8, 9)),
    ]
    one = Sent(0, 1, False, "a", 4, (1, 2, 3, 4, 5, 6, 7))
    assert streamed(sent) == [one, *sent[2:]]
