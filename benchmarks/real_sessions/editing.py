"""
One session in a real Neovim, with one client, on a model server of its own.

Other files are looked at first, then the file without its block; after a jump and a rest in normal mode the
block's first lines are typed: with a pause inside each line and behind each line break, where nothing is accepted, or
as `accepting` says. After a line break the cursor goes to the indentation of the line that follows. Ghost text is what stands in the clients' virtual text when Neovim has drawn.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks import serve
from benchmarks.neovim import FIM_LSP, LLAMA_VIM, WATCH, count_tokens, cpu_seconds, rest
from benchmarks.real_sessions import observed
from benchmarks.real_sessions.accepting import NOTES, SETTLE_S, type_accepting
from benchmarks.real_sessions.choice import PAUSE_LINE, Written, checkout
from benchmarks.real_sessions.readers import Reader
from benchmarks.real_sessions.scores import Pause, Played, Shown
from fim_lsp.suggest.lines import indent
from tests.editors import programs
from tests.editors.conftest import furnish
from tests.editors.neovim import Neovim

KEY_S = 0.12
LOOK_S = 2.0
REST_S = 6.0
PAUSE_S = 4.0
PAUSE_AFTER = 0.6  # of a line
READ_S = 0.1  # a last drawing may be under way

CLIENTS = {"fim-lsp": FIM_LSP, "llama.vim": LLAMA_VIM}


class Terms(NamedTuple):
    """What is the same for all sessions; *reader* is the typist who accepts, None for one who does not."""

    model: Path
    n_threads: int
    llama_vim: str
    reader: Reader | None = None


def play(client: str, session: Written, terms: Terms) -> Played:
    """Return *session* with *client*."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        serve.serving(terms.model, n_threads=terms.n_threads) as url,
    ):
        home = Path(folder)
        server = programs.process("benchmarks.serve", os.getpid())
        notes = home / "observed"
        drawn = home / "drawn"
        noting = NOTES.replace("@NOTES@", str(drawn)).replace("@START@", str(session.start))
        init = noting + CLIENTS[client].format(url=url, llama_vim=terms.llama_vim)
        with _neovim(home, checkout(home, session), init, notes) as editor:
            before = count_tokens(url)
            cpu = cpu_seconds(server.pid)
            others = _others_seconds()
            _come(editor, session, is_ours=client == "fim-lsp")
            reader = terms.reader
            accepted = type_accepting(editor, session, drawn, reader) if reader else None
            pauses = () if reader else tuple(_type(editor, session))
            _check(editor, session)
            cpu = cpu_seconds(server.pid) - cpu
            others = _others_seconds() - others
            evaluated, decoded = (b - a for a, b in zip(before, count_tokens(url), strict=True))
        return Played(
            client, session.name, pauses, observed.decisions(notes), evaluated, decoded, cpu, others,
            accepted,
        )  # fmt: skip


@contextlib.contextmanager
def _neovim(home: Path, folder: Path, init: str, notes: Path) -> Iterator[Neovim]:
    furnish(home, "")
    (home / ".local/bin/fim-lsp").write_text(
        f'#!/bin/sh\n{observed.FILE}="{notes}" PYTHONPATH="{programs.REPOSITORY}" '
        f'exec "{sys.executable}" -m benchmarks.real_sessions.observed "$@"\n'
    )
    editor = Neovim(home, folder, WATCH + init)
    try:
        yield editor
    finally:
        editor.close()


def _come(editor: Neovim, session: Written, *, is_ours: bool) -> None:
    """Look at other files, go to the place, rest there, and begin to insert."""
    for n, other in enumerate(session.others):
        if is_ours and n == 0:
            editor.edit(editor.folder / other)  # waits until the model is there
        editor.send(f":edit {other}\r")
        rest(editor, LOOK_S)
    editor.send(f":edit {session.path}\r")
    rest(editor, LOOK_S)
    editor.send(f":{session.start + 1}\r")
    rest(editor, REST_S)
    editor.send("i")


def _type(editor: Neovim, session: Written) -> Iterator[Pause]:
    """Type, and yield each pause."""
    whole = "\n".join(session.block)
    at = 0
    keys = ""
    for n, line in enumerate(session.typed):
        width = len(indent(line))
        editor.send(keys + line[:width])
        rest(editor, KEY_S)
        if n and line.strip():
            yield _pause(editor, f"line {n + 1}, at its beginning", whole, at + width)
        stop = width + round((len(line) - width) * PAUSE_AFTER)
        for column in range(width, len(line)):
            editor.send(line[column])
            if column + 1 == stop and len(line.strip()) >= PAUSE_LINE:
                yield _pause(editor, f"line {n + 1}, inside", whole, at + stop)
            else:
                rest(editor, KEY_S)
        at = at + len(line) + 1
        keys = "\r"


def _check(editor: Neovim, session: Written) -> None:
    """Make sure that what was to be typed stands there, once the last key has arrived."""
    lines = session.typed
    end = time.monotonic() + SETTLE_S
    rows = f"{session.start}, {session.start + len(lines)}"
    while tuple(there := editor.lua(f"vim.api.nvim_buf_get_lines(0, {rows}, true)")) != lines:
        assert time.monotonic() < end, f"typed {lines}, there is {there}"
        rest(editor, READ_S)


def _pause(editor: Neovim, where: str, whole: str, at: int) -> Pause:
    """Type nothing for a while; what was on screen meanwhile."""
    rest(editor, PAUSE_S + READ_S)
    ended = time.monotonic()
    key, shown = editor.lua("pause()")
    typed = whole[:at].rpartition("\n")[2]
    return Pause(where, typed, whole[at:], key, ended, tuple(Shown(ms, text) for ms, text in shown))


def _others_seconds() -> float:
    """CPU time of all that this benchmark did not start: on a quiet machine it does not grow."""
    user_nice_system = psutil.cpu_times()[:3]
    return float(sum(user_nice_system)) - cpu_seconds(os.getpid())
