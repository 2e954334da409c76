"""
Held-out lines into the prompts a session sends there, and those into a model's answers.

A hole is a line of a file; its neighbours are open, the ring is chosen, and nothing of the line is typed
or a part. A `Setting` changes one thing of what is sent by default.
"""

from __future__ import annotations

import contextlib
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from fim_lsp import events
from fim_lsp.documents import Edit, Position, split
from fim_lsp.prompt import window
from fim_lsp.session.session import Session
from fim_lsp.settings.merge import make_config
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Prompt, Request, Stop, append_text
from training import shards, sources

SEED = 1234
TYPED = (0.0, 0.4)  # of the line
SHORTEST = 8  # characters of a line worth completing
COMMENTS = ("#", "//", "/*", "*", "--", '"""')
NEIGHBOURS = 6  # other open files of the package
N_PREDICT = 128  # fim.completion.maxTokens
BURST, STEP = 16, 512  # tokens of one request: a slow machine takes several, and its time
ROOT = "file:///home/me/"
# No file is on disk here, and the answer while the ring is chosen is not used
QUICKLY = {"ring.files": False, "completion.maxTokens": 1, "completion.debounceMs": 0}

Files = dict[str, str]


class Setting(NamedTuple):
    """One thing changed of what is sent by default: settings, and lines above the cursor in the middle."""

    option: tuple[str, int | str] = ("ring.chunks", 16)
    lead: int = window.LEAD


SETTINGS = {
    "as it is": Setting(),
    "no ring": Setting(("ring.chunks", 0)),
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


def held_out(folder: Path) -> list[shards.Entry]:
    """Return the files of each held-out package that are in the language it is held out for."""
    _, specs = sources.named()
    wanted = {(sources.name_of(spec), language) for language in specs for spec in specs[language]}
    entries = shards.read(folder / "held_out.jsonl")
    return [entry for entry in entries if (entry.package, entry.language) in wanted]


def holes(entries: list[shards.Entry], n: int) -> list[Hole]:
    """*n* lines of code of each language, as many of each package."""
    by_package: dict[tuple[str, str], list[Hole]] = defaultdict(list)
    for entry in entries:
        for line, text in enumerate(entry.text.split("\n")):
            if len(text.strip()) >= SHORTEST and not text.strip().startswith(COMMENTS):
                hole = Hole(entry.package, entry.language, entry.path, line, text)
                by_package[entry.language, entry.package].append(hole)
    n_packages: dict[str, int] = defaultdict(int)
    for language, _ in by_package:
        n_packages[language] += 1
    rng = random.Random(SEED)
    return [
        hole
        for (language, _), candidates in sorted(by_package.items())
        for hole in rng.sample(candidates, min(len(candidates), max(1, n // n_packages[language])))
    ]


async def prompts_for(url: str, hole: Hole, files: Files, setting: Setting) -> list[Prompt]:
    """Return the prompts a session sends with nothing typed, and with the first part of the line."""
    config = make_config({**QUICKLY, setting.option[0]: setting.option[1]})
    session = Session(config, lambda _: LlamaServer(url))
    session.handle(events.FoldersChanged((ROOT + hole.package,)))
    lines = split(files[hole.path])
    lines[hole.line] = "\n"
    uri, home = f"{ROOT}{hole.package}/{hole.path}", Position(hole.line, 0)
    for path in [*_neighbours(hole, files), hole.path]:
        text = files[path] if path != hole.path else "".join(lines)
        session.handle(events.Opened(f"{ROOT}{hole.package}/{path}", hole.language, 1, text))
    await session.connection.wait_ready()
    with _leading(setting.lead):
        await session.complete(uri, home, invoked=True)
        await session.wait_idle()
        prompts = [_next_prompt(session, uri, home, hole.text[: column_of(hole, t)]) for t in TYPED]
    await session.aclose()
    return prompts


def _next_prompt(session: Session, uri: str, home: Position, typed: str) -> Prompt:
    """Return what would be sent if *typed* stood in the empty line, whatever is known already."""
    line = session.documents[uri].lines[home.line]
    gone = Edit(home, home._replace(column=len(line) - 1), typed)
    session.handle(events.Changed(uri, 2, (gone,)))
    session.handle(events.CursorMoved(uri, home._replace(column=len(typed))))
    state = session._open.by_uri[uri]  # noqa: SLF001
    document, position = session.documents[uri], home._replace(column=len(typed))
    return session._framing.next_prompt(state, document, position)  # noqa: SLF001


async def complete_by_model(server: LlamaServer, prompt: Prompt) -> tuple[str, bool]:
    """Return what the model says after *prompt* and its half word, and whether it ended by itself."""
    while (await server.warm(prompt, STEP)).left:
        pass
    n_forced, text = len(prompt.forced), ""
    for _ in range(N_PREDICT // BURST):
        reply = await server.complete(Request(prompt, BURST))
        prompt, text = append_text(prompt, reply.text, reply.tokens), text + reply.text
        if reply.stop is not Stop.LIMIT:
            return text[n_forced:], reply.stop is Stop.END
    return text[n_forced:], False


def column_of(hole: Hole, share: float) -> int:
    """Return where the cursor stands when that *share* of the line is typed."""
    indent = len(hole.text) - len(hole.text.lstrip())
    return indent + round(share * len(hole.text.strip()))


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
    """Return the files next to this one in the package, the nearest last."""
    order = sorted(files)
    at = order.index(hole.path)
    near = sorted(
        (path for path in order if path != hole.path), key=lambda p: abs(order.index(p) - at)
    )
    return near[:NEIGHBOURS][::-1]
