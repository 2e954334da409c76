"""
Neovim with our plugin, as far as a typist sees it (`editors/nvim/lua/fim/ghost.lua`), beside a session in this process.

It draws at once and has no time of its own, so what is on screen is as old as the session's answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from benchmarks.real_sessions.accepting import BLINK_S
from benchmarks.real_sessions.texts import Text
from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.session.session import Session
from fim_lsp.suggest.request import Requester, Suggestion


class Screen:
    """The ghost text: what stands *before* it in the block, since when. State: as in `accepting.Screen`."""

    def __init__(self) -> None:
        self.before = self.text = ""
        self.since = 0.0
        self._left = ("", 0.0, 0.0)
        self._alarm: asyncio.Future[None] | None = None

    @property
    def claim(self) -> str:
        """What is said to stand in the text in the end."""
        return self.before + self.text

    def draw(self, now: float, before: str, text: str) -> None:
        """Show *text*, "" for none."""
        if not self.text or before + text != self.claim:
            if now - self.since > BLINK_S:
                self._left = (self.claim if self.text else "", self.since, now)
            claim, since, until = self._left
            is_back = text and before + text == claim and now - until < BLINK_S
            self.since = since if is_back else now
        self.before = before
        self.text = text
        self._wake()

    async def wait(self, seconds: float) -> None:
        """Wait so long, or until something else is shown."""
        loop = asyncio.get_running_loop()
        self._alarm = loop.create_future()
        alarm = loop.call_later(seconds, self._wake)
        try:
            await self._alarm
        finally:
            alarm.cancel()

    def _wake(self) -> None:
        if self._alarm is not None and not self._alarm.done():
            self._alarm.set_result(None)


class Editor:
    """
    Neovim with our plugin, as far as a typist sees it (`editors/nvim/lua/fim/ghost.lua`). *at* is how much of the block
    stands there.
    """

    def __init__(self, session: Session, text: Text, uri: str) -> None:
        self.screen = Screen()
        self.at = 0
        self._session = session
        self._uri = uri
        self._block = text.block
        self._places = [*_places(text.block, text.session.start)]
        self._version = 1
        self._item: tuple[int, Suggestion] | None = None  # with its place in the block
        self._pending: asyncio.Task[None] | None = None
        self._time = asyncio.get_running_loop().time

    def press(self, n: int) -> None:
        """Type the next *n* characters, which come together."""
        self._insert(self._block[self.at : self.at + n])
        self.moved()

    def accept(self, part: str) -> None:
        """Take a beginning of what is shown."""
        assert self._item is not None
        begin, item = self._item
        self._insert(part)
        if self._rest():
            self._session.handle(events.PartlyAccepted(item.id, self.at - begin))
        else:
            self._session.handle(events.Accepted(item.id))
        self.moved()

    def moved(self) -> None:
        """The text or the cursor changed: what is shown gets shorter, or goes and the server is asked."""
        if self._rest():
            self._draw()
            return
        self._cancel()
        self._item = None
        self._draw()
        self._pending = asyncio.get_running_loop().create_task(self._ask())

    def close(self) -> None:
        """Wait for nothing any more."""
        self._cancel()

    def _insert(self, text: str) -> None:
        here = self._places[self.at]
        self._version += 1
        self._session.handle(events.Changed(self._uri, self._version, (Edit(here, here, text),)))
        self.at += len(text)

    def _cancel(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    async def _ask(self) -> None:
        task = asyncio.current_task()
        asked = self.at

        def grow(suggestion: Suggestion) -> None:
            if task is self._pending and self._rest_of(asked, suggestion):
                self._take(asked, suggestion)

        client = Requester(on_progress=grow)
        answer = await self._session.complete(
            self._uri, self._places[asked], invoked=False, client=client
        )
        if task is self._pending:
            self._pending = None
            self._take(asked, answer.suggestions[0] if answer.suggestions else None)

    def _take(self, asked: int, suggestion: Suggestion | None) -> None:
        """Show what was answered, if it fits what was typed since."""
        self._item = suggestion and (asked, suggestion)
        if suggestion and not self._rest():
            self._item = None
        self._draw()
        if self._item and suggestion:
            self._session.handle(events.Shown(suggestion.id))

    def _rest(self) -> str:
        return self._rest_of(*self._item) if self._item else ""

    def _rest_of(self, begin: int, suggestion: Suggestion) -> str:
        """Return what is left of a suggestion at the cursor, "" where it does not fit."""
        typed = self._block[begin : self.at]
        return suggestion.text[len(typed) :] if suggestion.text.startswith(typed) else ""

    def _draw(self) -> None:
        self.screen.draw(self._time(), self._block[: self.at], self._rest())


def _places(block: str, start: int) -> Iterator[Position]:
    """Yield the position of each place of *block*, whose first line is *start*, and of its end."""
    line = start
    column = 0
    for char in block:
        yield Position(line, column)
        line, column = (line + 1, 0) if char == "\n" else (line, column + 1)
    yield Position(line, column)
