"""
`fim-lsp http`: a session of its own for other programs' completion clients, at a port of this
machine.

It keeps nothing that it is shown on disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from pathlib import Path

from fim_lsp import events
from fim_lsp.cli import checks, server_checks
from fim_lsp.cli.terminal import Screen, screen_on
from fim_lsp.http_server import local_port
from fim_lsp.lsp import watchdog
from fim_lsp.session.session import Session
from fim_lsp.settings import files
from fim_lsp.settings.config import Config
from server_bridge.machine.disks import within
from server_bridge.protocol import Backend, State

# The checks of doctor that ask the model for nothing
LIVE = (
    checks.privacy, checks.model, server_checks.access, server_checks.context,
    checks.speculation,
)  # fmt: skip

# Or typed into its settings, which keep it safe.
ZED_KEY = "ZED_OPEN_AI_COMPATIBLE_EDIT_PREDICTION_API_KEY"


def run(
    arguments: Namespace,
    key: str,
    open_backend: Callable[[Config], Backend],
    open_to_pages: checks.OpenToPages,
) -> int:
    """
    Serve until Ctrl-C, clients that know *key*, or where it is "" the key that is kept for them;
    returns the exit code.
    """
    root = arguments.root.resolve()
    config, problems = files.read((root,))
    if arguments.url:
        backend = replace(config.backend, kind="auto", url=arguments.url, endpoints=())
        config = replace(config, backend=backend)
    screen = screen_on(sys.stdout)
    for problem in problems:
        screen.line(f"fim-lsp: {problem}")
    port = arguments.port or config.http.port or 0
    key_file = None if key else files.client_key_file()
    make_session = partial(Session, config, open_backend)
    open_here = partial(
        open_port, port=port, root=root.as_uri(), open_to_pages=open_to_pages, key=key
    )
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(make_session, open_here, root.as_uri(), screen, key_file))
    except OSError as error:
        why = str(error).rpartition(": ")[2]
        screen.line(f"fim-lsp cannot listen on port {port}: {why}; --port names another")
        return 1
    return 0


async def open_port(
    session: Session, port: int, root: str, *, open_to_pages: checks.OpenToPages, key: str = ""
) -> local_port.LocalPort:
    """
    Return an open *port* for *session*; programs must know *key*, or where it is "" the key that
    is kept for them.
    """
    key = key or await within(partial(local_port.own_key, files.client_key_file()))
    local = local_port.LocalPort(session, root, key, partial(advice, session, open_to_pages))
    await local.open(files.cache_folder() / files.ANNOUNCED, port)
    return local


async def advice(session: Session, open_to_pages: checks.OpenToPages) -> list[dict[str, str]]:
    """Return the doctor's findings about a running session; nothing is evaluated for it."""
    if not session.status().state.is_ready:
        return []
    target = checks.Target(session.config, (), session.backend, open_to_pages)
    return [finding._asdict() for check in LIVE for finding in await check(target)]


async def _serve(
    make_session: Callable[[], Session],
    open_here: Callable[[Session], Awaitable[local_port.LocalPort]],
    root: str,
    screen: Screen,
    key_file: Path | None,
) -> None:
    ended = asyncio.Event()
    with contextlib.suppress(NotImplementedError):  # Windows ends the process
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    watchdog.watch()
    session = make_session()
    last: State | None = None

    def tell(_: object) -> None:
        """Show the state of the model, unless it was shown last."""
        nonlocal last
        if (state := session.status().state) != last:
            last = state
            parts = ("model:", state.model, state.health.value, state.message)
            screen.line(" ".join(filter(None, parts)))

    session.on_status = tell
    session.handle(events.FoldersChanged((root,)))
    async with aclosing(session), aclosing(await open_here(session)) as local:
        for line in _addresses(local, key_file):
            screen.line(line)
        session.start_connecting()
        await ended.wait()


def _addresses(local: local_port.LocalPort, key_file: Path | None) -> list[str]:
    """
    Return the lines to write into each client's settings; Vim's can read the key from its file, so
    that it is in no dotfile.
    """
    url = local.url
    key = local.key
    in_vim = in_lua = f"'{key}'"
    if key_file is not None and "'" not in (path := key_file.as_posix()):
        in_vim = f"readfile('{path}')[0]"
        in_lua = f"vim.fn.readfile('{path}')[1]"
    infill = f"{url}/infill"
    openai = f"{url}/v1/completions"
    texts = {
        "llama.vim": f"let g:llama_config = {{ 'endpoint_fim': '{infill}', 'api_key': {in_vim} }}",
        "llama.vscode": f'"llama-vscode.endpoint": "{url}", "llama-vscode.api_key": "{key}"',
        "minuet": f"end_point = '{openai}', api_key = function() return {in_lua} end",
        "Zed": f'"api_url": "{openai}", and in its environment {ZED_KEY}={key}',
        "the page": local.page_url,
    }
    return [f"{name:<13} {text}" for name, text in texts.items()]
