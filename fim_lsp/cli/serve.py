"""
`fim-lsp serve` in words: what is missing, the command line, and what editors need to know.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from fim_lsp.cli.terminal import screen_on
from server_bridge.machine.addresses import USUAL_PORTS, port_of

INSTALL = """\
llama-server is not installed, and your editors share an engine without it. It can use a GPU: get it \
from your system's packages (brew, winget, apt: llama.cpp) or from \
https://github.com/ggml-org/llama.cpp/releases; --program names one that is not on the PATH."""
# Measured (benchmarks/HISTORY.md): on a processor a token of the 0.5B costs half of one of the 1.5B,
# and checking several at once costs nearly as much as generating them (0.58 times as fast on one
# thread, 0.31 on two). n-grams are right when they draft, and stay on.
SLOW_DRAFT = (
    "Without a GPU, a draft model makes the server slower: a 0.5B that drafts for a 1.5B halves "
    "its speed at best. Leave --draft out."
)


def show_command(command: Sequence[str], key_file: Path) -> int:
    """Print a command line as a shell takes it; returns the exit code."""
    screen_on(sys.stdout).text(shlex.join(command))
    if not key_file.exists():  # written by `serve` alone, for as long as it runs
        file, folder = shlex.quote(str(key_file)), shlex.quote(str(key_file.parent))
        make = f"(umask 077; mkdir -p {folder}; openssl rand -hex 32 > {file})"
        screen_on(sys.stderr).line(f"Make its key first: {make}")
    return 0


def refuse(reason: str) -> int:
    """Say why it cannot be; returns the exit code."""
    screen_on(sys.stdout).say(f"fim-lsp: {reason}")
    return 1


def show_instructions(url: str, key_file: Path) -> None:
    """Print what to change in the editor's settings, if anything."""
    screen = screen_on(sys.stdout)
    if port_of(url) in USUAL_PORTS:  # else it has to be named
        screen.say(
            "Your editors find the server and its key by themselves. To name it in their settings:"
        )
    else:
        screen.say("Name it in your editor's settings; fim-lsp finds its key:")
    screen.line(f'    config.toml    backend.url = "{url}"')
    screen.line(f'    settings.json  "fim.backend.url": "{url}"')
    screen.line(f"Other programs need its key: {key_file}")
    screen.line("Ctrl-C ends it. From here on llama-server itself says how it does.")
    sys.stdout.flush()
