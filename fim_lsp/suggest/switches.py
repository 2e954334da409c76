"""
A document into the reason why it gets no automatic suggestions: the user's list, and prompts by
their nature. Pure.

An entry of the list (`fim.completion.disabledFor`) is a language, or a pattern of file names as in
a `.gitignore`; what begins with `!` takes back what an entry before it said.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fim_lsp.context.ignore_rules import below, compile_rules, scope, why_ignored

LANGUAGE = re.compile(r"[A-Za-z][\w+#-]*")

# A question or a message is typed there, not code. Schemes of VS Code: the commit message, the
# inputs of chats, of the debug console and of comments. Languages: VS Code's, and file types of
# Neovim plugins with such buffers.
PROMPT_SCHEMES = frozenset({
    "vscode-scm", "chatsessioninput", "vscode-chat-input", "vscode-chat-session",
    "vscode-interactive-input", "comment",
    "debug",
})  # fmt: skip
PROMPT_LANGUAGES = frozenset({
    "scminput", "chatinput", "TelescopePrompt", "snacks_picker_input", "snacks_input",
    "dap-repl", "codecompanion", "AvanteInput", "copilot-chat", "sidekick_terminal",
})  # fmt: skip
IN_A_PROMPT = "in a prompt"


@lru_cache(maxsize=256)  # asked at each key; a project's list may have thousands of entries
def why_disabled(entries: tuple[str, ...], uri: str, language: str, path: str) -> str:
    """
    Return the reason why a document gets no automatic suggestions, "" for none; *path* is within
    its workspace.
    """
    scheme = uri.partition(":")[0].lower()
    if scheme in PROMPT_SCHEMES or language in PROMPT_LANGUAGES:
        return IN_A_PROMPT
    last = ""
    for entry in entries:
        if _names(entry.removeprefix("!"), language, path):
            last = "" if entry.startswith("!") else entry
    return f"fim.completion.disabledFor names {last}" if last else ""


def _names(entry: str, language: str, path: str) -> bool:
    """Return whether *entry* names this language or file."""
    if LANGUAGE.fullmatch(entry):
        return entry == language
    *folders, name = path.encode("utf-8", "surrogatepass").split(b"/")
    here = scope([compile_rules(entry.encode("utf-8", "surrogatepass"), entry)])
    for folder in folders:
        here = below(here, folder)
    return bool(why_ignored(here, name))
