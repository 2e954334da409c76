"""How much of an edit by instruction is sent to the editor while the model writes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp.lsp.edits import Preview
from fim_lsp.lsp.messages import Messages
from fim_lsp.lsp.rpc import PER_S, types

pytestmark = pytest.mark.promise("answers-are-bounded")

LINES = [f"    price_{number} = total(cart, {number})" for number in range(400)]


class Client:
    """What was sent, and what a client makes of it."""

    def __init__(self) -> None:
        self.n_sent = 0
        self.n_chars = 0
        self.lines = list[str]()

    def take(self, first: int, lines: Sequence[str]) -> None:
        self.n_sent += 1
        self.n_chars += sum(map(len, lines))
        self.lines[first:] = lines


def ticks(per_s: int) -> Iterator[float]:
    """Return the time at each piece of a server that writes so many in a second."""
    return (number / per_s for number in range(1_000_000))


@pytest.mark.promise("edits-can-be-undone")
def test_each_line_is_sent_once_and_not_more_often_than_can_be_drawn() -> None:
    """A fast server that writes 400 lines in 6,400 pieces: 221 MB were sent of such an answer."""
    client = Client()
    n_pieces = 6400
    times = ticks(3200)
    preview = Preview(client.take, lambda: next(times))
    for number in range(n_pieces):
        preview.show(LINES[: 400 * number // n_pieces])
    assert client.n_sent <= PER_S * n_pieces / 3200 + 1
    assert client.n_chars <= sum(map(len, LINES))
    assert client.lines == LINES[: len(client.lines)]


@given(st.lists(st.lists(st.sampled_from("abc"), max_size=5), max_size=9))
def test_the_client_can_follow(texts: list[list[str]]) -> None:
    """Whatever becomes of lines that it has."""
    client = Client()
    times = ticks(1)
    preview = Preview(client.take, lambda: next(times))
    for lines in texts:
        preview.show(lines)
        assert client.lines == lines


def messages_of(**given: object) -> Messages:
    """Return the messages to a client with progress."""
    nothing = lambda *_: None  # noqa: E731
    progress = SimpleNamespace(**{"tokens": {}, "begin": nothing, "end": nothing, **given})
    later = asyncio.ensure_future
    server: Any = SimpleNamespace(offers=nothing, work_done_progress=progress, later=later)
    return Messages(server)


async def test_the_progress_of_a_text_is_told_as_seldom() -> None:
    """In words; the button to cancel is looked at each time, and the end is told, too."""
    told: list[types.WorkDoneProgressReport] = []
    ended: list[str] = []
    messages = messages_of(
        report=lambda _, report: told.append(report), end=lambda token, _: ended.append(token)
    )
    with messages.working("Editing", "token") as on_progress:
        await asyncio.sleep(0)
        assert all(on_progress(Messages.count_lines(n_lines)) for n_lines in range(1000))
        for _ in range(2):
            await asyncio.sleep(0)
    assert len(told) <= 2
    assert told[0].message == "reading the file"
    for _ in range(2):
        await asyncio.sleep(0)
    assert ended == ["token"]


async def test_a_client_may_use_a_token_again() -> None:
    """A work that the user cancelled says nothing of the next one with its token."""
    tokens: dict[str, Future[None]] = {}
    begin = lambda token, _: tokens.setdefault(token, Future())  # noqa: E731
    messages = messages_of(tokens=tokens, begin=begin)
    goes_on = list[bool]()
    for cancels in (True, False):
        with messages.working("Editing", "token") as on_progress:
            await asyncio.sleep(0)
            goes_on.append(on_progress(""))
            if cancels:
                tokens["token"].cancel()
                goes_on.append(on_progress(""))
        await asyncio.sleep(0)
    assert goes_on == [True, False, True]
