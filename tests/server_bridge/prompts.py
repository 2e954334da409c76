"""Prompts for the tests: typing real code into real code."""

from __future__ import annotations

from collections.abc import Iterator

from fim_lsp.prompt.half_words import heal
from server_bridge.protocol import Chunk, Model, Prompt, Warmed
from tests.real_code import LONG, MIDDLING, read_code, read_lines

LINES = read_code(LONG).splitlines(keepends=True)
TYPED = read_lines(MIDDLING, 620, 635)


def prompt(middle: str = "", forced: str = "", at: int = 500) -> Prompt:
    """Return a gap at a line of a long file, with one other file for context."""
    chunks = (Chunk("lib/first.py", "".join(LINES[:40])),)
    prefix = "".join(LINES[at - 60 : at])
    suffix = "".join(LINES[at : at + 20])
    return Prompt("demo", chunks, "app/main.py", prefix, suffix, middle, (), forced)


def short(middle: str = "") -> Prompt:
    """Return a gap with little around it, for tests that evaluate little."""
    return Prompt("demo", (), "app/main.py", "".join(LINES[492:500]), LINES[500], middle)


def keystrokes(every: int = 3) -> Iterator[tuple[str, str]]:
    """Yield the whole words typed and the half word after them, every few characters."""
    for end in range(every, len(TYPED), every):
        yield heal(TYPED[:end])


async def warm_all(model: Model, prompt: Prompt, step: int) -> list[Warmed]:
    """Return the outcomes of a loop over `left`; fails where it would not end, see `Model.warm`."""
    outcomes = [await model.warm(prompt, step)]
    while outcomes[-1].left:
        assert outcomes[-1].evaluated > 0, outcomes
        outcomes.append(await model.warm(prompt, step))
        assert len(outcomes) <= 1000
    return outcomes
