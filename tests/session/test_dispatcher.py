"""Requests that meet a text on its way: they join it, wait behind it, or have it stopped."""

from __future__ import annotations

import asyncio

import pytest

from fim_lsp.documents import Position
from server_bridge.protocol import Prompt
from tests.fake_backend import FakeBackend
from tests.session.conftest import OpenSession
from tests.typist import BRIEF, Typist, wait_judged

TYPED = "class Cart:\n    def __init__(self, na"  # the text goes on with `me`


@pytest.fixture
async def typist(open_session: OpenSession, backend: FakeBackend) -> Typist:
    typist = Typist(open_session(BRIEF, backend), TYPED)
    await typist.session.connection.wait_ready()
    await wait_judged(typist.session)
    return typist


async def asked(typist: Typist, backend: FakeBackend) -> asyncio.Task[list[str]]:
    """Ask, and return when the request is with the model, which is held."""
    backend.hold("stream")

    async def texts() -> list[str]:
        return [suggestion.text for suggestion in await typist.ask(invoked=True)]

    task = asyncio.create_task(texts())
    await backend.until_held()
    return task


@pytest.mark.parametrize(("key", "n_requests"), [("m", 1), ("x", 2)])
async def test_a_key_joins_the_text_that_it_begins(
    typist: Typist, backend: FakeBackend, key: str, n_requests: int
) -> None:
    """One that begins another text has a request of its own."""
    first = await asked(typist, backend)
    typist.type(key)
    second = asyncio.create_task(typist.ask(invoked=True))
    await asyncio.sleep(0)
    first.cancel()
    backend.release()
    suggestions = await second
    assert [each.text[:1] for each in suggestions if key == "m"] == ["e"] * (key == "m")
    assert len(backend.seen) == n_requests


@pytest.mark.parametrize(
    ("below", "suggested"),
    [("", "\n        self.value = value"), ("\n        self.value = value", "")],
)
async def test_behind_a_line_that_was_typed_comes_the_next(
    open_session: OpenSession, backend: FakeBackend, below: str, suggested: str
) -> None:
    """Where all that was said is typed, the model is asked, but for a next line that is there."""
    typist = Typist(open_session(BRIEF, backend), f"{TYPED}me):\n        self.name = na{below}")
    typist.cursor = Position(2, len("        self.name = na"))
    for key, shown in (("m", ["me"]), ("e", [])):
        assert [suggestion.text[:2] for suggestion in await typist.ask()] == shown
        typist.type(key)
    texts = [suggestion.text[: len(suggested)] for suggestion in await typist.ask()]
    assert texts == [suggested] * bool(suggested)
    assert len(backend.seen) == 1 + bool(suggested)


NEXT = "\n    return x"


@pytest.mark.parametrize("ahead", [False, True], ids=["along", "ahead of it"])
@pytest.mark.parametrize(("below", "suggested"), [("", NEXT), ("\n    return total", "")])
async def test_behind_a_text_that_was_typed_to_its_end(
    open_session: OpenSession, ahead: bool, below: str, suggested: str
) -> None:
    """The model is asked once more, unless only this line may be suggested there."""

    def says(prompt: Prompt, _: int) -> str:
        typed = (prompt.middle + prompt.forced).rpartition("= ")[2]
        return "all"[len(typed) :] or NEXT

    backend = FakeBackend(says)
    typist = Typist(open_session(BRIEF, backend), f"def f(a):\n    x = {below}")
    await typist.session.connection.wait_ready()
    await wait_judged(typist.session)
    typist.cursor = Position(1, 8)
    if ahead:
        backend.hold("stream")
    first = asyncio.create_task(typist.ask())
    await (backend.until_held() if ahead else first)
    typist.type("all")
    second = asyncio.create_task(typist.ask())
    await asyncio.sleep(0)
    backend.release()
    assert [suggestion.text for suggestion in await second] == [suggested] * bool(suggested)
    await first
    assert len(backend.seen) == 1 + bool(suggested)
