"""Simulated users in a load test: each has a folder and a pace that no other has."""

from __future__ import annotations

import tarfile
from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import traces
from benchmarks.deployment import load
from benchmarks.deployment.load import person
from benchmarks.deployment.wire import Blocks
from tests.llama_server import llama_server
from tests.models import BUNDLED


def options(n_requests: int, pace: float = 1.0, file: Path | None = None) -> Namespace:
    return Namespace(requests=n_requests, pace=pace, keystrokes=file)


def test_users_share_no_folder_and_no_pace() -> None:
    """Two users' files have different names; the pace is as requested."""
    first = person(0, options(20))
    second = person(1, options(20))
    assert not {step.uri for step in first.steps} & {step.uri for step in second.steps}
    assert [step.wait_ms for step in first.steps] != [step.wait_ms for step in second.steps]
    slow = person(0, options(20, 4.0))
    assert [step.wait_ms for step in slow.steps] == [4 * step.wait_ms for step in first.steps]


def test_what_was_recorded_is_what_was_typed(tmp_path: Path) -> None:
    """A file of messages is the trace that it was; other messages of an editor are passed over."""
    file = tmp_path / "typed.jsonl"
    with tarfile.open(traces.DATA) as tar:
        typed = tar.extractfile("typist0.jsonl")
        assert typed is not None
        file.write_bytes(b'{"ms": 7, "method": "$/setTrace", "params": {}}\n' + typed.read())
    before = traces.load("typist0")
    after = traces.read(file)
    assert (after.n_asks, after.n_keys) == (before.n_asks, before.n_keys)
    assert after.steps[0].wait_ms == before.steps[0].wait_ms + 7
    assert "/3/" in person(3, options(0, 2.0, file)).steps[0].uri


async def test_typists_with_keys_load_an_openai_server(tmp_path: Path) -> None:
    """A real llama.cpp that takes two keys of three; its own count of tokens is in the row."""
    keys = ["a" * 32, "b" * 32, "c" * 32]
    file = tmp_path / "keys.txt"
    file.write_text("# a team\n" + "".join(f"m{n} {key}\n" for n, key in enumerate(keys)), "utf-8")
    with llama_server(BUNDLED, api_keys=keys[:2], endpoint_metrics=True) as url:
        asked = Namespace(
            **vars(options(20, 1.0)), kind="openai", url=url, served_model="", metrics=None,
            session_header="X-Session-ID", keys=load._keys(str(file)), ca_file="",
        )  # fmt: skip
        row = await load._measure("ours", 3, url, asked)
    assert row.n_requests > 0
    assert "shown" in {answer.how for answer in row.answers}


@pytest.mark.parametrize(
    ("first", "second", "evaluated"),
    [
        (range(40), range(40), 8), (range(40), range(48), 16), (range(32), range(32), 16),
        (range(40), [0, 99, *range(2, 40)], 40), (range(10), range(12), 12),
    ],
)  # fmt: skip
def test_blocks_are_reused_whole(first: list[int], second: list[int], evaluated: int) -> None:
    """A cache of blocks of 16 keeps whole ones, and the last token is always evaluated."""
    blocks = Blocks()
    assert blocks.evaluate(list(first), []) == len(first)
    assert blocks.evaluate(list(second), []) == evaluated
