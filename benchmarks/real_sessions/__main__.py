"""
fim-lsp and llama.vim in a real Neovim, on a real model, writing code again that people wrote.

    scripts/get-qwen 0.5b
    python -m benchmarks.real_sessions --llama-vim DIR ~/src/mlx-lm ~/src/crush
    python -m benchmarks.real_sessions --clients fim-lsp --sessions 2 --set tune --explain ~/src/pygls

A session takes about 80 seconds per client. The clients play it in turn, each on a fresh server; on a machine that
has other work the times say little.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from benchmarks.real_sessions.arguments import parsed, parser
from benchmarks.real_sessions.choice import written
from benchmarks.real_sessions.editing import CLIENTS, Terms, play
from benchmarks.real_sessions.scores import Played, as_json, explained, table


def main() -> None:
    """Play, print, write."""
    options = _options()
    terms = Terms(options.model, options.threads, options.llama_vim)
    played: dict[str, list[Played]] = {client: [] for client in options.clients}
    n = options.skip + options.sessions
    chosen = written(options.histories, n, options.set, options.seed)[options.skip :]
    for session in chosen:
        for client in options.clients:
            print(f"{client}: {session.name}", file=sys.stderr, flush=True)
            played[client].append(play(client, session, terms))
            if options.explain:
                print(explained(played[client][-1]) + "\n", flush=True)
    for client, sessions in played.items():
        print(f"{client}, {terms.model.name}, {options.threads} threads\n\n{table(sessions)}\n")
    if options.json:
        found = {
            "sessions": [{**each._asdict(), "repo": each.repo.name} for each in chosen],
            "played": [as_json(each) for sessions in played.values() for each in sessions],
        }
        options.json.write_text(json.dumps(found, indent=1), "utf-8")


def _options() -> argparse.Namespace:
    known = parser("real_sessions", __doc__, threads=2)
    add = known.add_argument
    add("--clients", type=_clients, default=["fim-lsp"], help=", ".join(CLIENTS))
    add("--llama-vim", default="", metavar="DIR", help="a checkout of llama.vim")
    add("--sessions", type=int, default=5)
    add("--skip", type=int, default=0, help="so many sessions before them")
    options = parsed(known)
    plugin = Path(options.llama_vim, "plugin", "llama.vim")
    if "llama.vim" in options.clients and not plugin.exists():
        known.error("llama.vim needs --llama-vim DIR, a checkout with plugin/llama.vim in it")
    return options


def _clients(text: str) -> list[str]:
    found = text.split(",")
    if unknown := set(found) - set(CLIENTS):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}")
    return found


if __name__ == "__main__":
    main()
