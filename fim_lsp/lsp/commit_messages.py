"""Commit messages: the command `fim.commitMessage`, see docs/protocol.md, and its code action."""

from __future__ import annotations

from pathlib import Path, PurePath

from fim_lsp.documents import Document, Position
from fim_lsp.lsp import convert
from fim_lsp.lsp.commands import apply_edit, read_params, workspace_edit
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.rpc import types
from fim_lsp.workspace import paths

COMMIT_MESSAGE = "fim.commitMessage"
COMMIT_TITLE = "Write the commit message"
NO_MESSAGE = "open a COMMIT_EDITMSG, or name a repository"


async def write_commit_message(editor: Editor, *arguments: object) -> dict[str, object]:
    """
    Write the first line of the message `{"uri"}` (else of the document asked about last), from
    where it ends.

    It is inserted in one piece. For `{"folder", "typed"}`, the top of a repository and what is
    typed of the subject, it is in the answer only: `text` is what follows, `note` says why there is
    nothing.
    """
    params = read_params(arguments)
    document = editor.document(str(params.get("uri") or editor.session.last_uri))
    top = paths.local_path(str(params.get("folder", "")))
    write = editor.session.write_commit_message
    with editor.messages.working("Writing a commit message"):
        if isinstance(top, type(PurePath())) and top.name:
            text, note = await write(Path(top), str(params.get("typed") or ""))
            return {"text": text, "note": note}
        if document is None or not paths.is_message(paths.local_path(document.uri)):
            text, note = "", NO_MESSAGE
        else:
            text, note = await write(document, _read_typed(document))
    if text and document is not None:
        editor.later(_insert(editor, document, text), "insert a commit message")
    else:
        editor.messages.show(f"fim-lsp wrote nothing: {note}")
    return {"text": text, "note": note}


def code_actions(uri: str) -> list[types.CodeAction]:
    """Return the code action that runs the command, where *uri* is a commit message."""
    if not paths.is_message(paths.local_path(uri)):
        return []
    command = types.Command(COMMIT_TITLE, COMMIT_MESSAGE, arguments=[{"uri": uri}])
    return [
        types.CodeAction(COMMIT_TITLE, kind=types.CodeActionKind.RefactorRewrite, command=command)
    ]


def _read_typed(document: Document) -> str:
    """Return the typed part of the subject: the first line, unless git's comments begin there."""
    line = document.lines[0].rstrip("\r\n")
    return "" if line.startswith("#") else line


async def _insert(editor: Editor, document: Document, text: str) -> None:
    typed, line = _read_typed(document), document.lines[0].rstrip("\r\n")
    at = convert.client_position(document, Position(0, len(typed)), editor.encoding)
    edit = types.TextEdit(types.Range(at, at), text if typed == line else f"{text}\n")
    whole = workspace_edit(editor, document.uri, document.version, edit)
    if not await apply_edit(editor, whole, "commit message by fim-lsp"):
        note = "fim-lsp inserted nothing: the message was changed meanwhile"
        editor.messages.show(note)
