"""Whether speculation pays: what is said for which figures, and of a server without."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from fim_lsp.cli import drafts, layouts
from fim_lsp.cli.drafts import Cost, verdict
from fim_lsp.cli.terminal import screen_on
from server_bridge.embedded import Embedded, EmbeddedSettings


@pytest.mark.parametrize(
    ("with_drafts", "without", "says"),
    [
        (Cost(100, 1000.0), Cost(100, 2000.0), "It pays here: 2.0 times as fast."),
        (Cost(50, 500.0), Cost(100, 1050.0), "no difference"),
        (Cost(100, 1050.0), Cost(100, 1000.0), "no difference"),
        (Cost(100, 3000.0), Cost(100, 2000.0), "1.5 times as slow. Start the server without"),
        (Cost(), Cost(), "Nothing was written"),
    ],
)
def test_the_verdict_is_by_time_per_token(with_drafts: Cost, without: Cost, says: str) -> None:
    """Drafts may be right and yet cost more than they spare."""
    assert says in verdict(with_drafts, without)


async def test_a_server_without_is_asked_no_further() -> None:
    """One place shows it."""
    screen = screen_on(io.StringIO())
    backend = Embedded(EmbeddedSettings())
    try:
        await drafts.report(backend, layouts.places([Path(layouts.__file__)], 9), screen)
    finally:
        await backend.aclose()
    assert screen.stream.getvalue().startswith("The server does not speculate")
