"""What an editor's server does while something else happens: its text changes, a disk hangs, it ends."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.documents import Edit, Position, TextPlace
from fim_lsp.events import Changed, CursorMoved, Opened
from fim_lsp.http_server.local_port import LocalPort
from fim_lsp.lsp import editor as editor_module
from fim_lsp.lsp import inline_edits
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.local_page import LocalPage, Port
from fim_lsp.lsp.rpc import types
from fim_lsp.lsp.server import code_action
from fim_lsp.session.session import Session
from server_bridge.machine.private_files import find_announced
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


async def test_a_question_moves_no_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code actions elsewhere leave the cursor, and the document asked about last, alone."""
    editor = Editor(faked, {})
    other = "untitled:b.py"
    at = Position(0, 3)
    monkeypatch.setattr(editor, "offers", lambda *_: True)
    async with aclosing(faked()) as editor.session:
        for uri in (URI, other):
            editor.session.handle(Opened(uri, "python", 1, "x = 1\ny = 2\n"))
        await editor.session.complete(other, at, invoked=False)
        editor.session.handle(CursorMoved(URI, at))
        here = editor.session._open.by_uri[URI]
        await code_action(editor, ASKED)
        assert here.place == TextPlace(here.document, at)
        assert editor.session._open.here is here
        assert editor.session.last_uri == other


async def test_a_settings_file_that_hangs_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    """However much is typed meanwhile; when its disk answers, it is looked at again."""
    monkeypatch.setattr(editor_module, "LOOK_S", 0.0)
    editor = Editor(faked, {})
    began = threading.Semaphore(0)
    answers = threading.Event()

    def is_stale() -> bool:
        began.release()
        answers.wait(60.0)
        return False

    def has_begun() -> bool:
        return began.acquire(timeout=5.0)

    monkeypatch.setattr(editor.sources, "is_stale", is_stale)
    for _ in range(20):
        editor._look_at_settings()
        await asyncio.sleep(0)
    assert await asyncio.to_thread(has_begun)
    await asyncio.to_thread(bool)  # no look waits for a thread
    assert not began.acquire(blocking=False)
    answers.set()
    while editor._look_at > asyncio.get_running_loop().time():
        await asyncio.sleep(0)
    editor._look_at_settings()
    assert await asyncio.to_thread(has_begun)


async def test_a_port_that_opens_while_the_session_ends_is_closed(tmp_path: Path) -> None:
    """Nothing says any more where it was, and none is opened afterwards."""
    page = LocalPage()
    session = faked()
    begins = asyncio.Event()
    may_open = asyncio.Event()

    async def open_port(session: Session, port: int, root: str) -> Port:
        begins.set()
        await may_open.wait()
        opened = LocalPort(session, root)
        await opened.open(tmp_path, port)
        return opened.page_url, opened.aclose

    page.open_port = open_port
    opening = asyncio.create_task(page.url(session, ()))
    await begins.wait()
    closing = asyncio.create_task(page.aclose())
    await asyncio.sleep(0)
    may_open.set()
    await asyncio.gather(opening, closing)
    afterwards = await page.url(session, ())
    await session.aclose()
    assert afterwards == ""
    assert not page.is_open
    assert find_announced(tmp_path) == []
