"""One editor is served on stdio to its end; the process ends here."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
from collections.abc import Callable, Mapping
from typing import NoReturn

import platformdirs

from fim_lsp.lsp import ending, transport, watchdog
from fim_lsp.lsp.editor import Editor, OpenSession
from fim_lsp.lsp.local_page import OpenPort
from fim_lsp.lsp.rpc import SLICE_S, Protocol, types
from fim_lsp.lsp.server import add_methods
from fim_lsp.lsp.transport import BadFrame, Client, Skipped
from server_bridge.machine.disks import in_disk_thread

log = logging.getLogger(__name__)

GARBAGE = 10_000  # new objects between two searches for garbage: an answer makes thousands
CLOSE_S = 0.6  # for saving and ending when the client is gone: less than `ending.LEAVE_S`
WAY = (
    "fim-lsp: suggestions come from the bundled model, a toy for Python. `fim-lsp setup`, in a"
    " terminal, gets one that fits this machine."
)
FLUSH_S = 0.1  # for the last messages to a client that is not


def run(open_session: OpenSession, flags: Mapping[str, object], open_port: OpenPort) -> NoReturn:
    """
    Serve one editor on stdio to its end; the process ends here.

    *open_port* lets the session answer other programs. The caller switches garbage collection off
    before, which takes 50 ms of start-up, and on when all is imported: see `collect_garbage`.
    """
    editor = Editor(open_session, flags)
    add_methods(editor)
    editor.page.open_port = open_port
    offer_once(editor)
    asyncio.run(_serve(editor))
    raise AssertionError("_serve ends the process")


def collect_garbage() -> None:
    """Search for garbage from now on, but not in what was imported, which takes 50 ms each time."""
    gc.freeze()
    gc.set_threshold(GARBAGE)
    gc.enable()


async def _serve(editor: Editor) -> NoReturn:
    """Serve, then leave: before asyncio waits for threads that may hang."""
    loop = asyncio.get_running_loop()
    client = transport.stdio(ending.end_soon)

    def leave() -> None:
        ending.end_soon()
        loop.call_soon_threadsafe(client.end)

    ending.on_signals(leave)
    watchdog.watch()
    editor.leave = leave
    code = 1
    try:
        code = await serve(
            editor.protocol, client, lambda each: editor.note_skipped(each.methods, each.uris)
        )
    except Exception:
        log.exception("the server failed")
    ending.end_soon()
    await editor.aclose(CLOSE_S)
    client.flush(FLUSH_S)
    ending.leave(code)


async def serve(protocol: Protocol, client: Client, skipped: Callable[[Skipped], None]) -> int:
    """
    Handle all messages of *client* until it says `exit` or is gone.

    *skipped* is called with what could not be read. Returns the exit code: 0 if the client said
    `shutdown` first, 1 if not (LSP, "exit").
    """
    protocol.writer = client  # type: ignore[assignment]  # it has what `_send_data` needs
    clock = asyncio.get_running_loop().time
    paused = clock()
    try:
        async for frame in client.messages():
            if isinstance(frame, Skipped):
                protocol.refuse(None, types.ErrorCodes.InvalidRequest, frame.reason)
                skipped(frame)
                continue
            await protocol.receive(frame)
            if protocol.exited:
                break
            if clock() > paused + SLICE_S:
                await asyncio.sleep(0)
                paused = clock()
    except BadFrame as error:
        protocol.refuse(None, types.ErrorCodes.ParseError, str(error))
    return 0 if protocol.ending else 1


def offer_once(editor: Editor) -> None:
    """
    Have the user told how to get a model, once the bundled one is seen to be at work.

    A client that receives `didChangeStatus` (`fim.status.notify`) shows the model itself and is
    left alone. The user's state folder remembers that it was said, for all editors.
    """

    def look() -> None:
        state = editor.session.status().state
        shows_itself = editor.session.config.status.notify
        has_reader = editor.offers("window.show_message")  # a script has none
        if state.is_ready and state.is_bundled and has_reader and not shows_itself:
            editor.on_state = lambda: None
            editor.later(_offer(editor), "offer a model")

    editor.on_state = look


async def _offer(editor: Editor) -> None:
    path = platformdirs.user_state_path("fim-lsp", appauthor=False) / "offered-a-model"
    is_new = not await in_disk_thread(path.exists)
    if is_new and not editor.session.config.status.notify:  # some set that after `initialize`
        editor.messages.show(WAY)
        with contextlib.suppress(OSError):
            await in_disk_thread(path.parent.mkdir, mode=0o700, parents=True, exist_ok=True)
            await in_disk_thread(path.touch)
