"""Servers compared: the table of given figures, and drafts on a real llama-server."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import engines
from benchmarks.engines import CHAIN, DRAFT, NGRAMS, SERVER, Written
from benchmarks.layouts import trials
from server_bridge.protocol import Timings
from tests.llama_server import PROGRAM
from tests.models import BUNDLED


def row(ms: float, text: str = "x", drafted: int = 0, accepted: int = 0) -> Written:
    """Ten tokens."""
    cost = Timings(
        prompt_n=10, prompt_ms=ms, predicted_n=10, predicted_ms=ms, draft_n=drafted,
        draft_accepted_n=accepted,
    )  # fmt: skip
    return Written(text, cost)


def test_a_server_is_compared_place_by_place() -> None:
    """A place that was slow for both says as much as the others: pairs count, not sums."""
    first = [row(100), row(1000), row(100)]
    by_server = {"a, 1": first, "b, 1": [row(50, drafted=8, accepted=6), row(500), row(100, "y")]}
    assert engines.table(by_server).splitlines()[2:] == [
        "| a, 1 | 1.00 | 100 | 1.00 | 100 | 0 of 0 | 3 of 3 |",
        "| b, 1 | 2.00 | 100 | 2.00 | 100 | 6 of 8 | 2 of 3 |",
    ]


@pytest.mark.server
@pytest.mark.skipif(not PROGRAM, reason="needs llama-server: scripts/test-server")
async def test_drafts_change_no_text() -> None:
    """One server each, the same places, the same text; drafts are counted where there are any."""
    options = Namespace(
        model="", draft=str(BUNDLED), servers=[SERVER], drafts=True, threads=[1], tokens=32,
        long_spins=False, chars=engines.N_CHARS,
    )  # fmt: skip
    by_server = await engines.measure(options, trials([Path(engines.__file__)], 2))
    assert [name.partition(",")[0] for name in by_server] == [SERVER, NGRAMS, DRAFT, CHAIN]
    texts = [[answer.text for answer in written] for written in by_server.values()]
    assert len(texts[0]) == 2
    assert all(text == texts[0] for text in texts)
    drafted = [any(answer.cost.draft_n for answer in rows) for rows in by_server.values()]
    assert (drafted[0], *drafted[2:]) == (False, True, True)  # n-grams: if it repeats itself
