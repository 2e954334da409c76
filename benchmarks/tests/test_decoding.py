"""One stream and short requests give the same text, and let a newer key in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.decoding import (
    N_TOKENS,
    STREAM,
    WINDOW,
    Row,
    _text,
    decoded,
    endless,
    table,
    waited,
)
from benchmarks.layouts import prompt_at, trials
from tests.llama_server import llama_server
from tests.models import BUNDLED


@pytest.mark.engine
async def test_all_ways_give_the_same_text() -> None:
    """Token by token, half-typed words included; a further request evaluates the last token only."""
    with llama_server(BUNDLED) as url:
        backend = endless(url)
        await backend.connect()
        for trial in trials([Path(__file__)], 3):
            asked = prompt_at(WINDOW, trial)
            await backend.warm(asked, 4096)
            whole, _, _ = await decoded(backend, asked, STREAM)
            assert sum(reply.timings.predicted_n for reply in whole) == N_TOKENS
            assert sum(reply.timings.prompt_n for reply in whole) == 1
            for portion in (1, 3, 8):
                replies, _, _ = await decoded(backend, asked, portion)
                assert _text(replies) == _text(whole), portion
                assert {reply.timings.prompt_n for reply in replies} == {1}
        newer = replace(asked, middle=asked.middle + asked.forced + "q", forced="")
        for portion in (STREAM, 4):
            assert await waited(backend, asked, newer, portion, 0.0) > 0
        await backend.aclose()


def test_the_table_says_how_often_the_text_is_the_same() -> None:
    """One row per way to decode."""
    row = Row(4, [True, False], [1, 1, 1], [2.0, 3.0], [5.0], [9.0, 10.0])
    assert table([row]).splitlines()[-1] == "| requests of 4 | 1 of 2 | 1 | 3.00 | 5 | 10 | 10 |"
