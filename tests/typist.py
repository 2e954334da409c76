"""A user who types into a session: edits a document, asks after each key, reads the statistics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fim_lsp import events
from fim_lsp.documents import Document, Edit, Position
from fim_lsp.session.session import Session
from fim_lsp.settings.config import CompletionConfig, Config
from fim_lsp.suggest.request import Suggestion
from fim_lsp.workspace.explorer import Explorer
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Prompt
from tests.fake_backend import FakeBackend
from tests.places import place

ROOT = place("home", "me", "shop")
place("home", "me", "shop", "app")


QUICK = Config(completion=CompletionConfig(debounce_ms=0, min_confidence=0.0, candidates=1))
# For real models, which take as long for a token as for ten of the prompt, where the length of the text does not matter.
BRIEF = replace(QUICK, completion=replace(QUICK.completion, max_tokens=24))


def embedded(config: Config = QUICK, model: str = "") -> Session:
    """Return a session on the bundled model, or another one."""
    return Session(config, lambda _: open_backend(BackendSettings(kind="embedded", model=model)))


def faked(config: Config = QUICK, says: Callable[[Prompt, int], str] | None = None) -> Session:
    """Return a session without a model, for what it decides by itself; *says* is the text, see `FakeBackend`."""
    return Session(config, lambda _: FakeBackend(says))


def rewrite(text: str) -> Edit:
    """Return the edit that makes *text* of any other."""
    return Edit(Position(0, 0), Position(10_000, 0), text)


async def wait_judged(session: Session) -> None:
    """Wait until every document is judged: what the model would be shown is said after that only."""
    await session.wait_judged()


async def wait_explored(*explorers: Explorer) -> None:
    for explorer in explorers:
        while explorer._listing and not explorer._listing.done():
            await asyncio.wait([explorer._listing])


@dataclass
class Typist:
    """At *cursor* in *uri*."""

    session: Session
    text: str = ""
    uri: str = f"{ROOT}/app/cart.py"
    language: str = "python"
    root: str = ROOT
    cursor: Position = field(default_factory=lambda: Position(0, 0))
    _version: int = field(default=1, init=False)

    def __post_init__(self) -> None:
        self.session.handle(events.FoldersChanged((self.root,)))
        self.session.handle(events.Opened(self.uri, self.language, 1, self.text))
        last = len(self.document.lines) - 1
        self.cursor = Position(last, len(self.document.lines[last]))

    @property
    def document(self) -> Document:
        return self.session.documents[self.uri]

    def replace(self, start: Position, end: Position, text: str) -> None:
        self._version += 1
        self.session.handle(events.Changed(self.uri, self._version, (Edit(start, end, text),)))

    def type(self, text: str) -> None:
        self.replace(self.cursor, self.cursor, text)
        before, _, last = text.rpartition("\n")
        self.cursor = (
            Position(self.cursor.line + before.count("\n") + 1, len(last))
            if "\n" in text
            else Position(self.cursor.line, self.cursor.column + len(text))
        )

    def backspace(self, n: int = 1) -> None:
        start = Position(self.cursor.line, self.cursor.column - n)
        self.replace(start, self.cursor, "")
        self.cursor = start

    def accept(self, suggestion: Suggestion) -> None:
        self.cursor = suggestion.start
        self.replace(suggestion.start, suggestion.end, suggestion.text)
        lines = suggestion.text.split("\n")
        column = len(lines[-1]) + (0 if len(lines) > 1 else suggestion.start.column)
        self.cursor = Position(suggestion.start.line + len(lines) - 1, column)
        self.session.handle(events.Accepted(suggestion.id))

    async def ask(self, *, invoked: bool = False, selected: Edit | None = None) -> list[Suggestion]:
        answer = await self.session.complete(
            self.uri, self.cursor, invoked=invoked, selected=selected
        )
        return answer.suggestions

    async def cost(self, text: str = "", *, invoked: bool = False) -> int:
        """Type *text* and ask; returns how many tokens were evaluated for it."""
        before = self.counted("tokens", "evaluated")
        if text:
            self.type(text)
        await self.ask(invoked=invoked)
        return self.counted("tokens", "evaluated") - before

    def counted(self, *path: str) -> int:
        """Return a number of `fim/stats` by its path."""
        value: object = self.session.stats()
        for name in path:
            assert isinstance(value, dict)
            value = value.get(name, 0)
        assert isinstance(value, int)
        return value
