"""`fim_lsp.lsp.quirks`: what is known of editors by their names."""

from __future__ import annotations

import pytest

from fim_lsp.lsp import quirks


@pytest.mark.parametrize(
    ("name", "has_ghost_text", "reads_snippets"),
    [
        ("emacs", True, False),
        ("kakoune-lsp", False, True),
        ("Neovim", False, False),
        ("", False, False),
    ],
)
def test_what_an_editor_does_without_saying_it(
    name: str, *, has_ghost_text: bool, reads_snippets: bool
) -> None:
    """Of an unknown editor nothing is assumed."""
    assert quirks.has_ghost_text_unsaid(name) == has_ghost_text
    assert quirks.reads_snippets(name) == reads_snippets
