"""
How often a model does what an instruction says, with our prompt, with llama.vim's, and with a plain question.

    sh scripts/get-qwen 0.5b && sh scripts/build-vscode     (esbuild takes the types out of TypeScript)
    python -m benchmarks.edit_tasks --model MODEL.gguf
    python -m benchmarks.edit_tasks --model MODEL.gguf --ways fim-lsp --explain

Sixty small tasks of our own making (`tasks.toml`), each with asserts that are run behind the edited file.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from benchmarks import arguments
from benchmarks.edit_tasks.checks import Task, problem, tasks
from benchmarks.serve import serving
from fim_lsp import events
from fim_lsp.documents import Position, apply_edits, open_document
from fim_lsp.instruct import answer
from fim_lsp.instruct.answer import block
from fim_lsp.instruct.dialogue import Instruction
from fim_lsp.session.session import Session
from fim_lsp.settings.config import Config
from server_bridge.llama.backend import LlamaServer
from tests.places import SHOP

ESBUILD = Path(__file__).parents[2] / "editors/vscode/node_modules/.bin/esbuild"
MOST_TOKENS = 512
# autoload/llama.vim, llama#inst_build, at a1c8e6e
LLAMA_VIM = (
    "You are a text-editing assistant. Respond ONLY with the result of applying INSTRUCTION to SELECTION given the "
    "CONTEXT. Maintain the existing text indentation. Do not add extra code blocks. Respond only with the modified "
    "block. If the INSTRUCTION is a question, answer it directly. Do not output any extra separators. Consider the "
    "local context before (PREFIX) and after (SUFFIX) the SELECTION.\n"
)

Ask = Callable[[Task, str], Awaitable[str]]  # a task and a server's address into the edited file


async def fim_lsp(task: Task, url: str) -> str:
    """As the server does it."""
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


async def llama_vim(task: Task, url: str) -> str:
    """As `:LlamaInstruct` asks and inserts; its sampling, with a seed."""
    above, below = task.lines[: task.first], task.lines[task.last :]
    parts = {"CONTEXT": [], "PREFIX": above, "SELECTION": [task.selection], "SUFFIX": below}
    told = "".join(f"--- {n:<12}{'-' * 40}\n{chr(10).join(p)}\n" for n, p in parts.items())
    messages = [
        {"role": "system", "content": f"{LLAMA_VIM}\n{told}"},
        {"role": "user", "content": f"INSTRUCTION: {task.ask}"},
    ]
    how = {"min_p": 0.1, "temperature": 0.1, "samplers": ["min_p", "temperature"], "seed": 1}
    return task.edited(await _chat(url, messages, how))


def strip_fence(task: Task, text: str) -> str:
    """Return an edited file without a fence around the answer, which llama.vim leaves there."""
    answer = block("\n".join(text.split("\n")[task.first :]), ended=True)
    return task.edited("\n".join(answer.lines)) if answer.lines else text


async def plain_chat(task: Task, url: str) -> str:
    """Return a question as one would type it into a chat window, and the first block of its answer."""
    question = (
        f"Here is a file:\n```{task.language}\n{task.text}```\n\nChange this part of it:\n```{task.language}\n"
        f"{task.selection}\n```\n\n{task.ask}\n\nAnswer with the changed part only."
    )
    text = await _chat(url, [{"role": "user", "content": question}], {"temperature": 0})
    answer = block(text, ended=True)
    return task.edited("\n".join(answer.lines) if answer.lines else text)


WAYS: dict[str, Ask] = {
    "fim-lsp": fim_lsp,
    "llama.vim": llama_vim,
    "chat": plain_chat,
}


async def _chat(url: str, messages: list[dict[str, str]], how: dict[str, object]) -> str:
    async with httpx.AsyncClient(timeout=300) as client:
        body = {"messages": messages, "max_tokens": MOST_TOKENS, **how}
        response = await client.post(f"{url}/v1/chat/completions", json=body)
    return str(response.json()["choices"][0]["message"]["content"])


def _name(task: Task) -> str:
    return "shop.py" if task.language == "python" else "shop.ts"


async def _run(options: argparse.Namespace) -> None:
    passed: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    chosen = tasks()[options.skip :][: options.tasks]
    with serving(options.model, ngrams=True, n_ctx=16384) as url:
        for number, task in enumerate(chosen, options.skip):
            for way in options.ways:
                texts = {way: await WAYS[way](task, url)}
                if way == "llama.vim":
                    texts["llama.vim, fences taken off"] = strip_fence(task, texts[way])
                for name, text in texts.items():
                    wrong = problem(task, text, str(options.esbuild))
                    groups = (task.kind, task.language, "all")
                    passed[name].update(dict.fromkeys(groups, not wrong))
                    if options.explain and wrong:
                        print(f"-- {number} {name}: {task.ask}: {wrong}\n{text}", flush=True)
    for name, counts in passed.items():
        print(name, json.dumps(counts), flush=True)


def main() -> None:
    parser = arguments.parser("benchmarks.edit_tasks", __doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--esbuild", type=Path, default=ESBUILD)
    parser.add_argument("--explain", action="store_true")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
