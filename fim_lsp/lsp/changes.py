"""Asks the client to change documents, or to show one."""

from __future__ import annotations

import contextlib
from typing import Any

from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.rpc import JsonRpcException, types


def workspace_edit(
    editor: Editor, uri: str, version: int | None, *edits: types.TextEdit
) -> types.WorkspaceEdit:
    """
    Make edits of the version that we know, from an editor that compares versions; None if it is not
    open.
    """
    if not editor.offers("workspace.workspace_edit.document_changes"):
        return types.WorkspaceEdit({uri: [*edits]})
    versioned = types.OptionalVersionedTextDocumentIdentifier(uri, version)
    return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(versioned, [*edits])])


async def apply_edit(editor: Editor, edit: types.WorkspaceEdit, label: str) -> bool:
    """
    Have the editor change documents; whether it did. Never within a request: see
    `LanguageServer.later`.
    """
    with contextlib.suppress(JsonRpcException):
        params = types.ApplyWorkspaceEditParams(edit, label=label)
        return (await editor.workspace_apply_edit_async(params)).applied
    return False


async def show_document(editor: Editor, uri: str, **how: Any) -> None:
    """Have an editor that can do so show a document."""
    if editor.offers("window.show_document.support"):
        with contextlib.suppress(JsonRpcException):
            await editor.window_show_document_async(types.ShowDocumentParams(uri, **how))
