"""What editors do and do not say at `initialize`, by the name they give there. Pure."""

from __future__ import annotations

# How long editors wait after a key before they ask for ghost text. Neovim: runtime/lua/vim/lsp/
# inline_completion.lua; IntelliJ: its inline completion's debounce; VS Code: measured, 67 ms from
# change to request; Emacs: lsp-mode's idle delay is 2 s, and 0.2 s where somebody set it.
_WAITS_MS = {
    "neovim": 200.0,
    "emacs": 200.0,
    "visual studio code": 50.0,
    "code-server": 50.0,
    "vscodium": 50.0,
    "cursor": 50.0,
} | dict.fromkeys(
    (
        "android studio", "clion", "datagrip", "goland", "intellij", "phpstorm", "pycharm", "rider",
        "rubymine", "rustrover", "webstorm",
    ),
    300.0,
)  # fmt: skip


def waits_ms(name: str) -> float:
    """How long the editor waits by itself after a key before it asks; 0 where nothing is known."""
    lower = name.lower()
    return next((ms for known, ms in _WAITS_MS.items() if lower.startswith(known)), 0.0)


def has_ghost_text_unsaid(name: str) -> bool:
    """Whether the editor has inline completion though it does not say so: lsp-mode says null."""
    return name.lower() == "emacs"


def reads_snippets(name: str) -> bool:
    """Whether the editor reads a plain menu item as a snippet where filter and text differ."""
    return name.lower() == "kakoune-lsp"
