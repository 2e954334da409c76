"""
"The bundled model is a toy: get a real one", said once, in editors that do not say it themselves.

A client that receives `didChangeStatus` (`fim.status.notify`) shows the model itself and is left
alone. Whatever the user answers is remembered in their state folder, for all editors. Only after a
yes is anything downloaded; then the settings name the model, and the session goes on with it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import platformdirs

from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.rpc import JsonRpcException, types
from server_bridge.protocol import Health, State, is_bundled

NO = "Not now"  # the first row, which Enter takes while the user types (Helix); it is asked once
CANCELLED = "it was cancelled; `fim-lsp setup` resumes it"


class NotGot(Exception):
    """A model whose download failed; the message says why and what to do."""


class RealModel(NamedTuple):
    """
    A model for this machine: *what* it is, in a few words; *get* downloads it, and has the settings
    name it.

    *get* blocks. It tells a function how many bytes of how many are here, which says whether to go
    on, and raises NotGot.
    """

    what: str
    get: Callable[[Callable[[int, int], bool]], None]


Find = Callable[[], RealModel | None]  # blocks while it looks at the machine


def should_offer(editor: Editor, state: State) -> bool:
    """Return whether this editor's user should see the offer now."""
    asks = editor.offers("window.show_message")
    shows_itself = editor.session.config.status.notify
    is_toy = state.health is Health.READY and is_bundled(state.model)
    return is_toy and asks and not shows_itself


async def offer(editor: Editor, find: Find, path: Path | None = None) -> None:
    """Ask, unless that was done before, and do what the user says."""
    folder = platformdirs.user_state_path("fim-lsp", appauthor=False)
    path = path or folder / "offered-a-model"
    if await asyncio.to_thread(path.exists) or (real := await asyncio.to_thread(find)) is None:
        return
    if editor.session.config.status.notify:  # some clients set that after `initialize`
        return
    yes = f"Get {real.what}"
    params = types.ShowMessageRequestParams(
        types.MessageType.Info,
        "fim-lsp: suggestions come from the bundled model, a toy for Python. Get one that fits this machine?",
        [types.MessageActionItem(NO), types.MessageActionItem(yes)],
    )
    with contextlib.suppress(JsonRpcException, OSError):
        answer = await editor.window_show_message_request_async(params)
        await asyncio.to_thread(path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
        await asyncio.to_thread(path.touch)
        if answer is not None and answer.title == yes:
            await _get(editor, real)


async def _get(editor: Editor, real: RealModel) -> None:
    try:
        with editor.messages.downloading() as on_progress:
            await asyncio.to_thread(real.get, on_progress)
    except NotGot as error:
        editor.messages.show(f"fim-lsp: {error}", types.MessageType.Warning)
        return
    editor.read_settings()
    editor.messages.show(f"fim-lsp: {real.what} answers from now on.")
