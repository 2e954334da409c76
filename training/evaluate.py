"""
Models on code that none of them saw: the real session's prompts, llama.cpp's answers, by language.

    python -m training.evaluate ~/fim-data fim-small-q8_0.gguf fim-tiny-q8_0.gguf --per-language 40

A line of a held-out file is missing, its neighbours are open. Nothing of it is typed (the next line),
or 40 % of it (its rest). The prompt is what a session would send, with its ring and its layout, and with
one thing changed at a time. Prints a table in Markdown for each model; --out keeps every answer.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import statistics
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tree_sitter import Parser

from benchmarks.serve import serving
from fim_lsp.context.grammars import grammar_of, load
from server_bridge.llama.backend import LlamaServer
from training import shards
from training.asking import (
    SETTINGS,
    TYPED,
    Files,
    Hole,
    column_of,
    complete_by_model,
    held_out,
    holes,
    prompts_for,
)


class Answer(NamedTuple):
    """A model's answer for a hole, judged."""

    language: str
    setting: str
    typed: float
    exact: bool
    similar: float  # of the first line to the truth
    stopped: bool  # by itself
    broke: bool  # the file has more syntax errors with it than with the line that was there
    text: str
    truth: str


def judged(hole: Hole, name: str, share: float, file: str, answer: tuple[str, bool]) -> Answer:
    """Return an answer beside the truth."""
    column = column_of(hole, share)
    truth, (text, stopped) = hole.text[column:].rstrip(), answer
    first = text.split("\n")[0].rstrip()
    similar = difflib.SequenceMatcher(None, first, truth, autojunk=False).ratio()
    lines = file.split("\n")
    before = _n_errors(hole.language, file)
    lines[hole.line] = hole.text[:column] + text
    broke = _n_errors(hole.language, "\n".join(lines)) > before
    return Answer(hole.language, name, share, first == truth, similar, stopped, broke, text, truth)


async def answers(url: str, entries: list[shards.Entry], n: int) -> list[Answer]:
    """Return all answers of a model."""
    server = LlamaServer(url)
    await server.connect()
    packages: dict[tuple[str, str], Files] = defaultdict(dict)
    for entry in entries:
        packages[entry.package, entry.language][entry.path] = entry.text
    answers_so_far = []
    for hole in holes(entries, n):
        files = packages[hole.package, hole.language]
        for name, setting in SETTINGS.items():
            prompts = await prompts_for(url, hole, files, setting)
            for share, prompt in zip(TYPED, prompts, strict=True):
                answer = await complete_by_model(server, prompt)
                answers_so_far.append(judged(hole, name, share, files[hole.path], answer))
    await server.aclose()
    return answers_so_far


def table(all_answers: list[Answer], settings: Iterable[str] = SETTINGS) -> str:
    """Shares of all holes by language and setting."""
    rows = [
        "| language | prompt | n | next line | rest of line | similar | stops | breaks |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for language in [*dict.fromkeys(answer.language for answer in all_answers), "all"]:
        for name in settings:
            some = [a for a in all_answers if a.setting == name and language in (a.language, "all")]
            line, rest = ([a.exact for a in some if a.typed == share] for share in TYPED)
            others = ([getattr(a, f) for a in some] for f in ("similar", "stopped", "broke"))
            shares = " | ".join(
                f"{statistics.fmean(answer):.1%}" for answer in (line, rest, *others)
            )
            rows.append(f"| {language} | {name} | {len(line)} | {shares} |")
    return "\n".join(rows)


def _n_errors(language: str, text: str) -> int:
    grammar = grammar_of(language)
    assert grammar is not None
    nodes, n = [Parser(load(grammar.module, grammar.function)).parse(text.encode()).root_node], 0
    while nodes:
        node = nodes.pop()
        if node.is_error or node.is_missing:
            n += 1
        nodes.extend(child for child in node.children if child.has_error)
    return n


def main() -> None:
    """Send every model the same prompts, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--per-language", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("evaluation.json"))
    options = parser.parse_args()
    entries = held_out(options.folder)
    everything = {}
    for model in options.models:
        with serving(model) as url:
            model_answers = asyncio.run(answers(url, entries, options.per_language))
        everything[model.name] = [answer._asdict() for answer in model_answers]
        print(f"\n{model.name}\n\n{table(model_answers)}", flush=True)
    options.out.write_text(json.dumps(everything, indent=1), "utf-8")


if __name__ == "__main__":
    main()
