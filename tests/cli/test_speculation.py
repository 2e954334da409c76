"""Whether speculation pays: the verdict for given figures, and for a server without it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fim_lsp.cli import layouts, speculation
from fim_lsp.cli.speculation import Cost, verdict
from fim_lsp.cli.terminal import screen_on
from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings


@pytest.mark.parametrize(
    ("with_drafts", "without", "says"),
    [
        (Cost(100, 1000.0), Cost(100, 2000.0), "It pays here: 2.0 times as fast."),
        (Cost(50, 500.0), Cost(100, 1050.0), "no difference"),
        (Cost(100, 1050.0), Cost(100, 1000.0), "no difference"),
        (Cost(100, 3000.0), Cost(100, 2000.0), "1.5 times as slow. Start the server without"),
        (Cost(), Cost(), "Nothing was generated"),
    ],
)
def test_the_verdict_is_by_time_per_token(with_drafts: Cost, without: Cost, says: str) -> None:
    """Drafts may be right and yet cost more time than they save."""
    assert says in verdict(with_drafts, without)


async def test_a_server_without_speculation_is_measured_at_one_position_only() -> None:
    """One position shows it, so the others are skipped."""
    printed = io.StringIO()
    backend = Embedded(EmbeddedSettings())
    try:
        await speculation.report(
            backend, layouts.trials([Path(layouts.__file__)], 9), screen_on(printed)
        )
    finally:
        await backend.aclose()
    assert printed.getvalue().startswith("The server does not speculate")
