"""
`fim-lsp serve`: a model server for this machine, started as it is best for completions, and kept
running.

What runs and how is decided elsewhere and comes in as states; here it is shown, and ended by
Ctrl-C.
"""

from __future__ import annotations

import asyncio
import shlex
import signal
import sys
import time
from argparse import Namespace
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from pathlib import Path

from fim_lsp.cli.terminal import Screen, screen_on
from server_bridge.machine.addresses import USUAL_PORTS, port_of
from server_bridge.protocol import Health, State

INSTALL = """\
llama-server is not installed; it can use a GPU. Get it from your system's packages (brew, \
winget, apt: llama.cpp) or from https://github.com/ggml-org/llama.cpp/releases; --program names \
one that is not on the PATH."""
# Measured (benchmarks/HISTORY.md): on a processor a token of the 0.5B costs half of one of the 1.5B,
# and checking several at once costs nearly as much as generating them (0.58 times as fast on one
# thread, 0.31 on two). n-grams are right when they draft, and stay on.
SLOW_DRAFT = (
    "Without a GPU, a draft model makes the server slower: a 0.5B that drafts for a 1.5B halves "
    "its speed at best. Leave --draft out."
)


def may_lack(arguments: Namespace) -> bool:
    """Say that there is no llama-server; returns whether what is wanted is possible without."""
    screen = screen_on(sys.stdout)
    if arguments.program != "llama-server":
        screen.line(f"fim-lsp: there is no program {arguments.program}")
        return False
    screen.say(INSTALL)
    if arguments.draft:
        return False
    screen.say("Until you install it, the embedded engine serves.")
    return not arguments.dry_run  # which prints a command line, and that engine has none


def show_command(command: Sequence[str], key_file: Path) -> int:
    """Print a command line as a shell takes it; returns the exit code."""
    screen_on(sys.stdout).text(shlex.join(command))
    if not key_file.exists():  # written by `serve` alone, for as long as it runs
        file, folder = shlex.quote(str(key_file)), shlex.quote(str(key_file.parent))
        make = f"(umask 077; mkdir -p {folder}; openssl rand -hex 32 > {file})"
        screen_on(sys.stderr).line(f"Make its key first: {make}")
    return 0


def refuse(reason: str) -> int:
    """Say why it cannot be, "" for what the user knows; returns the exit code."""
    if reason:
        screen_on(sys.stdout).say(f"fim-lsp: {reason}")
    return 1


def watch(states: AsyncGenerator[State, None], key_file: Path) -> int:
    """Show how the server does until it cannot or Ctrl-C ends it; returns the exit code."""
    screen = screen_on(sys.stdout)
    try:
        return asyncio.run(_watch(states, screen, key_file))
    except (KeyboardInterrupt, asyncio.CancelledError):
        screen.status("")
        screen.line("The server has ended.")
        return 0
    except OSError as error:  # no place for its log, or the program is gone
        return refuse(f"the server cannot be started: {error}")


async def _watch(states: AsyncGenerator[State, None], screen: Screen, key_file: Path) -> int:
    _end_on_signals()
    started, n_starts = time.monotonic(), 0
    async with aclosing(states):
        async for state in states:
            seconds = time.monotonic() - started
            if state.health is Health.LOADING:
                screen.status(f"{state.message or 'loading the model'} … {seconds:.1f} s")
                continue
            screen.status("")
            if state.is_ready:
                _ready(screen, state, seconds)
                if not n_starts:
                    _instructions(screen, state, key_file)
                n_starts += 1
            else:
                screen.line(screen.paint(state.message, "warn"))
                started = time.monotonic()
    return 1


def _end_on_signals() -> None:
    """End the server as Ctrl-C does when the terminal is closed, or at `kill`."""
    task = asyncio.current_task()
    assert task is not None
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(AttributeError, NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(getattr(signal, name), task.cancel)


def _ready(screen: Screen, state: State, seconds: float) -> None:
    drafts = f", drafts by {state.drafters}" if state.drafts else ""
    screen.line(
        screen.paint(f"{state.model} is ready after {seconds:.1f} s", "good")
        + f" at {state.url}: {state.n_ctx} tokens in each of {state.slots} slots{drafts}"
    )
    if state.drafters and not state.drafts:
        message = f"it was started with {state.drafters} but does not speculate: see its log"
        screen.line(screen.paint(message, "warn"))
    if state.second_best:
        screen.line(screen.paint(f"second best: {state.second_best}", "warn"))


def _instructions(screen: Screen, state: State, key_file: Path) -> None:
    """Print what to change in the editor's settings, if anything."""
    if state.is_bundled:
        screen.say("This model is a toy. For real work: fim-lsp setup")
    if port_of(state.url) in USUAL_PORTS and not state.second_best:  # else it has to be named
        screen.say(
            "Your editors find the server and its key by themselves. To name it in their settings:"
        )
    else:
        screen.say("Name it in your editor's settings; fim-lsp finds its key:")
    screen.line()
    screen.line(f'    config.toml    backend.url = "{state.url}"')
    screen.line(f'    settings.json  "fim.backend.url": "{state.url}"')
    screen.line()
    screen.line(f"Other programs need its key: {key_file}")
    screen.line("Ctrl-C ends it.")
