"""
`fim-lsp forget`: deletes everything that is kept from one session to the next.

That is model states, rings and cursor positions; settings and other files are not touched.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fim_lsp.cli.terminal import screen_on
from fim_lsp.session.state import state_file

MEGABYTE = 1e6


def run(cache: Path) -> int:
    """Delete, and print how much; returns the exit code."""
    n_bytes = state_file.forget(cache)
    screen = screen_on(sys.stdout)
    if n_bytes:
        screen.line(f"Deleted {n_bytes / MEGABYTE:.1f} MB in {cache}.")
    else:
        screen.line(f"Nothing was kept in {cache}.")
    screen.line("A llama-server with --slot-save-path keeps files of its own, fim-lsp-*.bin.")
    return 0
