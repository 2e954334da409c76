"""Another request beside one that brings no text: when it is sent, and which of both answers. On a virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

import pytest

from server_bridge.openai import beside
from server_bridge.protocol import BackendUnavailable
from tests.clock import on_clock

pytestmark = pytest.mark.promise("answers-are-bounded")

NOTHING = {"choices": [{"text": ""}]}
USAGE: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 1}}


def text(said: str) -> dict[str, Any]:
    return {"choices": [{"text": said}]}


class Server:
    """A server whose requests answer as they are told: the seconds to wait, and the event behind them."""

    url = "http://server"

    def __init__(self, *answers: list[tuple[float, dict[str, Any]]]) -> None:
        self.answers = list(answers)
        self.sent: list[float] = []  # when each request was
        self.n_open = 0

    def another(self) -> Server:
        return self

    async def stream(self, *_: object) -> AsyncIterator[dict[str, Any]]:
        self.sent.append(asyncio.get_running_loop().time())
        self.n_open += 1
        try:
            for wait_s, event in self.answers.pop(0):
                await asyncio.sleep(wait_s)
                yield event
        finally:
            self.n_open -= 1

    async def aclose(self) -> None:
        """Close its connection."""


SILENT = [(0.0, NOTHING), (1000.0, text("late"))]


@pytest.mark.parametrize(
    ("answers", "sent", "events"),
    [
        # one that writes in time, though it takes its time afterwards, has none beside it
        ([[(0, NOTHING), (4, text("a")), (60, text("b"))]], [0], [NOTHING, text("a"), text("b")]),
        ([[(0, NOTHING), (4, USAGE)]], [0], [NOTHING, USAGE]),
        # the further one answers, from its first text to its end
        (
            [SILENT, [(0, NOTHING), (1, text("c")), (0, USAGE), (0, text("d"))]],
            [0, 5],
            [NOTHING, text("c"), USAGE, text("d")],
        ),
        # a pause in place of each that brings nothing, the last one again and again
        ([SILENT] * 6 + [[(0, text("e"))]], [0, 5, 15, 35, 75, 115, 155], [NOTHING, text("e")]),
        # one that ends without a text counts as a failure: the next comes after its pause
        ([SILENT, [(0, NOTHING)], [(0, text("f"))]], [0, 5, 15], [NOTHING, text("f")]),
    ],
)
@on_clock
async def test_the_first_text_ends_the_wait(
    answers: list[list[tuple[float, dict[str, Any]]]], sent: list[float], events: list[object]
) -> None:
    """The server has two requests until then, one while that is read, and none in the end."""
    server = Server(*answers)
    http: Any = server
    first: Any = server.stream()
    read = list[dict[str, Any]]()
    async with aclosing(beside.first_to_write(first, http, "", b"")) as written:
        async for event in written:
            read.append(event)
            assert server.n_open <= (1 if any(map(beside._writes, read)) else 2)
    assert (server.sent, read, server.n_open) == (sent, events, 0)


@pytest.mark.parametrize("at_s", [1.0, 5.5, 20.0])
@on_clock
async def test_a_reader_that_leaves_ends_both(at_s: float) -> None:
    """Whatever is under way: a user types on, and the server is to work for nothing that is left."""
    server = Server(*[SILENT] * 3)
    http: Any = server
    first: Any = server.stream()
    with suppress(TimeoutError):
        async with asyncio.timeout(at_s):
            async with aclosing(beside.first_to_write(first, http, "", b"")) as written:
                async for event in written:
                    assert event == NOTHING
    assert server.n_open == 0


@on_clock
async def test_a_server_that_was_not_heard_lately_has_longer() -> None:
    """It may load its model: the first pause is the second of the others."""
    asked: list[float] = []

    async def ask() -> str:
        asked.append(asyncio.get_running_loop().time())
        if len(asked) < 3:
            raise BackendUnavailable("busy")
        return "loaded"

    assert await beside.ask_further(ask, "", soon=False) == "loaded"
    assert asked == [10, 30, 70]


@pytest.mark.parametrize(
    ("event", "writes"),
    [
        (text("x"), True), ({"choices": [{"delta": {"content": "x"}}]}, True),
        ({"choices": [{"delta": {"reasoning": "x"}}]}, True),
        ({"choices": [{"delta": {"reasoning_content": "x"}}]}, True),
        ({"choices": [{"delta": {"role": "assistant"}}]}, False),
        (NOTHING, False), (USAGE, False), ({}, False), ({"choices": None}, False),
    ],
)  # fmt: skip
def test_text_and_thoughts_are_written(event: dict[str, Any], *, writes: bool) -> None:
    """A server that tells a role, or a cost, has written nothing yet."""
    assert beside._writes(event) is writes
