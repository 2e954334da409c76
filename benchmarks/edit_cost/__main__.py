"""
What edits by instruction cost: `:Fim edit` and llama.vim's `:LlamaInstruct` in the same Neovim, on the same llama.cpp.

    sh scripts/install-editors && sh scripts/get-qwen
    python -m benchmarks.edit_cost --model 0.5b --llama-vim DIR

In each file two functions are changed one after the other, and behind each change a line is typed on at the end of the
file. Tokens are the server's own count of what it evaluated, from the command to the whole answer, so what is evaluated
while the user types the instruction counts, too. Each client has a server of its own for each file, one at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks import serve
from benchmarks.arguments import add_llama_vim, add_model, parser
from benchmarks.edit_cost.cases import CASES, Case, lines_of, outcome
from benchmarks.edit_cost.screen import WATCH, Drawn, is_whole, times
from benchmarks.edit_tasks.checks import Task
from benchmarks.neovim import FIM_LSP, LLAMA_VIM, count_tokens, rest
from server_bridge.process.supervisor import SPINS
from tests.editors.conftest import furnish
from tests.editors.neovim import Neovim

KEY_S = 0.12
LOOK_S, REST_S, WAIT_S = 4.0, 2.0, 600.0
SETTLE_S = 1.0  # for a key's answer, and for work that was given up
BEGUN = "def total(values):\r    res"  # typed at the end of the file, before the first instruction
WAITED = ".tokens.evaluated"
KEYS = ("u", "l")  # typed on behind each edit


class Client(NamedTuple):
    """Its settings, its command, what that asks with, and the key that applies the answer."""

    init: str
    command: str
    prompt: str
    accept: str


OURS = "fim-lsp"
CLIENTS = {
    OURS: Client(FIM_LSP, "Fim edit", "Edit:", "\r"),
    "llama.vim": Client(LLAMA_VIM, "LlamaInstruct", "Instruction:", "\t"),
}


class Row(NamedTuple):
    """
    One instruction: tokens evaluated for it, times in ms from its Enter, and tokens for each key behind the edit.

    *waited*: of these, the tokens while the key's request waited; the others are work ahead, which only fim-lsp does.
    """

    client: str
    file: str
    number: int
    tokens: int
    first_ms: float
    whole_ms: float
    outcome: str
    keys: tuple[int, ...]
    waited: tuple[int, ...]


def play(client: str, case: Case, options: argparse.Namespace) -> list[Row]:
    """Have both functions of a file changed; a change that is not what was asked for is taken back."""
    with (
        serve.serving(options.model, n_threads=options.threads, ngrams=True) as url,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
    ):
        home, name = Path(folder), f"{case.module.__name__}.py"
        furnish(home, "")
        (home / "shop/.git").mkdir(parents=True)
        (home / "shop" / name).write_text(case.text)
        init = CLIENTS[client].init.format(url=url, llama_vim=options.llama_vim)
        editor = Neovim(home, home / "shop", WATCH + init)
        try:
            if client == OURS:
                editor.edit(home / "shop" / name)  # waits until the model is there
            else:
                editor.send(f":edit {name}\r")
            rest(editor, LOOK_S)
            type_keys(editor, f"Go\r{BEGUN}")
            rest(editor, REST_S)
            editor.send("\x1b")
            return [
                Row(
                    client,
                    name,
                    n,
                    *change(editor, client, task, url),
                    *type_on(editor, client, url),
                )
                for n, task in enumerate(case.tasks, 1)
            ]
        finally:
            editor.close()


def change(editor: Neovim, name: str, task: Task, url: str) -> tuple[int, float, float, str]:
    """Have one function changed; see `Row`."""
    client, before = CLIENTS[name], editor.buffer
    first, last = lines_of(before, task)
    editor.send(f":{first}\r")
    rest(editor, LOOK_S)
    n_before = count_tokens(url)[0]
    editor.send(f":{first},{last}{client.command}\r")
    editor.wait_for(client.prompt)
    type_keys(editor, task.ask)
    editor.send("\r")
    editor.wait_until(lambda: has_ended(editor), "the whole answer", WAIT_S)
    drawn = [Drawn(ms, tuple(texts)) for ms, texts in editor.lua("drawn()")]
    rest(editor, SETTLE_S)
    n_tokens = count_tokens(url)[0] - n_before
    if is_whole(drawn[-1].texts):
        editor.send(client.accept)
        rest(editor, SETTLE_S)
    after = editor.buffer
    result = outcome(before, after, task)
    if after != before and result != "done":
        editor.send("u")
        rest(editor, SETTLE_S)
    return n_tokens, *times(drawn, task.selection.split("\n")), result


def has_ended(editor: Neovim) -> bool:
    """Return whether an answer is whole, or none came. Asked seldom: it is a process of its own."""
    rest(editor, 0.5)
    ms, texts = editor.lua("last_drawn()")
    return is_whole(texts) or (not texts and ms > 0)


def type_on(editor: Neovim, client: str, url: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the tokens evaluated for each of some keys at the end of the file, and those while a request waited."""
    rest(editor, REST_S)
    editor.send("GA")
    rest(editor, REST_S)
    costs, waited = list[int](), list[int]()
    for key in KEYS:
        before, n_waited = count_tokens(url)[0], editor.stats(WAITED) if client == OURS else 0
        editor.send(key)
        rest(editor, SETTLE_S)
        costs.append(count_tokens(url)[0] - before)
        waited += [editor.stats(WAITED) - n_waited] if client == OURS else costs[-1:]
    editor.send("\x1b")
    return tuple(costs), tuple(waited)


def type_keys(editor: Neovim, text: str) -> None:
    """Type at an even pace."""
    for key in text:
        editor.send(key)
        rest(editor, KEY_S)


HEAD = """\
| client | instruction | tokens evaluated | first changed line, s | whole, s | done | next keys: most tokens that one waited for | mean in all |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


def line_of(rows: list[Row]) -> str:
    """Return the medians of some rows in Markdown."""
    seen = [row for row in rows if row.first_ms >= 0]
    first = statistics.median(row.first_ms for row in seen) / 1e3 if seen else -1
    whole = statistics.median(row.whole_ms for row in rows) / 1e3
    most = max(cost for row in rows for cost in row.waited)
    n_keys = sum(sum(row.keys) for row in rows) / sum(len(row.keys) for row in rows)
    others = ", ".join(row.outcome for row in rows if row.outcome != "done")
    n_done = sum(row.outcome == "done" for row in rows)
    return (
        f"| {rows[0].client} | {rows[0].number} | {statistics.median(row.tokens for row in rows):.0f} | {first:.1f} |"
        f" {whole:.1f} | {n_done} of {len(rows)}{others and f' ({others})'} | {most} | {n_keys:.0f} |"
    )


def main() -> None:
    """Play, print, write."""
    options = _options()
    os.environ.update(SPINS)  # threads that wait leave the core to others, as with `fim-lsp serve`
    rows: list[Row] = []
    for case in CASES[options.skip :][: options.files]:
        for client in options.clients:
            rows += play(client, case, options)
            print(*rows[-2:], sep="\n", file=sys.stderr, flush=True)
    print(f"{options.model.name}, {options.threads} threads\n\n{HEAD}")
    for client in options.clients:
        for number in (1, 2):
            print(line_of([row for row in rows if (row.client, row.number) == (client, number)]))
    if options.json:
        options.json.write_text(json.dumps([row._asdict() for row in rows], indent=1), "utf-8")


def _options() -> argparse.Namespace:
    arguments = parser("edit_cost", __doc__)
    add_model(arguments, 2)
    add_llama_vim(arguments)
    add = arguments.add_argument
    add("--files", type=int, default=len(CASES), help="so many of the files")
    add("--skip", type=int, default=0, help="so many files before them")
    add("--clients", nargs="+", choices=CLIENTS, default=[*CLIENTS])
    options = arguments.parse_args()
    if "llama.vim" in options.clients and not options.llama_vim:
        arguments.error("llama.vim needs --llama-vim DIR")
    return options


if __name__ == "__main__":
    main()
