"""
`fim-lsp http`: a session of its own for other programs' completion clients, at a port of this machine.

It keeps nothing of what it is shown on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fim_lsp import events
from fim_lsp.cli.terminal import Screen, screen_on
from fim_lsp.http import local_port
from fim_lsp.session.session import Session
from fim_lsp.settings import files, merge
from fim_lsp.settings.config import Config
from server_bridge.protocol import Backend, State

WAITED_MS = 250.0  # such clients ask once at a time, and not again before they are answered


def run(
    arguments: Namespace, token: str, open_backend: Callable[[Config], Backend], cache: Path
) -> int:
    """Serve until Ctrl-C; returns the exit code."""
    root = arguments.root.resolve()
    given = files.found((root,))
    config, problems = merge.configured(given.layers)
    if arguments.url:
        backend = replace(config.backend, kind="auto", url=arguments.url, endpoints=())
        config = replace(config, backend=backend)
    screen = screen_on(sys.stdout)
    for problem in (*given.problems, *problems):
        screen.line(f"fim-lsp: {problem}")
    if not root.is_dir():
        screen.line(f"fim-lsp: there is no folder {root}")
        return 1
    session = Session(config, open_backend)
    serving = _serve(session, arguments.port, arguments.token_file or token, root, cache, screen)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serving)
    except OSError as error:
        screen.line(f"fim-lsp cannot listen on port {arguments.port}: {error.strerror or error}")
        return 1
    return 0


async def _serve(
    session: Session, port: int, token: str, root: Path, cache: Path, screen: Screen
) -> None:
    ended = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # Windows ends the process
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    session.completer.client_ms = WAITED_MS
    session.connection.on_status = lambda state: screen.line(_said(state))
    session.handle(events.FoldersChanged((root.as_uri(),)))
    try:
        local = await local_port.opened(session, cache, port=port, token=token, root=root.as_uri())
    except OSError:
        await session.aclose()
        raise
    try:
        for line in _addresses(local):
            screen.line(line)
        session.connection.reach()
        await ended.wait()
    finally:
        await local.aclose()
        await session.aclose()


def _addresses(local: local_port.LocalPort) -> list[str]:
    lines = [
        f"llama.vim, llama.vscode   {local.url}/infill",
        f"minuet, Zed               {local.url}/v1/completions",
        f"the page                  {local.page_url}",
    ]
    return lines + ([f"clients' API key          {local.token}"] if local.token else [])


def _said(state: State) -> str:
    return " ".join(filter(None, ("model:", state.model, state.health.value, state.message)))
