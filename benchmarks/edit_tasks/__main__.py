"""
How often a model does what an instruction says.

    sh scripts/get-qwen 0.5b && sh scripts/build-vscode     (esbuild takes the types out of TypeScript)
    python -m benchmarks.edit_tasks --model MODEL.gguf
    python -m benchmarks.edit_tasks --model MODEL.gguf --explain

Sixty small tasks of our own making (`tasks.toml`), each with asserts that are run behind the edited file.
Commit `a827b9b8` has llama.vim's prompt and a plain question, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from pathlib import Path

from benchmarks import arguments
from benchmarks.edit_tasks.checks import Task, problem, tasks
from benchmarks.serve import serving
from fim_lsp import events
from fim_lsp.documents import Position, apply_edits, open_document
from fim_lsp.instruct import answer
from fim_lsp.instruct.dialogue import Instruction
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config
from server_bridge.llama.backend import LlamaServer
from tests.places import SHOP

ESBUILD = Path(__file__).parents[2] / "editors/vscode/node_modules/.bin/esbuild"


async def edit(task: Task, url: str) -> str:
    """Return the file as the session edits it, with the server at *url*."""
    session = Session(Config(), lambda _: LlamaServer(url))
    uri = f"{SHOP}/{_name(task)}"
    document = open_document(uri, task.language, 1, task.text)
    session.handle(events.FoldersChanged((SHOP,)))
    session.handle(events.Opened(uri, task.language, 1, task.text))
    instruction = Instruction(Position(task.first, 0), Position(task.last, 0), task.ask)
    try:
        edited = await session.edits.edit(uri, instruction, lambda _: True)
    finally:
        await session.aclose()
    if edited.lines is None:
        return task.text
    made = answer.edits(document, edited.first, edited.last, edited.lines)
    return apply_edits(document, reversed(made), 2).text


def _name(task: Task) -> str:
    return "shop.py" if task.language == "python" else "shop.ts"


async def _run(options: argparse.Namespace) -> None:
    passed = Counter[str]()
    with serving(options.model, ngrams=True, n_ctx=16384) as url:
        for number, task in enumerate(tasks()[: options.tasks]):
            text = await edit(task, url)
            wrong = problem(task, text, str(options.esbuild))
            passed.update(dict.fromkeys((task.kind, task.language, "all"), not wrong))
            if options.explain and wrong:
                print(f"-- {number}: {task.ask}: {wrong}\n{text}", flush=True)
    print(json.dumps(passed))


def main() -> None:
    parser = arguments.parser("benchmarks.edit_tasks", __doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--esbuild", type=Path, default=ESBUILD)
    parser.add_argument("--explain", action="store_true")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
