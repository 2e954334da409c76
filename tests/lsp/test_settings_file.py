"""The user's settings, which no editor watches, on a disk that does not answer."""

from __future__ import annotations

import asyncio
import threading

import pytest

from fim_lsp.lsp import editor as editor_module
from fim_lsp.lsp.editor import Editor
from tests.typist import faked


async def test_a_settings_file_that_hangs_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    """However much is typed meanwhile; when its disk answers, it is looked at again."""
    monkeypatch.setattr(editor_module, "LOOK_S", 0.0)
    editor = Editor(faked, {})
    began, answers = threading.Semaphore(0), threading.Event()

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
