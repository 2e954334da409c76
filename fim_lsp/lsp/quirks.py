"""What some editors do without declaring it, by their names."""

from __future__ import annotations

import math

# How long editors wait after a key before they ask for ghost text. Neovim: runtime/lua/vim/lsp/
# inline_completion.lua; IntelliJ: its inline completion's debounce; VS Code: measured, 67 ms from
# change to request; Emacs: lsp-mode's idle delay is 2 s, and 0.2 s as its documentation advises.
# The Neovim plugin's own ghost text asks at once and counts like Neovim's all the same: a wait of
# half a key inside words delays what is read in each pause (benchmarks/HISTORY.md).
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
    """
    Return how long the editor itself waits after a key before it asks, in ms; 0 where that is not
    known.
    """
    lower = name.lower()
    return next((ms for editor, ms in _WAITS_MS.items() if lower.startswith(editor)), 0.0)


# VS Code since 1.121: while a word is typed its list waits for ghost text, for 750 ms (`editor.
# quickSuggestions`: offWhenInlineCompletions); then it opens, and the request is cancelled.
_LIST_WAITS = ("visual studio code", "code-server", "vscodium")
_LIST_WAITS_SINCE = (1, 121)
_WORD_LIMIT_S = 0.6  # of the 750 ms, for what the editor itself does before and after


def word_limit_s(name: str, version: str) -> float:
    """
    Return how long the editor's list may be held back by an answer inside a word; infinity where it
    does not wait for one.
    """
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    waits = name.lower().startswith(_LIST_WAITS) and numbers >= _LIST_WAITS_SINCE
    return _WORD_LIMIT_S if waits else math.inf


def has_ghost_text_unsaid(name: str) -> bool:
    """
    Return whether the editor has inline completion though it does not declare it: lsp-mode sends
    null.
    """
    return name.lower() == "emacs"


def misplaces_cursor(name: str) -> bool:
    """
    Return whether the cursor of the editor is not behind a menu item that replaces what follows it.
    """
    return name.lower() == "helix"


def reads_snippets(name: str) -> bool:
    """
    Return whether the editor reads a plain menu item as a snippet where filter and text differ.
    """
    return name.lower() == "kakoune-lsp"
