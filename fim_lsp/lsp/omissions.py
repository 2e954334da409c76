"""
What clients leave out of params, or send null for, though LSP requires it: filled in before the
params are read. Pure.

Without that a message would be refused whole for a field that nothing depends on, and a `didOpen`
refused once leaves the document without suggestions for ever. No position and no URI is made up.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any
from urllib.parse import urlsplit

from fim_lsp.lsp.rpc import types

_ITEM = (("languageId", ""), ("version", 0), ("text", ""))
_CELLS = "change.cells"

# What stands for a field that is missing, by its path; "" are the params, * is each item of a list.
_DEFAULTS: dict[str, tuple[tuple[str, Any], ...]] = {
    types.INITIALIZE: (
        ("", {}),
        ("capabilities", {}),
        ("clientInfo.name", ""),
        ("workspaceFolders.*.name", ""),
    ),
    types.INITIALIZED: (("", {}),),
    types.TEXT_DOCUMENT_CODE_ACTION: (("context", {}), ("context.diagnostics", [])),
    types.TEXT_DOCUMENT_DID_OPEN: tuple((f"textDocument.{name}", it) for name, it in _ITEM),
    types.TEXT_DOCUMENT_DID_CHANGE: (("contentChanges.*.text", ""),),
    types.NOTEBOOK_DOCUMENT_DID_OPEN: (
        ("notebookDocument.version", 0),
        ("notebookDocument.notebookType", ""),
        ("notebookDocument.cells", []),
        ("notebookDocument.cells.*.kind", types.NotebookCellKind.Code.value),
        ("cellTextDocuments", []),
        *((f"cellTextDocuments.*.{name}", it) for name, it in _ITEM),
    ),
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: (
        ("notebookDocument.version", 0),
        ("change", {}),
        *((f"{_CELLS}.structure.didOpen.*.{name}", it) for name, it in _ITEM),
        (f"{_CELLS}.textContent.*.document.version", 0),
        (f"{_CELLS}.textContent.*.changes.*.text", ""),
    ),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: (("", {}), ("settings", None)),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: (
        ("changes", []),
        ("changes.*.type", types.FileChangeType.Changed.value),
    ),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: (
        ("event", {}),
        ("event.added", []),
        ("event.removed", []),
        ("event.added.*.name", ""),
        ("event.removed.*.name", ""),
    ),
}


def fill_in(method: str, params: Any) -> Any:
    """Return *params*, changed, with what is missing."""
    whole = {"": params}
    for path, default in _DEFAULTS.get(method, ()):
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


# Fields that are read again, by method.
_READ: dict[str, tuple[tuple[str, Callable[[object], object]], ...]] = {
    types.INITIALIZE: (("rootUri", _root), ("rootPath", _root), ("workspaceFolders", _folders)),
    types.TEXT_DOCUMENT_INLINE_COMPLETION: (("context", _inline_context),),
    types.TEXT_DOCUMENT_COMPLETION: (("context", _menu_context),),
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
