"""
Commands of the editor into calls of the session: accept, switch off and on, look inside.

They take whatever arguments come, and answer in words for editors that show no results.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import platformdirs
from pygls.capabilities import get_capability
from pygls.exceptions import JsonRpcException

from fim_lsp import anatomy, convert
from fim_lsp.editor import Editor
from fim_lsp.events import Accepted
from fim_lsp.lsp import types

TOGGLE = "fim.toggle"
PAGE = "context.txt"


def accepted(editor: Editor, *arguments: object) -> None:
    """An item was inserted."""
    if arguments and isinstance(arguments[0], str):
        editor.hear(Accepted(arguments[0]))


def toggle(editor: Editor, *_: object) -> bool:
    """Switch suggestions while typing off or on, until the server ends; returns whether they are on."""
    on = not editor.session.config.completion.auto
    editor.sources.say(TOGGLE, {"completion": {"auto": on}})
    editor.configure()
    word = "on" if on else "off: ask for one by hand"
    editor.news.say(types.MessageType.Info, f"Suggestions while typing are {word}.")
    return on


def status(editor: Editor, *_: object) -> str:
    """How things are, in one line."""
    session = editor.session
    state, stats = session.link.state, session.stats()
    parts = [
        " ".join(filter(None, (state.kind, state.model))),
        state.health.value + (f" ({state.message})" if state.message else ""),
        f"suggestions while typing {'on' if session.config.completion.auto else 'off'}",
        f"{stats['accepted']} of {stats['shown']} accepted",
    ]
    line = ", ".join(parts)
    editor.news.say(types.MessageType.Info, line)
    return line


async def show_context(editor: Editor, *arguments: object) -> dict[str, object]:
    """
    What the model is shown for a document (its URI, or the one asked about last), part by part.

    Editors that can open documents open it to read, too.
    """
    uri = arguments[0] if arguments and isinstance(arguments[0], str) else editor.current
    shown = await editor.session.context(editor.notebooks.place(uri)[0])
    if get_capability(editor.client_capabilities, "window.show_document.support"):
        editor.later(_open(editor, anatomy.page(shown)))
    return {"note": shown.note, "segments": [part._asdict() for part in shown.segments]}


async def _open(editor: Editor, text: str) -> None:
    """Show *text* in the editor; for this user's eyes only."""
    folder = platformdirs.user_cache_path("fim-lsp", appauthor=False)
    with contextlib.suppress(JsonRpcException, OSError):
        path = _written(folder, text)
        params = types.ShowDocumentParams(path.as_uri(), take_focus=True)
        await editor.window_show_document_async(params)


def _written(folder: Path, text: str) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / PAGE
    path.unlink(missing_ok=True)  # one of other rights, or a link
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    return path


async def continue_long(editor: Editor, *arguments: object) -> dict[str, object]:
    """
    Write on at a place (`{"uri", "position"}`; by default where a suggestion was asked for last).

    The text is inserted in one piece, so one undo takes it back, and is in the answer, too. Typing
    ends it, and so does the editor's button to cancel, which keeps what came so far.
    """
    given = arguments[0] if arguments and isinstance(arguments[0], dict) else {}
    uri = str(given.get("uri") or editor.current)
    name, first_line = editor.notebooks.place(uri)
    document = editor.session.documents.get(name)
    position = convert.place_of(given.get("position"), document, editor.encoding)
    with editor.news.writing() as hear:
        start, text, note = await editor.session.write_on(name, position, hear)
    text = whole_lines(text)
    if document is not None and text:
        at = convert.client_position(document, start, editor.encoding)
        at = types.Position(at.line - first_line, at.character)
        edit = types.WorkspaceEdit({uri: [types.TextEdit(types.Range(at, at), text)]})
        editor.later(_apply(editor, edit))
    if note:
        editor.news.say(types.MessageType.Info, f"fim-lsp stopped writing: {note}")
    return {"text": text, "note": note}


def whole_lines(text: str) -> str:
    """Without the line in which it was cut off, unless that is all there is."""
    return text.rpartition("\n")[0] or text


async def _apply(editor: Editor, edit: types.WorkspaceEdit) -> None:
    with contextlib.suppress(JsonRpcException):
        params = types.ApplyWorkspaceEditParams(edit, label="fim-lsp wrote on")
        await editor.workspace_apply_edit_async(params)


COMMANDS: tuple[tuple[str, Callable[..., object]], ...] = (
    (convert.ACCEPTED, accepted),
    (TOGGLE, toggle),
    ("fim.status", status),
    ("fim.showContext", show_context),
    ("fim.continueLong", continue_long),
)
