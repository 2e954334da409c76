"""Evaluating ahead in steps costs no extra token, and the rest is evaluated after a key."""

from __future__ import annotations

import pytest

from benchmarks.places import LIBRARY, places
from benchmarks.prefill import MODES, QUIET, measured, table
from server_bridge.llama.backend import LlamaServer
from tests.llama_server import llama_server
from tests.models import BUNDLED


@pytest.mark.engine
async def test_steps_cost_nothing_and_let_a_key_in() -> None:
    """However it is evaluated, a prompt costs its tokens once; a key waits for one step of it."""
    (place,) = places([LIBRARY], 1, 1)
    with llama_server(BUNDLED) as url:
        rows = {row.name: row for row in await measured(LlamaServer(url), place, 1)}
    assert list(rows) == [QUIET, *MODES]
    counts = [rows[mode].n_tokens for mode in MODES]
    assert max(counts) - min(counts) <= 8
    assert rows["at once"].left == [0.0], "the key waited for all of it"
    assert rows["steps"].left[0] < 1, "at least the step under way was kept"
    assert table(list(rows.values())).count("\n") == 5
