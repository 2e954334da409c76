"""Whether speculation pays: the table of given figures, and kinds compared on a real llama-server."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from benchmarks import speculation
from benchmarks.layouts import trials
from benchmarks.speculation import CHAIN, MODEL, NGRAMS, NONE, Written
from server_bridge.protocol import Timings
from tests.llama_server import PROGRAM
from tests.models import BUNDLED


def row(ms: float, text: str = "x", drafted: int = 0, accepted: int = 0) -> Written:
    """Ten tokens."""
    cost = Timings(predicted_n=10, predicted_ms=ms, draft_n=drafted, draft_accepted_n=accepted)
    return Written(text, cost)


def test_a_kind_is_compared_place_by_place() -> None:
    """A place that was slow for both says as much as the others: pairs count, not sums."""
    without = [row(100), row(1000), row(100)]
    found = {NONE: without, NGRAMS: [row(50, drafted=8, accepted=6), row(500), row(100, "y")]}
    assert speculation.table({2: found}).splitlines()[2:] == [
        "| 2 | none | 0 of 0 | 100.0 | 1.00 | 3 of 3 |",
        "| 2 | n-grams | 6 of 8 | 100.0 | 2.00 | 2 of 3 |",
    ]


@pytest.mark.server
@pytest.mark.skipif(not PROGRAM, reason="needs llama-server: scripts/test-server")
async def test_each_kind_writes_the_same_text() -> None:
    """One server each, the same places, the same text; drafts are counted where there are any."""
    given = Namespace(model="", draft=str(BUNDLED))
    found = await speculation.measured(given, 1, trials([Path(speculation.__file__)], 2))
    assert {*found} == {NONE, NGRAMS, MODEL, CHAIN}
    texts = {kind: [each.text for each in written] for kind, written in found.items()}
    assert len(texts[NONE]) == 2
    assert all(text == texts[NONE] for text in texts.values())
    drafted = {kind: any(each.cost.draft_n for each in rows) for kind, rows in found.items()}
    assert (drafted[NONE], drafted[MODEL], drafted[CHAIN]) == (
        False,
        True,
        True,
    )  # n-grams: if it repeats itself
