"""
fim-lsp, llama.vim and minuet in the same Neovim, on the same llama.cpp, typing the same lines.

    python -m benchmarks.side_by_side --llama-vim DIR --minuet DIR --plenary DIR

The editors are real (`scripts/install-editors`), the peers are checkouts of theirs, set as their
READMEs say for llama.cpp. Requests are counted on the wire by a proxy that passes bytes through;
tokens are the server's own total, so requests that were given up count as far as they got.
Through fim-lsp, a peer asks `fim-lsp http`, which asks the server; nothing else is changed in it.
CPU time is the kernel's, of the editor and all it started.
"""

from __future__ import annotations

import argparse
import asyncio
import configparser
import contextlib
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import arguments, serve, traces
from benchmarks.neovim import FIM_LSP, LLAMA_VIM, WATCH, count_tokens, cpu_seconds, rest
from tests.editors.conftest import furnish
from tests.editors.neovim import Neovim

AT_LINE = 500  # of argparse, where it is typed: the middle of a class
KEY_S = 0.08  # a fast typist within words, as in `traces`
PAUSE_S = 3.0  # long enough for an answer at the deadline of 2 s
PAUSE_AFTER = 0.6  # of a line: enough to go by, and something left to suggest
MIN_LINE = 12  # shorter lines are typed without a pause
COMPLETION = re.compile(rb"POST (?:/infill|/completions?|/v1/completions) HTTP")
READ = 1 << 16

EMBEDDED = '[backend]\nkind = "embedded"\n'  # all else as it is by default
MINUET = """
vim.opt.rtp:append('{plenary}')
vim.opt.rtp:append('{minuet}')
require('minuet').setup({{
  virtualtext = {{ auto_trigger_ft = {{ '*' }} }},
  provider = 'openai_fim_compatible', n_completions = 1, context_window = 512,
  provider_options = {{ openai_fim_compatible = {{
    api_key = function() return 'shop' end, name = 'Llama.cpp', end_point = '{url}/v1/completions', model = 'PLACEHOLDER',
    optional = {{ max_tokens = 56, top_p = 0.9 }},
    template = {{ suffix = false, prompt = function(before, after)
      return '<|fim_prefix|>' .. before .. '<|fim_suffix|>' .. after .. '<|fim_middle|>'
    end }},
  }} }},
}})
"""
CLIENTS = {
    "fim-lsp": FIM_LSP,
    "llama.vim": LLAMA_VIM,
    "minuet": MINUET,
}
THROUGH = ", through fim-lsp"
CLIENTS |= {f"{client}{THROUGH}": CLIENTS[client] for client in ("llama.vim", "minuet")}


class Row(NamedTuple):
    """What one client needed; times in milliseconds, CPU time in seconds."""

    client: str
    keys: int
    requests_per_key: float
    tokens_per_key: float
    pauses: int
    shown: int
    p50_ms: float
    p95_ms: float
    cpu_s: float


class Proxy:
    """Passes bytes to a server and back and counts the completions asked for."""

    def __init__(self, target: str) -> None:
        self.requests = 0
        self._host, _, port = target.rpartition("/")[2].partition(":")
        self._port = int(port)
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(asyncio.start_server(self._pass, "127.0.0.1"))
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there = await asyncio.open_connection(self._host, self._port)
        tasks = {
            asyncio.ensure_future(self._copy(reader, there[1], count=True)),
            asyncio.ensure_future(self._copy(there[0], writer, count=False)),
        }
        _, open_ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in open_:
            task.cancel()  # a client that hangs up is how it cancels: pass it on
        for side in (writer, there[1]):
            side.close()

    async def _copy(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, count: bool
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(READ):
                if count:
                    self.requests += len(COMPLETION.findall(data))
                sink.write(data)
                await sink.drain()


def measure(client: str, init: str, text: list[str], paths: dict[str, str], model: Path) -> Row:
    """Type *text* in a Neovim of its own, on a server of its own."""
    with (
        serve.serving(model) as url,
        tempfile.TemporaryDirectory(
            ignore_cleanup_errors=True
        ) as folder,  # a server may still save
        address_of(Path(folder), (proxy := Proxy(url)).url, through=THROUGH in client) as (
            there,
            others,
        ),
        neovim(Path(folder), init, {**paths, "url": there}) as editor,
    ):
        pids = (*others, editor.pid)
        before, cpu = count_tokens(url)[0], sum(map(cpu_seconds, pids))
        requests = proxy.requests
        waits = [wait for line in text for wait in type_line(editor, line)]
        n_keys = sum(map(len, text)) + len(text)
        shown = sorted(wait for wait in waits if wait >= 0)
        return Row(
            client,
            n_keys,
            (proxy.requests - requests) / n_keys,
            (count_tokens(url)[0] - before) / n_keys,
            len(waits),
            len(shown),
            statistics.median(shown) if shown else -1,
            shown[int(0.95 * len(shown))] if shown else -1,
            sum(map(cpu_seconds, pids)) - cpu,
        )


@contextlib.contextmanager
def address_of(home: Path, url: str, *, through: bool) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The address that a client is to ask: the server's, or that of a `fim-lsp http`; and whose CPU time that is."""
    root = home / "shop"
    root.mkdir()
    if not through:
        yield url, ()
        return
    command = [sys.executable, "-m", "fim_lsp", "http", "--root", str(root), "--url", url]
    env = {**os.environ, "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home / "http")}
    env["FIM_LSP_TOKEN"] = "shop"
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = re.search(r"http://[\w.:]+", process.stdout.readline())
            assert address is not None
            yield address[0], (process.pid,)
        finally:
            process.terminate()


@contextlib.contextmanager
def neovim(home: Path, init: str, names: dict[str, str]) -> Iterator[Neovim]:
    """A Neovim in insert mode in the middle of a long file, its client ready."""
    furnish(home, EMBEDDED)
    (home / "shop/.git").mkdir()
    file = home / "shop/long.py"
    file.write_text(traces.source(argparse))
    lua = WATCH + init.format(**names)
    editor = Neovim(home, file.parent, lua)
    try:
        editor.send(f":edit {file}\r")
        if "vim.lsp.enable" in lua:
            attached = "#vim.lsp.get_clients({name='fim', bufnr=0, _uninitialized=false}) > 0"
            editor.wait_until(lambda: editor.lua(attached), "the server")
            editor.wait_until(lambda: editor.stats(".backend.state") == "ready", "the backend")
        editor.send(f":{AT_LINE}\ro")
        rest(editor, PAUSE_S)
        yield editor
    finally:
        editor.close()


def type_line(editor: Neovim, line: str) -> list[float]:
    """Type a line at the pace of `KEY_S`, with one pause; the wait for ghost text in it, -1 for none."""
    waits: list[float] = []
    pause = round(len(line) * PAUSE_AFTER) if len(line.strip()) >= MIN_LINE else 0
    for number, key in enumerate(line + "\r", 1):
        editor.send(key)
        rest(editor, KEY_S)
        if number == pause:
            rest(editor, PAUSE_S)
            waits.append(ghost_ms(editor))
    return waits


def ghost_ms(editor: Neovim) -> float:
    """Return since when ghost text has been on screen without a break, after the last key; -1 for none."""
    _, shown = editor.lua("pause()")
    since = -1.0
    for ms, text in reversed(shown):
        if not text.strip():
            break
        since = ms
    return since


HEAD = """\
| client | requests/key | tokens/key | shown in pauses | ms p50 | ms p95 | CPU s |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


def line_of(row: Row) -> str:
    """Return a row in Markdown."""
    return (
        f"| {row.client} | {row.requests_per_key:.2f} | {row.tokens_per_key:.1f} |"
        f" {row.shown} of {row.pauses} | {row.p50_ms:.0f} | {row.p95_ms:.0f} | {row.cpu_s:.1f} |"
    )


def main() -> None:
    """Measure every client there is a checkout of (three minutes each), and print the table."""
    parser = arguments.parser("benchmarks.side_by_side", __doc__)
    for peer in ("--llama-vim", "--minuet", "--plenary"):
        parser.add_argument(peer, default="", metavar="DIR")
    parser.add_argument("--model", type=Path, default=serve.BUNDLED)
    parser.add_argument("--only", default="", help="clients whose names have this in them")
    parser.add_argument("--lines", type=int, default=30)
    options = parser.parse_args()
    paths: dict[str, Any] = {
        name: getattr(options, name) for name in ("llama_vim", "minuet", "plenary")
    }
    code = [line for line in traces.source(configparser).split("\n")[480:] if line.strip()]
    text = [line for line in code if '"""' not in line][: options.lines]
    print(HEAD)
    for client, init in CLIENTS.items():
        wanted = options.only in client
        if wanted and all(path for name, path in paths.items() if f"{{{name}}}" in init):
            print(line_of(measure(client, init, text, paths, options.model)), flush=True)


if __name__ == "__main__":
    main()
