"""
"The bundled model is a toy: get a real one", said once, in editors that do not say it themselves.

A client that receives `didChangeStatus` (`fim.status.notify`) shows the model itself and is left
alone. That it was said is remembered in the user's state folder, for all editors.
"""

from __future__ import annotations

import asyncio
import contextlib

import platformdirs

from fim_lsp.lsp.editor import Editor

WAY = (
    "fim-lsp: suggestions come from the bundled model, a toy for Python. `fim-lsp setup`, in a"
    " terminal, gets one that fits this machine."
)


def offer_once(editor: Editor) -> None:
    """Have the user told how to get a model, once the bundled one is seen to be at work."""

    def look() -> None:
        state, shows_itself = editor.session.status().state, editor.session.config.status.notify
        has_reader = editor.offers("window.show_message")  # a script has none
        if state.is_ready and state.is_bundled and has_reader and not shows_itself:
            editor.on_state = lambda: None
            editor.later(_offer(editor), "offer a model")

    editor.on_state = look


async def _offer(editor: Editor) -> None:
    path = platformdirs.user_state_path("fim-lsp", appauthor=False) / "offered-a-model"
    is_new = not await asyncio.to_thread(path.exists)
    if is_new and not editor.session.config.status.notify:  # some set that after `initialize`
        editor.messages.show(WAY)
        with contextlib.suppress(OSError):
            await asyncio.to_thread(path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
            await asyncio.to_thread(path.touch)
