"""
Ways of clients of which LSP does not say anything (`clients.toml`), and fields that they leave out
of params, or send null for, though LSP requires them. Pure.

Without what is filled in a message would be refused whole for a field that nothing depends on, and
a `didOpen` refused once leaves the document without suggestions for ever. No position and no URI is
made up.
"""

from __future__ import annotations

import math
import pkgutil
import tomllib
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fim_lsp.lsp.items import PLAIN_MENU, Menu
from fim_lsp.lsp.structure import find_capability, types
from fim_lsp.suggest.request import EDITOR, Requester

_TABLE = tomllib.loads((pkgutil.get_data(__package__ or "", "clients.toml") or b"").decode())


class Habits(NamedTuple):
    """
    The client's treatment of the items of its *menu*, and how long it waits before and after it
    *asks*; how it shows *ghost_text*, which it declares or not: "never",
    "seldom" or, "", as it says; in what it *counts* columns, and those of changes,
    where that is not what was agreed.
    """

    menu: Menu = PLAIN_MENU
    asks: Requester = EDITOR
    ghost_text: str = ""
    counts: str = ""
    counts_changes: str = ""


def read_habits(params: types.InitializeParams) -> Habits:
    """Return what is known of the client that says this of itself."""
    row: dict[str, Any] = next((row for row in _TABLE["clients"] if _fits(row, params)), {})
    item = "text_document.completion.completion_item."
    formats = _capability(params, item + "documentation_format") or ()
    modes = _capability(params, item + "insert_text_mode_support.value_set") or ()
    menu = Menu(
        filters_by=row.get("filters_by", "word"),
        takes=row.get("takes", "range"),
        eats=row.get("eats", False),
        drops=row.get("drops", False),
        misplaces=row.get("misplaces", False),
        cuts=row.get("cuts", False),
        indents=types.InsertTextMode.AsIs in modes,
        reads_markdown=types.MarkupKind.Markdown in formats[:1],
    )
    asks = Requester(
        waits_ms=row.get("waits_ms", 0.0),
        word_limit_s=row.get("list_waits_ms", math.inf) / 1000,
        gives_up_s=row.get("gives_up_ms", math.inf) / 1000,
    )
    others = {name: row[name] for name in ("ghost_text", "counts", "counts_changes") if name in row}
    return Habits(menu, asks, **others)


def _fits(row: Mapping[str, Any], params: types.InitializeParams) -> bool:
    """Return whether the client is that of a *row*."""
    info = params.client_info or types.ClientInfo("")
    name = info.name.lower()
    version = info.version or ""
    if "names" in row:
        return name.startswith(tuple(row["names"])) and _numbers(version) >= _numbers(
            row.get("since", "")
        )
    is_so = all(_capability(params, path) == value for path, value in row["is"].items())
    return not name and is_so and all(_capability(params, path) is None for path in row["lacks"])


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())


def _capability(params: types.InitializeParams, path: str) -> Any:
    """Return what is declared, None for nothing; a list as TOML has it."""
    found = find_capability(params.capabilities, path)
    return [*found] if isinstance(found, tuple) else found


def fill_in(method: str, params: Any) -> Any:
    """Return *params*, changed, with what is missing."""
    whole = {"": params}
    for path, default in _TABLE["omissions"].get(method, {}).items():
        _fill(whole, f".{path}".rstrip("."), default)
    params = whole[""]
    for name, read in _READ.get(method, ()) if isinstance(params, dict) else ():
        params[name] = read(params.get(name))
    return params


def _capabilities(raw: object) -> object:
    """
    Return what is declared, nothing for what is no object; lsp-mode 10 declares its ghost text by
    null, an older one, which has none, not at all.
    """
    match raw:
        case {"textDocument": {"inlineCompletion": None} as declared}:
            declared["inlineCompletion"] = {}
    return raw if isinstance(raw, dict) else {}


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
    types.INITIALIZE: (
        ("capabilities", _capabilities),
        ("rootUri", lambda raw: _root(raw) if ":" in str(raw) else None),
        ("rootPath", _root),
        ("workspaceFolders", _folders),
    ),
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
