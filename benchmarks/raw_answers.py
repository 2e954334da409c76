"""
What a model says at places in recent code, before anything is left out of it: made once, kept in a file, read again.

The prompt is that of a session: window, healing, the model's own marks. Decoding goes on for `BEYOND` tokens behind
the end of what a suggestion may be, so that a filter which cuts later than today's can be tried, too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.git import git
from benchmarks.real_sessions.choice import PAUSE_LINE, SETS, Written, choose_blocks
from benchmarks.serve import serving
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Document, Position, open_document
from fim_lsp.prompt import window
from fim_lsp.prompt.frame import Frame, Header, compose
from fim_lsp.prompt.window import Budget
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import odds
from fim_lsp.suggest.cursor import Candidate, Cursor, Odds, cursor_at
from fim_lsp.suggest.lines import CLOSER, find_unclosed, indent, opens_block
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Request, Stop, Token

# Characters: the small window with which a session answers first, some 130 tokens above and 60 below.
BUDGET = Budget(prefix=400, suffix=200, middle=768)
N_TOKENS = 96
BEYOND = 12  # tokens
TYPED = 0.6  # of a line
PATIENCE_S = 600.0


class Place(NamedTuple):
    """A cursor in *text*, which is a file with something missing; *truth* is what is missing behind it."""

    kind: str
    language: str
    path: str
    text: str
    line: int
    column: int
    truth: str


def places(repositories: list[Path], n_blocks: int) -> Iterator[Place]:
    """Yield the places of blocks that people wrote lately (`real_sessions.choice`), about nine of each."""
    for part in SETS:
        for block in choose_blocks(repositories, -(-n_blocks // len(SETS)), part):
            lines = git(block.repo, "show", f"{block.commit}:{block.path}").split("\n")
            before, after = lines[: block.start], lines[block.start + len(block.block) :]
            for kind, above, expected, closed in cursors(block):
                text = "\n".join((*before, above + closed, *after))
                line, column = block.start + above.count("\n"), len(above) - above.rfind("\n") - 1
                language = language_of(block.path)
                yield Place(kind, language, block.path, text, line, column, expected)


def cursors(block: Written) -> Iterator[tuple[str, str, str, str]]:
    """
    Yield the kind of a place, what of the block stands before it, what follows, and what the editor closed behind it.

    Each line is asked for at its beginning and inside, a line that opens a block also behind its head.
    """
    whole, language, at = "\n".join(block.block), language_of(block.path), 0
    for n, line in enumerate(block.typed):
        width = len(indent(line))
        stop = width + round((len(line) - width) * TYPED)
        if n and line.strip():
            yield "start", whole[: at + width], whole[at + width :], ""
        if len(line.strip()) >= PAUSE_LINE:
            opened = find_unclosed(line[:stop], language) if n % 2 else []
            closed = "".join(CLOSER[bracket.sign] for bracket in reversed(opened))
            yield "paired" if closed else "inside", whole[: at + stop], whole[at + stop :], closed
            if opens_block(line, language):
                yield "header", whole[: at + len(line)], whole[at + len(line) :], ""
        at += len(line) + 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said at a place: all of it; *whole* says that the model ended it by itself."""

    place: Place
    text: str
    whole: bool
    odds: tuple[Odds, ...]

    @property
    def document(self) -> Document:
        """The file with the hole."""
        return open_document("file:///place", self.place.language, 1, self.place.text)

    @property
    def cursor(self) -> Cursor:
        """The place as filters see it."""
        place = self.place
        return cursor_at(self.document, Position(place.line, place.column), place.path)

    @property
    def candidate(self) -> Candidate:
        """The text as the session has it."""
        return Candidate(self.text, self.whole, self.odds)


def record(model: Path, wanted: list[Place], file: Path) -> None:
    """Append to *file* what *model* says at those of *wanted* that are not in it."""
    recorded = {answer.place for answer in read(file)} if file.exists() else set[Place]()
    missing = [place for place in wanted if place not in recorded]
    if missing:
        with serving(model, n_threads=1) as url, file.open("a", encoding="utf-8") as lines:
            asyncio.run(_record(url, missing, lines))


def read(file: Path) -> Iterator[Answer]:
    """Yield the answers in *file*, in their order."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            raw = json.loads(line)
            likely = tuple(Odds(*pair) for pair in raw["odds"])
            yield Answer(Place(*raw["place"]), raw["text"], raw["whole"], likely)


async def _record(url: str, wanted: list[Place], lines: Any) -> None:
    server = LlamaServer(Http(url, patience_s=PATIENCE_S))
    await server.connect()
    for place in wanted:
        answer = await _answer(server, place)
        raw = {"place": place, "text": answer.text, "whole": answer.whole, "odds": answer.odds}
        lines.write(json.dumps(raw) + "\n")
        lines.flush()
    await server.aclose()


async def _answer(server: LlamaServer, place: Place) -> Answer:
    document = open_document("file:///place", place.language, 1, place.text)
    position = Position(place.line, place.column)
    cursor = cursor_at(document, position, place.path)
    shown = window.place_window(document, position, BUDGET, None)
    frame = Frame(Header("", (), place.path), shown)
    typed = window.middle(shown, document, position)
    prompt = compose(frame, typed)
    written, tokens, whole, n_beyond = "", tuple[Token, ...](), False, 0
    async with aclosing(server.stream(Request(prompt, N_TOKENS))) as replies:
        async for reply in replies:
            written, tokens = written + reply.text, tokens + reply.tokens
            whole = reply.stop is Stop.END
            text = written[len(prompt.forced) :]
            n_beyond += boundary.enough(text, cursor)
            if n_beyond > BEYOND:
                break
    text = written[len(prompt.forced) :] if written.startswith(prompt.forced) else ""
    return Answer(place, text, whole, odds(tokens, prompt.forced, text))
