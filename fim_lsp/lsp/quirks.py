"""
What clients do that LSP does not say: some by their names, and what they leave out of params, or
send null for, though LSP requires it. Pure.

Without what is filled in a message would be refused whole for a field that nothing depends on, and
a `didOpen` refused once leaves the document without suggestions for ever. No position and no URI is
made up.
"""

from __future__ import annotations

import math
import pkgutil
import tomllib
from collections.abc import Callable
from copy import copy
from typing import Any
from urllib.parse import urlsplit

from fim_lsp.lsp.rpc import types

_TABLE = tomllib.loads((pkgutil.get_data(__package__ or "", "clients.toml") or b"").decode())


def waits_ms(name: str) -> float:
    """
    Return how long the editor itself waits after a key before it asks, in ms; 0 where that is not
    known.
    """
    lower = name.lower()
    return next((ms for editor, ms in _TABLE["waits_ms"].items() if lower.startswith(editor)), 0.0)


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


def fill_in(method: str, params: Any) -> Any:
    """Return *params*, changed, with what is missing."""
    whole = {"": params}
    for path, default in _TABLE["omissions"].get(method, {}).items():
        _fill(whole, f".{path}".rstrip("."), default)
    params = whole[""]
    for name, read in _READ.get(method, ()) if isinstance(params, dict) else ():
        params[name] = read(params.get(name))
    return params


def _root(raw: object) -> object:
    """Return None for a root that is no URI: pygls reads it before our handler can."""
    try:
        return raw if isinstance(raw, str) and urlsplit(raw) and raw.encode() else None
    except ValueError:
        return None


def _folders(raw: object) -> list[object]:
    """Return the folders that are some, and have a URI."""
    items = raw if isinstance(raw, list) else ()
    return [item for item in items if isinstance(item, dict) and _root(item.get("uri"))]


def _inline_context(raw: object) -> dict[str, Any]:
    """Return the context of a request by hand, where it does not say its kind."""
    context = raw if isinstance(raw, dict) else {}
    if context.get("triggerKind") not in tuple(types.InlineCompletionTriggerKind):
        context["triggerKind"] = types.InlineCompletionTriggerKind.Invoked.value
    match context.get("selectedCompletionInfo"):
        case {"text": str(), "range": dict()}:
            return context
    return {**context, "selectedCompletionInfo": None}


def _menu_context(raw: object) -> object:
    """Return None, which is allowed, for a context that does not say its kind."""
    kind = raw.get("triggerKind") if isinstance(raw, dict) else None
    return raw if kind in tuple(types.CompletionTriggerKind) else None


def message_text(message: object) -> str:
    """
    Return the message of a diagnostic, "" for none: LSP 3.18 has Markdown or plain text in an
    object, too.
    """
    text = message.get("value") if isinstance(message, dict) else message
    return str(text or "")


def _action_context(raw: object) -> object:
    """Return the context of a code action, each message in it a text."""
    problems = raw.get("diagnostics") if isinstance(raw, dict) else None
    for problem in problems if isinstance(problems, list) else ():
        if isinstance(problem, dict):
            problem["message"] = message_text(problem.get("message"))
    return raw


# Fields that are read again, by method.
_READ: dict[str, tuple[tuple[str, Callable[[object], object]], ...]] = {
    types.INITIALIZE: (("rootUri", _root), ("rootPath", _root), ("workspaceFolders", _folders)),
    types.TEXT_DOCUMENT_INLINE_COMPLETION: (("context", _inline_context),),
    types.TEXT_DOCUMENT_COMPLETION: (("context", _menu_context),),
    types.TEXT_DOCUMENT_CODE_ACTION: (("context", _action_context),),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: (("settings", lambda settings: settings),),
}


def _fill(node: Any, path: str, default: object) -> None:
    name, _, rest = path.partition(".")
    if name == "*":
        for each in node if isinstance(node, list) else ():
            _fill(each, rest, default)
    elif isinstance(node, dict):
        if rest:
            _fill(node.get(name), rest, default)
        elif node.get(name) is None:
            node[name] = copy(default)
