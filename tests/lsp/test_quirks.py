"""`fim_lsp.lsp.quirks`: what is known of editors by their names."""

from __future__ import annotations

import math

import pytest

from fim_lsp.lsp import quirks

NEVER = math.inf


@pytest.mark.parametrize(
    ("name", "ms"),
    [
        ("Neovim", 200),
        ("code-server", 50),
        ("PyCharm", 300),
        ("helix", 0),
        ("", 0),
    ],
)
def test_what_an_editor_waits_by_itself(name: str, ms: int) -> None:
    """The server waits that much less; for an unknown editor nothing is subtracted."""
    assert quirks.waits_ms(name) == ms


@pytest.mark.parametrize(
    ("name", "version", "limit_s"),
    [
        ("Visual Studio Code", "1.121.0", 0.6),
        ("Visual Studio Code - Insiders", "1.140.0-insider", 0.6),
        ("VSCodium", "2.0", 0.6),
        ("Visual Studio Code", "1.120.9", NEVER),
        ("Visual Studio Code", "", NEVER),
        ("Visual Studio Code", "next", NEVER),
        ("Neovim", "1.139.1", NEVER),
        ("", "", NEVER),
    ],
)
def test_how_long_a_list_waits_inside_a_word(name: str, version: str, limit_s: float) -> None:
    """In VS Code since 1.121; elsewhere the list does not wait for ghost text."""
    assert quirks.word_limit_s(name, version) == limit_s
