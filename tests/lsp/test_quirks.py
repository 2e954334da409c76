"""What is known of editors by their names."""

from __future__ import annotations

import pytest

from fim_lsp import clients


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
    """That much less is waited here; who is not known waits for nothing."""
    assert clients.waits_ms(name) == ms
