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
import contextlib
import difflib
import json
import random
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tree_sitter import Parser

from benchmarks.serve import serving
from fim_lsp import events, window
from fim_lsp.context.grammars import grammar_of, load
from fim_lsp.documents import Edit, Position, split
from fim_lsp.schema import made
from fim_lsp.session import Session
from server_bridge.llama import LlamaServer
from server_bridge.protocol import Prompt, Request, Stop, extended
from training import shards, sources

SEED = 1234
TYPED = (0.0, 0.4)  # of the line
SHORTEST = 8  # characters of a line worth asking for
COMMENTS = ("#", "//", "/*", "*", "--", '"""')
NEIGHBOURS = (
    6  # other files of the package that are open: a morning's work, as in benchmarks/quality.py
)
N_PREDICT = 128  # fim.completion.maxTokens
BURST, STEP = 16, 512  # tokens of one request
ROOT = "file:///home/me/"
# No file is on disk here, and what is said while the ring is chosen is of no interest
QUICKLY = {"ring.files": False, "completion.maxTokens": 1, "completion.debounceMs": 0}


class Setting(NamedTuple):
    """One thing changed of what is sent by default: settings, and lines above the cursor in the middle."""

    given: tuple[str, int | str] = ("ring.chunks", 16)
    lead: int = window.LEAD


SETTINGS = {
    "as it is": Setting(),
    "no ring": Setting(("ring.chunks", 0)),
    "typed text before the suffix": Setting(("prompt.layout", "classic")),
    "no lines before it": Setting(lead=0),
    "ten lines before it": Setting(lead=10),
}


class Hole(NamedTuple):
    """A missing line."""

    package: str
    language: str
    path: str
    line: int
    text: str


class Answer(NamedTuple):
    """What a model said in a hole, judged."""

    language: str
    setting: str
    typed: float
    exact: bool
    similar: float  # of the first line to the truth
    stopped: bool  # by itself
    broke: bool  # the file has more syntax errors with it than with the line that was there
    said: str
    truth: str


Files = dict[str, str]


def held_out(folder: Path) -> list[shards.Entry]:
    """The files of each held-out package that are in the language it is held out for."""
    _, specs = sources.named()
    wanted = {(sources.name_of(each), language) for language in specs for each in specs[language]}
    entries = shards.read(folder / "held_out.jsonl")
    return [entry for entry in entries if (entry.package, entry.language) in wanted]


def holes(entries: list[shards.Entry], n: int) -> list[Hole]:
    """*n* lines of code of each language, as many of each package."""
    found: dict[tuple[str, str], list[Hole]] = defaultdict(list)
    for entry in entries:
        for line, text in enumerate(entry.text.split("\n")):
            if len(text.strip()) >= SHORTEST and not text.strip().startswith(COMMENTS):
                hole = Hole(entry.package, entry.language, entry.path, line, text)
                found[entry.language, entry.package].append(hole)
    n_packages: dict[str, int] = defaultdict(int)
    for language, _ in found:
        n_packages[language] += 1
    rng = random.Random(SEED)
    return [
        hole
        for (language, _), each in sorted(found.items())
        for hole in rng.sample(each, min(len(each), max(1, n // n_packages[language])))
    ]


async def asked(url: str, hole: Hole, files: Files, setting: Setting) -> list[Prompt]:
    """The prompts a session sends with nothing typed, and with the first part of the line."""
    config = made({**QUICKLY, setting.given[0]: setting.given[1]})
    session = Session(config, lambda _: LlamaServer(url))
    session.handle(events.FoldersChanged((ROOT + hole.package,)))
    lines = split(files[hole.path])
    lines[hole.line] = "\n"
    uri, home = f"{ROOT}{hole.package}/{hole.path}", Position(hole.line, 0)
    for path in [*_neighbours(hole, files), hole.path]:
        text = files[path] if path != hole.path else "".join(lines)
        session.handle(events.Opened(f"{ROOT}{hole.package}/{path}", hole.language, 1, text))
    await session.link.wait_ready()
    with _leading(setting.lead):
        await session.complete(uri, home, invoked=True)
        await session.wait_idle()
        prompts = [_next_prompt(session, uri, home, hole.text[: _column(hole, t)]) for t in TYPED]
    await session.aclose()
    return prompts


def _next_prompt(session: Session, uri: str, home: Position, typed: str) -> Prompt:
    """What would be sent if *typed* stood in the empty line, whatever is known already."""
    line = session.documents[uri].lines[home.line]
    gone = Edit(home, home._replace(column=len(line) - 1), typed)
    session.handle(events.Changed(uri, 2, (gone,)))
    session.handle(events.CursorMoved(uri, home._replace(column=len(typed))))
    view = session._views[uri]  # noqa: SLF001
    prompt = session._tower.next_prompt(view, session.documents[uri])  # noqa: SLF001
    assert prompt is not None
    return replace(prompt, tape=())


async def said(server: LlamaServer, prompt: Prompt) -> tuple[str, bool]:
    """What the model says after *prompt* and its half word, and whether it ended by itself."""
    while (
        await server.warm(prompt, STEP)
    ).left:  # in steps, or a slow machine would be given up on
        pass
    n_forced, text = len(prompt.forced), ""
    for _ in range(N_PREDICT // BURST):
        reply = await server.complete(Request(prompt, BURST))
        prompt, text = extended(prompt, reply), text + reply.text
        if reply.stop is not Stop.LIMIT:
            return text[n_forced:], reply.stop is Stop.END
    return text[n_forced:], False


def judged(hole: Hole, name: str, share: float, file: str, answer: tuple[str, bool]) -> Answer:
    """An answer beside the truth."""
    column = _column(hole, share)
    truth, (said, stopped) = hole.text[column:].rstrip(), answer
    first = said.split("\n")[0].rstrip()
    similar = difflib.SequenceMatcher(None, first, truth, autojunk=False).ratio()
    lines = file.split("\n")
    before = _n_errors(hole.language, file)
    lines[hole.line] = hole.text[:column] + said
    broke = _n_errors(hole.language, "\n".join(lines)) > before
    return Answer(hole.language, name, share, first == truth, similar, stopped, broke, said, truth)


async def answers(url: str, entries: list[shards.Entry], n: int) -> list[Answer]:
    """Everything a model says."""
    server = LlamaServer(url)
    await server.connect()
    packages: dict[tuple[str, str], Files] = defaultdict(dict)
    for entry in entries:
        packages[entry.package, entry.language][entry.path] = entry.text
    found = []
    for hole in holes(entries, n):
        files = packages[hole.package, hole.language]
        for name, setting in SETTINGS.items():
            prompts = await asked(url, hole, files, setting)
            for share, prompt in zip(TYPED, prompts, strict=True):
                answer = await said(server, prompt)
                found.append(judged(hole, name, share, files[hole.path], answer))
    await server.aclose()
    return found


def table(found: list[Answer], settings: Iterable[str] = SETTINGS) -> str:
    """Shares of all holes by language and setting."""
    rows = [
        "| language | prompt | n | next line | rest of line | similar | stops | breaks |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for language in [*dict.fromkeys(each.language for each in found), "all"]:
        for name in settings:
            some = [a for a in found if a.setting == name and language in (a.language, "all")]
            line, rest = ([a.exact for a in some if a.typed == share] for share in TYPED)
            others = ([getattr(a, f) for a in some] for f in ("similar", "stopped", "broke"))
            shares = " | ".join(f"{statistics.fmean(each):.1%}" for each in (line, rest, *others))
            rows.append(f"| {language} | {name} | {len(line)} | {shares} |")
    return "\n".join(rows)


@contextlib.contextmanager
def _leading(n_lines: int) -> Iterator[None]:
    """Middles that begin so many lines above the cursor."""
    before = window.LEAD
    window.LEAD = n_lines
    try:
        yield
    finally:
        window.LEAD = before


def _neighbours(hole: Hole, files: Files) -> list[str]:
    """The files next to this one in the package, the nearest last."""
    order = sorted(files)
    at = order.index(hole.path)
    near = sorted(
        (path for path in order if path != hole.path), key=lambda p: abs(order.index(p) - at)
    )
    return near[:NEIGHBOURS][::-1]


def _column(hole: Hole, share: float) -> int:
    indent = len(hole.text) - len(hole.text.lstrip())
    return indent + round(share * len(hole.text.strip()))


def _n_errors(language: str, text: str) -> int:
    grammar = grammar_of(language)
    assert grammar is not None
    nodes, n = [Parser(load(grammar.module, grammar.function)).parse(text.encode()).root_node], 0
    while nodes:
        node = nodes.pop()
        n += node.is_error or node.is_missing
        nodes.extend(child for child in node.children if child.has_error)
    return n


def main() -> None:
    """Ask every model the same, print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--per-language", type=int, default=40)
    parser.add_argument("--out", type=Path, default=Path("evaluation.json"))
    given = parser.parse_args()
    entries = held_out(given.folder)
    everything = {}
    for model in given.models:
        with serving(model) as url:
            found = asyncio.run(answers(url, entries, given.per_language))
        everything[model.name] = [each._asdict() for each in found]
        print(f"\n{model.name}\n\n{table(found)}", flush=True)
    given.out.write_text(json.dumps(everything, indent=1), "utf-8")


if __name__ == "__main__":
    main()
