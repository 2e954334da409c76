"""`fim_lsp.lsp.quirks`: what is known of editors by their names."""

from __future__ import annotations

import pytest

from fim_lsp.lsp import quirks


@pytest.mark.parametrize(
    ("name", "ms"),
    [
        ("Neovim", 200),
        ("Visual Studio Code - Insiders", 50),
        ("code-server", 50),
        ("IntelliJ IDEA", 300),
        ("PyCharm", 300),
        ("helix", 0),
        ("", 0),
    ],
)
def test_what_an_editor_waits_by_itself(name: str, ms: int) -> None:
    """The server waits that much less; for an unknown editor nothing is subtracted."""
    assert quirks.waits_ms(name) == ms
