"""
`fim-lsp http`: a session of its own for other programs' completion clients, at a port of this
machine.

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
from fim_lsp.http_server import admission, local_port
from fim_lsp.lsp import watchdog
from fim_lsp.session.connection import SessionStatus
from fim_lsp.session.session import Session
from fim_lsp.settings import files
from fim_lsp.settings.config import Config
from server_bridge.protocol import Backend, Health, State

# What the doctor looks at without asking the model for anything
LIVE = (
    checks.privacy, checks.model, checks.access, checks.certificate, checks.context,
    checks.speculation,
)  # fmt: skip

# Or typed into its settings, which keep it safe.
ZED_KEY = "ZED_OPEN_AI_COMPATIBLE_EDIT_PREDICTION_API_KEY"

OpenToPages = Callable[[str], Awaitable[bool]]


def run(
    arguments: Namespace,
    token: str,
    open_backend: Callable[[Config], Backend],
    cache: Path,
    open_to_pages: OpenToPages,
) -> int:
    """
    Serve until Ctrl-C, clients that know *token*, or where it is "" the key that is kept for them;
    returns the exit code.
    """
    key_file = None if token else files.client_key_file()
    root = arguments.root.resolve()
    config, problems = files.read((root,))
    if arguments.url:
        backend = replace(config.backend, kind="auto", url=arguments.url, endpoints=())
        config = replace(config, backend=backend)
    screen = screen_on(sys.stdout)
    for problem in problems:
        screen.line(f"fim-lsp: {problem}")
    open_session = partial(Session, config, open_backend, days=cache)
    options = {
        "port": arguments.port or config.http.port or 0,
        "token": token or admission.own_key(files.client_key_file()),
        "root": root.as_uri(),
    }
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(open_session, cache, options, key_file, screen, open_to_pages))
    except OSError as error:
        why = str(error).rpartition(": ")[2]
        screen.line(f"fim-lsp cannot listen on port {options['port']}: {why}; --port names another")
        return 1
    return 0


async def advice(session: Session, open_to_pages: OpenToPages) -> list[dict[str, str]]:
    """Return the doctor's findings about a running session; nothing is evaluated for it."""
    if session.status().state.health is not Health.READY:
        return []
    target = checks.Target(session.config, (), session.backend, open_to_pages)
    return [finding._asdict() for check in LIVE for finding in await check(target)]


async def _serve(
    open_session: Callable[[], Session],
    cache: Path,
    options: Mapping[str, Any],
    key_file: Path | None,
    screen: Screen,
    open_to_pages: OpenToPages,
) -> None:
    ended = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # Windows ends the process
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    watchdog.watch(cache)
    session = open_session()
    session.on_status = partial(_tell, screen, [])
    session.handle(events.FoldersChanged((options["root"],)))
    advise = partial(advice, session, open_to_pages)
    try:
        local = await local_port.open_local_port(session, cache, advise=advise, **options)
        try:
            for line in _addresses(local, key_file):
                screen.line(line)
            session.start_connecting()
            await ended.wait()
        finally:
            await local.aclose()
    finally:
        await session.aclose()


def _addresses(local: local_port.LocalPort, key_file: Path | None) -> list[str]:
    """
    Return the lines to write into each client's settings; Vim's can read the key from its file, so
    that it is in no dotfile.
    """
    url, token = local.url, local.token
    in_vim = in_lua = f"'{token}'"
    if key_file is not None and "'" not in (path := key_file.as_posix()):
        in_vim, in_lua = f"readfile('{path}')[0]", f"vim.fn.readfile('{path}')[1]"
    infill, openai = f"{url}/infill", f"{url}/v1/completions"
    texts = {
        "llama.vim": f"let g:llama_config = {{ 'endpoint_fim': '{infill}', 'api_key': {in_vim} }}",
        "llama.vscode": f'"llama-vscode.endpoint": "{url}", "llama-vscode.api_key": "{token}"',
        "minuet": f"end_point = '{openai}', api_key = function() return {in_lua} end",
        "Zed": f'"api_url": "{openai}", and in its environment {ZED_KEY}={token}',
        "the page": local.page_url,
    }
    return [f"{name:<13} {text}" for name, text in texts.items()]


def _tell(screen: Screen, last: list[State], status: SessionStatus) -> None:
    """Show the state of the model, unless it was *last* last."""
    state = status.state
    if last != [state]:
        last[:] = [state]
        parts = ("model:", state.model, state.health.value, state.message)
        screen.line(" ".join(filter(None, parts)))
