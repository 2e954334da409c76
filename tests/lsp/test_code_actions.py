"""`textDocument/codeAction` while the text changes."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from fim_lsp.documents import Edit, Position
from fim_lsp.events import Changed, Opened
from fim_lsp.lsp import inline_edits
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.rpc import types
from fim_lsp.lsp.server import code_action
from tests.typist import faked

URI = "untitled:a.py"
SELECTED = types.Range(types.Position(0, 0), types.Position(1, 0))
ASKED = types.CodeActionParams(
    types.TextDocumentIdentifier(URI), SELECTED, types.CodeActionContext([])
)


async def test_an_action_is_for_the_text_that_was_asked_about(monkeypatch: pytest.MonkeyPatch):
    """A line comes above while the next edit is looked for: the action changes nothing then."""
    editor = Editor(faked, {})
    monkeypatch.setattr(editor, "offers", lambda *_: True)
    async with aclosing(faked()) as editor.session:
        editor.session.handle(Opened(URI, "python", 1, "x = 1\ny = 2\n"))
        await editor.session.backend.connect()

        async def look(*_: object) -> list[types.CodeAction]:
            top = Position(0, 0)
            editor.session.handle(Changed(URI, 2, (Edit(top, top, "# new\n"),)))
            return []

        monkeypatch.setattr(inline_edits, "code_actions", look)
        actions = await code_action(editor, ASKED)
    commands: list[Any] = [action.command for action in actions or ()]
    places = [command.arguments[0]["textDocument"] for command in commands]
    assert places == [{"uri": URI, "version": 1}] * 3
