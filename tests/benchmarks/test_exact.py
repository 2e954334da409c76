"""A warm cache gives the text of a cold one, but for near ties; a K-shifted one does not."""

from __future__ import annotations

from itertools import pairwise

import pytest

from benchmarks.exact import (
    NEAR_TIE,
    OTHER,
    WARM,
    Parting,
    Row,
    claim,
    cold,
    compared,
    parted,
    table,
    warmed,
)
from benchmarks.places import LIBRARY, keys, places
from benchmarks.wire import Wire
from tests.llama_server import llama_server
from tests.models import BUNDLED

N_LINES = 4  # the benchmark itself takes hundreds


@pytest.mark.engine
async def test_a_warm_tape_gives_the_text_of_cold_evaluation() -> None:
    """Lines typed key by key, with slips and bursts: only near ties may come out differently."""
    with llama_server(BUNDLED) as url:
        wire = Wire(url)
        cases = await warmed(wire, places([LIBRARY], N_LINES, 0))
        assert await cold(wire, cases[0]) == await cold(wire, cases[0])
        (row,) = await compared(wire, cases, {})
        await wire.aclose()
    assert row.n == N_LINES
    assert all(len(case.warm) > 1 and len(case.longer) > len(case.prompt) for case in cases)
    assert max(row.gaps, default=0.0) <= NEAR_TIE
    reused = [call.cached / len(call.prompt) for call in wire.calls if call.cached]
    assert sorted(reused)[len(reused) // 2] > 0.95, "that the cache was warm is the point"


def test_a_line_is_typed_with_a_slip() -> None:
    """Keys come one by one, a wrong one is taken back, and the last state is the line."""
    (place,) = places([LIBRARY], 1, 2)
    typed = list(keys(place))
    assert all(abs(len(a) - len(b)) <= 1 for a, b in pairwise(typed))
    assert any(b == a[:-1] for a, b in pairwise(typed))
    assert typed[-1] == place.typed
    assert len(place.chunks) == 2
    assert places([LIBRARY], 1, 2) == [place]


@pytest.mark.parametrize(
    ("ours", "theirs", "found"),
    [
        ([1, 2, 3], [1, 2, 3], None),
        ([1, 2, 3], [1, 4, 3], Parting([1], 2, 4)),
        ([1, 2], [1, 2, 3], None),
    ],
)
def test_parting(ours: list[int], theirs: list[int], found: Parting | None) -> None:
    """The first token that differs is where two answers part."""
    assert parted(ours, theirs) == found


@pytest.mark.parametrize(
    ("warm", "other", "holds"),
    [
        ([0.01] * 48, [0.01] * 45, True),
        ([0.01] * 80, [0.01] * 45, False),
        ([0.01, 0.2], [0.01, 0.01], False),
        ([], [], True),
    ],
)
def test_the_claim(warm: list[float], other: list[float], holds: bool) -> None:
    """As often as cold differs from cold, give or take chance, and at near ties only."""
    rows = [Row(WARM, 400, warm), Row(OTHER.format(8), 400, other)]
    assert claim(rows).startswith("Holds") == holds
    assert table(rows).count(WARM) == 1
