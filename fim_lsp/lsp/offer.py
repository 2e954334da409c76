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
from typing import NamedTuple

import platformdirs

from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.rpc import JsonRpcException, types

NO = "Not now"  # the first row, which Enter takes while the user types (Helix); it is asked once


class RealModel(NamedTuple):
    """
    A model for this machine: *what* it is, in a few words; *get* downloads it, and has the settings
    name it.

    *get* blocks. It tells a function how many percent are here, which says whether to go on, and
    returns why it failed, "" where it did not.
    """

    what: str
    get: Callable[[Callable[[int], bool]], str]


Find = Callable[[], RealModel | None]  # blocks while it looks at the machine


def offer_once(editor: Editor, find: Find) -> None:
    """Have the user offered a model, once the bundled one is seen to be at work."""

    def look() -> None:
        if _should_offer(editor):
            editor.on_state = lambda: None
            editor.later(_offer(editor, find), "offer a model")

    editor.on_state = look


def _should_offer(editor: Editor) -> bool:
    state = editor.session.status().state
    asks = editor.offers("window.show_message")
    shows_itself = editor.session.config.status.notify
    return state.is_ready and state.is_bundled and asks and not shows_itself


async def _offer(editor: Editor, find: Find) -> None:
    """Ask, unless that was done before, and do what the user says."""
    path = platformdirs.user_state_path("fim-lsp", appauthor=False) / "offered-a-model"
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
    with editor.messages.working("Getting a model") as on_progress:
        problem = await asyncio.to_thread(real.get, on_progress)
    if problem:
        editor.messages.show(f"fim-lsp: {problem}", types.MessageType.Warning)
    else:
        editor.read_settings()
        editor.messages.show(f"fim-lsp: {real.what} answers from now on.")
