"""`fim_lsp.lsp.quirks`: params with something missing, as they are read."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fim_lsp.lsp.quirks import fill_in
from fim_lsp.lsp.rpc import LanguageServer, types
from fim_lsp.lsp.structure import Malformed

START = {"line": 0, "character": 0}
RANGE = {"start": START, "end": START}
AT = {"textDocument": {"uri": "u"}, "position": START}
INLINE = types.TEXT_DOCUMENT_INLINE_COMPLETION
MENU = types.TEXT_DOCUMENT_COMPLETION
OPEN = types.TEXT_DOCUMENT_DID_OPEN
CHANGE = types.TEXT_DOCUMENT_DID_CHANGE
ACTION = types.TEXT_DOCUMENT_CODE_ACTION
WATCHED = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
FOLDERS = types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS
SETTINGS = types.WORKSPACE_DID_CHANGE_CONFIGURATION
BOOK_OPEN = types.NOTEBOOK_DOCUMENT_DID_OPEN
BOOK_CHANGE = types.NOTEBOOK_DOCUMENT_DID_CHANGE
SELECTED = {"triggerKind": 2, "selectedCompletionInfo": {"range": RANGE, "text": "ab"}}


def selected(**info: object) -> dict[str, Any]:
    return {**AT, "context": {"triggerKind": 2, "selectedCompletionInfo": info}}


def changed(**change: object) -> dict[str, Any]:
    return {"textDocument": {"uri": "u", "version": 2}, "contentChanges": [change]}


def found(message: object) -> dict[str, Any]:
    return {
        **AT,
        "range": RANGE,
        "context": {"diagnostics": [{"range": RANGE, "message": message}]},
    }


ODD_FOLDERS: list[object] = ["x", [None], [{}], ["file:///tmp"], [{"uri": "http://["}]]
# What is read at a path of the params; None where they are malformed.
READ: list[tuple[str, object, str, object]] = [
    (INLINE, AT, "context.trigger_kind", 1),
    (INLINE, {**AT, "context": {}}, "context.trigger_kind", 1),
    (INLINE, {**AT, "context": []}, "context.trigger_kind", 1),
    (INLINE, {**AT, "context": {"triggerKind": 0}}, "context.trigger_kind", 1),
    (INLINE, {**AT, "context": {"triggerKind": 3}}, "context.trigger_kind", 1),
    (INLINE, {**AT, "context": {"triggerKind": "2"}}, "context.trigger_kind", 1),
    (INLINE, {**AT, "context": {"triggerKind": 2}}, "context.trigger_kind", 2),
    (INLINE, {**AT, "context": SELECTED}, "context.selected_completion_info.text", "ab"),
    (INLINE, selected(range=RANGE, text=""), "context.selected_completion_info.text", ""),
    (INLINE, selected(range=RANGE, text=5), "context.selected_completion_info", None),
    (INLINE, selected(range=None, text="ab"), "context.selected_completion_info", None),
    (MENU, {**AT, "context": {"triggerKind": 0}}, "context", None),
    (MENU, {**AT, "context": {"triggerKind": 3}}, "context.trigger_kind", 3),
    (OPEN, {"textDocument": {"uri": "u", "text": "x"}}, "text_document.version", 0),
    (OPEN, {"textDocument": {"uri": "u", "text": "x"}}, "text_document.language_id", ""),
    (OPEN, {"textDocument": {"uri": "u", "languageId": None}}, "text_document.language_id", ""),
    (OPEN, {"textDocument": {"uri": "u", "text": None}}, "text_document.text", ""),
    (OPEN, {"textDocument": {"uri": "u", "version": 7}}, "text_document.version", 7),
    (CHANGE, changed(range=RANGE), "content_changes.0.text", ""),
    (CHANGE, changed(text="x"), "content_changes.0.text", "x"),
    (ACTION, {**AT, "range": RANGE}, "context.diagnostics", ()),
    (ACTION, {**AT, "range": RANGE, "context": {"diagnostics": None}}, "context.diagnostics", ()),
    (ACTION, found("no `x`"), "context.diagnostics.0.message", "no `x`"),
    (ACTION, found({"kind": "markdown", "value": "x"}), "context.diagnostics.0.message", "x"),
    (ACTION, found({"kind": "markdown"}), "context.diagnostics.0.message", ""),
    (ACTION, found(None), "context.diagnostics.0.message", ""),
    (WATCHED, {"changes": [{"uri": "u"}]}, "changes.0.type", types.FileChangeType.Changed),
    (WATCHED, {}, "changes", ()),
    (FOLDERS, {"event": {"added": [{"uri": "u"}]}}, "event.added.0.name", ""),
    (FOLDERS, {"event": {"added": None}}, "event.removed", ()),
    (SETTINGS, None, "settings", None),
    (BOOK_OPEN, {"notebookDocument": {"uri": "n"}}, "notebook_document.version", 0),
    (BOOK_OPEN, {"notebookDocument": {"uri": "n"}, "cellTextDocuments": [{"uri": "c"}]},
     "cell_text_documents.0.text", ""),
    (BOOK_OPEN, {"notebookDocument": {"uri": "n", "cells": [{"document": "c"}]}},
     "notebook_document.cells.0.kind", 2),
    (BOOK_CHANGE, {"notebookDocument": {"uri": "n"}}, "notebook_document.version", 0),
    (types.INITIALIZE, None, "capabilities.workspace", None),
    *((types.INITIALIZE, {name: root}, snake, None) for name, snake, root in [
        ("rootUri", "root_uri", "file://[::1/home/me"), ("rootUri", "root_uri", 7),
        ("rootPath", "root_path", "/\ud800"),
    ]),
    *((types.INITIALIZE, {"workspaceFolders": odd}, "workspace_folders", ())
      for odd in ODD_FOLDERS),
    (types.INITIALIZE, {"clientInfo": {"name": None}}, "client_info.name", ""),
    (types.INITIALIZE, {"clientInfo": None}, "client_info", None),
    (types.INITIALIZE, {"workspaceFolders": [{"uri": "u"}]}, "workspace_folders.0.name", ""),
]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> LanguageServer:
    return LanguageServer("test", "0", types.NotebookDocumentSyncOptions([]))


@pytest.mark.parametrize(("method", "params", "path", "value"), READ)
def test_what_is_missing_is_filled_in(
    server: LanguageServer, method: str, params: object, path: str, value: object
) -> None:
    """With what changes nothing; what is there stays."""
    found: Any = _read(server, method, params)
    for name in path.split("."):
        found = found[int(name)] if name.isdigit() else getattr(found, name)
    assert found == value or (value == () and not found)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        (INLINE, {"textDocument": {"uri": "u"}}),
        (INLINE, {**AT, "position": {"line": 0}}),
        (INLINE, None),
        (OPEN, {"textDocument": {"text": "x"}}),
        (CHANGE, changed(text=3)),
        (CHANGE, {"contentChanges": []}),
    ],
)
def test_no_place_is_made_up(server: LanguageServer, method: str, params: object) -> None:
    """Without a document or a position the params are malformed."""
    with pytest.raises(Malformed):
        _read(server, method, params)


def test_a_message_without_params_is_read(server: LanguageServer) -> None:
    """Also one that has to have them."""
    assert isinstance(_read(server, types.INITIALIZED, None), types.InitializedParams)


def _read(server: LanguageServer, method: str, params: object) -> object:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    if method in (INLINE, MENU, ACTION, types.INITIALIZE):
        message["id"] = 1
    filled = fill_in(method, copy.deepcopy(params))
    if filled is not None:
        message["params"] = filled
    return server.protocol.structure_message(message).params
