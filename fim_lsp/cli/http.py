"""
`fim-lsp http`: a session of its own for other programs' completion clients, at a port of this machine.

It keeps no text that it is shown on disk, only how many suggestions there were on each day.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fim_lsp import events
from fim_lsp.cli import checks
from fim_lsp.cli.terminal import Screen, screen_on
from fim_lsp.http_server import local_port
from fim_lsp.http_server.page import Advice
from fim_lsp.session.days import Days
from fim_lsp.session.session import Session
from fim_lsp.settings import files, merge
from fim_lsp.settings.config import Config
from server_bridge.protocol import Backend, Health, State

# What the doctor looks at without asking the model for anything
LIVE = (
    checks.privacy, checks.model, checks.access, checks.context, checks.decoding, checks.speculation,
)  # fmt: skip

OpenToPages = Callable[[str], Awaitable[bool]]


def run(
    arguments: Namespace,
    token: str,
    open_backend: Callable[[Config], Backend],
    cache: Path,
    open_to_pages: OpenToPages,
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
    options = {
        "port": arguments.port or config.http.port,
        "token": arguments.token_file or token,
        "root": root.as_uri(),
    }
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(config, open_backend, cache, options, screen, open_to_pages))
    except OSError as error:
        screen.line(f"fim-lsp cannot listen on port {options['port']}: {error.strerror or error}")
        return 1
    return 0


async def advice(session: Session, open_to_pages: OpenToPages) -> list[Advice]:
    """What the doctor says of a session at work; nothing is evaluated for it."""
    if session.connection.state.health is not Health.READY:
        return []
    target = checks.Target(session.config, (), session.connection.backend, open_to_pages)
    return [Advice(*finding) for check in LIVE for finding in await check(target)]


async def _serve(
    config: Config,
    open_backend: Callable[[Config], Backend],
    cache: Path,
    options: Mapping[str, Any],
    screen: Screen,
    open_to_pages: OpenToPages,
) -> None:
    ended = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # Windows ends the process
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    session = Session(config, open_backend)
    session.days = Days(cache, session.counters)
    session.connection.on_status = lambda state: screen.line(_said(state))
    session.handle(events.FoldersChanged((options["root"],)))
    advise = partial(advice, session, open_to_pages)
    try:
        local = await local_port.opened(session, cache, advise=advise, **options)
        try:
            for line in _addresses(local):
                screen.line(line)
            session.connection.reach()
            await ended.wait()
        finally:
            await local.aclose()
    finally:
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
