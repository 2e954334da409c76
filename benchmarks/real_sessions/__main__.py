"""
fim-lsp and llama.vim in a real Neovim, on a real model, writing code again that people wrote.

    scripts/tools/get-qwen 0.5b
    python -m benchmarks.real_sessions --llama-vim DIR ~/src/mlx-lm ~/src/crush
    python -m benchmarks.real_sessions --user accepts --reader people --explain --llama-vim DIR ~/src/pygls

By default the typist accepts nothing, and what is on screen in its pauses counts; one who accepts (`accepting`) counts
keys. A session takes some 80 seconds per client. The clients play it in turn, each on a fresh server; on a machine that
has other work the times say little.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path

from benchmarks.arguments import model_file, names, parser
from benchmarks.progress import tell
from benchmarks.real_sessions import taking
from benchmarks.real_sessions.choice import SEED, SETS, choose_blocks
from benchmarks.real_sessions.editing import CLIENTS, Terms, play
from benchmarks.real_sessions.readers import READERS
from benchmarks.real_sessions.scores import Played, explain, table


def main() -> None:
    """Play, print, write."""
    options = _options()
    accepts = options.user == "accepts"
    reader = READERS[options.reader]
    terms = Terms(
        options.model, options.threads, str(options.llama_vim), reader if accepts else None
    )
    played: dict[str, list[Played]] = {client: [] for client in options.clients}
    chosen = choose_blocks(options.histories, options.sessions, options.set, options.seed)
    plays = [*product(chosen, options.clients)]
    for session, client in tell(plays, len(plays), lambda step: f"{step[1]}: {step[0].name}"):
        played[client].append(last := play(client, session, terms))
        if options.explain:
            print(taking.explain(last) if accepts else explain(last), flush=True)
    who = f", a reader as {options.reader}" if accepts else ""
    print(f"{terms.model.name}, {options.threads} threads{who}\n")
    if accepts:
        print(taking.table(played))
    else:
        for client, sessions in played.items():
            print(f"{client}\n\n{table(sessions)}\n")
    if options.json:
        report = {
            "model": terms.model.name,
            "reader": options.reader,
            "sessions": [{**session._asdict(), "repo": session.repo.name} for session in chosen],
            "played": [session._asdict() for sessions in played.values() for session in sessions],
        }
        options.json.write_text(json.dumps(report, indent=1), "utf-8")


def _options() -> argparse.Namespace:
    arguments = parser("benchmarks.real_sessions", __doc__)
    add = arguments.add_argument
    add(
        "--model",
        type=model_file,
        default="0.5b",
        help="0.5b, 1.5b (scripts/tools/get-qwen) or a file",
    )
    add("--threads", type=int, default=2, help="of the model server")
    add("--json", type=Path, metavar="FILE", help="write everything there")
    add("--llama-vim", type=Path, metavar="DIR", help="a checkout")
    add("histories", nargs="+", type=Path, help="git repositories with code of 2025 or later")
    add("--set", choices=SETS, default="tune", help="which half of the files")
    add("--seed", type=int, default=SEED)
    add("--explain", action="store_true", help="print each place")
    add("--clients", type=names(CLIENTS), default=["fim-lsp"], help=", ".join(CLIENTS))
    add("--user", choices=("watches", "accepts"), default="watches", help="what the typist does")
    add("--reader", choices=READERS, default="quick", help="who accepts, and how fast they type")
    add("--sessions", type=int, default=5)
    options = arguments.parse_args()
    plugin = options.llama_vim and options.llama_vim / "plugin/llama.vim"
    if "llama.vim" in options.clients and not (plugin and plugin.exists()):
        arguments.error("llama.vim needs --llama-vim DIR, a checkout of it")
    return options


if __name__ == "__main__":
    main()
