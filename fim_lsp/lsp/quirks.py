"""An editor's name into what it does without declaring it at `initialize`. Pure."""

from __future__ import annotations


def has_ghost_text_unsaid(name: str) -> bool:
    """Whether the editor has inline completion though it does not declare it: lsp-mode sends null."""
    return name.lower() == "emacs"


def reads_snippets(name: str) -> bool:
    """Whether the editor reads a plain menu item as a snippet where filter and text differ."""
    return name.lower() == "kakoune-lsp"
