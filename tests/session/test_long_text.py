"""A text that outgrows the context, on the backend without a model: nothing is lost, and the prompt stays."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.session.edits.long_text import FULL
from fim_lsp.session.session import Session
from server_bridge.protocol import Prompt
from tests.fake_backend import FakeBackend
from tests.typist import QUICK

URI = "untitled:a.py"
WORDS = ("price", "count", "name", "rate", "order", "cart", "till", "shop", "tax", "sum", "day")


def line(n: int) -> str:
    """Return a line like no other."""
    left = WORDS[n % len(WORDS)]
    right = WORDS[n // len(WORDS) % len(WORDS)]
    return f"    {left}_{right}_{n} = {right}.{left}({n})\n"


def count_on(prompt: Prompt, _: int) -> str:
    """Return the lines behind the last one that the prompt shows, from the middle of a line on."""
    shown = prompt.prefix + prompt.middle
    behind = re.findall(r"\((\d+)\)\n", shown)
    first = int(behind[-1]) + 1 if behind else 0
    begun = shown[shown.rfind("\n") + 1 :]
    return "".join(map(line, range(first, first + 300))).removeprefix(begun)


async def write(backend: FakeBackend, n_tokens: int, before: str = "") -> tuple[str, str]:
    """Return the text behind a short file, and the note."""
    config = replace(QUICK, completion=replace(QUICK.completion, long_tokens=n_tokens))
    session = Session(config, lambda _: backend)
    session.handle(events.Opened(URI, "python", 1, f"{before}def total():\n"))
    end = Position(before.count("\n") + 1, 0)
    _, text, note = await session.continue_long(URI, end, lambda _: True)
    await session.aclose()
    return text, note


async def test_no_line_is_lost_and_the_prompt_stays() -> None:
    """Many contexts of text come, and each prompt is the first one with less of the text behind it."""
    backend = FakeBackend(count_on)
    backend.state = replace(backend.state, n_ctx=400)
    text, note = await write(backend, 3000)
    assert note == ""
    n_lines = text.count("\n") + 1
    assert n_lines > 200
    assert text == "".join(map(line, range(n_lines))).rstrip()
    first, *later = [request.prompt for request in backend.seen]
    assert all(prompt.prefix == first.prefix for prompt in later)
    assert sum(prompt.dropped for prompt in later) > len(later) // 2
    assert all(len(prompt.tape) < backend.state.n_ctx for prompt in later)


@pytest.mark.parametrize("n_ctx", [40, 60])
async def test_a_context_without_room_is_named(n_ctx: int) -> None:
    """Where dropping gains next to nothing, what came is kept, and the note says why it ends."""
    backend = FakeBackend(count_on)
    backend.state = replace(backend.state, n_ctx=n_ctx)
    text, note = await write(backend, 3000, "# a line above\n" * 3)
    assert text.startswith(line(0).rstrip())
    assert note == FULL
