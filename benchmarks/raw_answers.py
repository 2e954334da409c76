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
from typing import Any

from benchmarks.recent_code import Place
from benchmarks.serve import serving
from fim_lsp.documents import Document, Position, open_document
from fim_lsp.prompt import compose, window
from fim_lsp.prompt.frame import Frame, Header
from fim_lsp.prompt.window import Budget
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import odds
from fim_lsp.suggest.cursor import Candidate, Cursor, Odds, cursor_at
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Request, Stop, Token

# Characters: the small window with which a session answers first, some 130 tokens above and 60 below.
BUDGET = Budget(prefix=400, suffix=200, middle=768)
N_TOKENS = 96
BEYOND = 12  # tokens
PATIENCE_S = 600.0


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
    known = {each.place for each in read(file)} if file.exists() else set[Place]()
    missing = [place for place in wanted if place not in known]
    if missing:
        with serving(model, n_threads=1) as url, file.open("a", encoding="utf-8") as lines:
            asyncio.run(_record(url, missing, lines))


def read(file: Path) -> Iterator[Answer]:
    """Yield the answers in *file*, in their order."""
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            raw = json.loads(line)
            found = tuple(Odds(*each) for each in raw["odds"])
            yield Answer(Place(*raw["place"]), raw["text"], raw["whole"], found)


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
    prompt = compose.compose(frame, typed)
    said, tokens, whole, n_beyond = "", tuple[Token, ...](), False, 0
    async with aclosing(server.stream(Request(prompt, N_TOKENS))) as replies:
        async for reply in replies:
            said, tokens = said + reply.text, tokens + reply.tokens
            whole = reply.stop is Stop.END
            n_beyond += boundary.enough(said[len(prompt.forced) :], cursor)
            if n_beyond > BEYOND:
                break
    text = said[len(prompt.forced) :] if said.startswith(prompt.forced) else ""
    return Answer(place, text, whole, odds(tokens, prompt.forced, text))
