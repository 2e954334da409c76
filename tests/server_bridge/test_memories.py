"""
Models whose memory cannot be cut behind any token, on real servers: hybrid, and with sliding windows.

What is typed costs a few tokens, a jump its window, each is foretold, and a restart costs nothing. The first
hybrid one runs always, the others with scripts/test-server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from server_bridge.process.embedded import Embedded
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.protocol import Chunk, Model, Prompt, Request
from tests import architectures
from tests.architectures import RECURRENT, SLIDING
from tests.llama_server import PROGRAM
from tests.real_code import PROSE, read_lines
from tests.server_bridge.prompts import LINES, warm_all
from tests.server_bridge.serving import served

pytestmark = pytest.mark.usefixtures("patient")

server = [pytest.mark.server, pytest.mark.skipif(not PROGRAM, reason="run by scripts/test-server")]
FIRST = (next(iter(RECURRENT)), next(iter(SLIDING)))
EVERY = [
    *(pytest.param(name, False, marks=[] if name == FIRST[0] else server)
      for name in (*RECURRENT, *SLIDING)),
    *(pytest.param(name, True, marks=server) for name in (*RECURRENT, *SLIDING)),
]  # fmt: skip

# They end where a step of the first evaluation ends: a server that is not ours keeps nothing in between.
CHUNKS = tuple(Chunk(f"part{at}.py", read_lines(PROSE, at, at + 64)) for at in range(0, 640, 64))
STEP = 300  # tokens of a step in the background
N_KEYS = 45  # as many make more checkpoints than a server keeps
WINDOW = 40  # lines on each side


@asynccontextmanager
async def embedded(model: Path, folder: Path) -> AsyncIterator[Model]:
    async with aclosing(
        Embedded(EmbeddedSettings(model=str(model), slots_dir=str(folder)))
    ) as backend:
        yield await backend.connect()


def running(name: str, folder: Path, *, outside: bool) -> AbstractAsyncContextManager[Model]:
    model = architectures.write(folder / f"{name}.gguf", name)
    if not outside:
        return embedded(model, folder)
    return served(folder, model=str(model))


def window(at: int) -> Prompt:
    """Return the prompt at a line of a file, behind ten chunks."""
    above = LINES[at - WINDOW : at]
    below = LINES[at : at + WINDOW]
    return Prompt("repo", CHUNKS, "fixtures.py", "".join(above), "".join(below))


async def warm(backend: Model, prompt: Prompt) -> int:
    """Evaluate a prompt, and return the tokens of the longest step."""
    return max(warmed.evaluated for warmed in await warm_all(backend, prompt, STEP))


async def typed(backend: Model, at: Prompt) -> tuple[list[int], int]:
    """Return tokens evaluated at each key of a text that the model never suggests, and wrong predictions."""
    costs = []
    n_wrong = 0
    text = "".join(f"    name_{n} = {n}\n" for n in range(N_KEYS))
    for n in range(N_KEYS):
        request = Request(replace(at, middle=text[: 4 * n]), 6)
        cost = (await backend.complete(request)).timings
        costs.append(cost.prompt_n)
        n_wrong += cost.expected_n not in {None, cost.cache_n}
    return costs, n_wrong


def at_share(values: Sequence[int], share: float) -> int:
    return sorted(values)[int(share * len(values))]


@pytest.mark.parametrize(("name", "outside"), EVERY)
async def test_typing_and_jumps_cost_what_is_new(name: str, *, outside: bool, tmp_path) -> None:
    """A few tokens per key, and the window after a jump, although the server cannot cut its state."""
    async with running(name, tmp_path, outside=outside) as backend:
        first = window(200)
        second = window(1200)
        assert await warm(backend, first) <= 3 * STEP
        costs, n_wrong = await typed(backend, first)
        assert at_share(costs, 0.5) <= (9 if name in RECURRENT else 4)
        measure = await backend.measure(second)
        cost = (await backend.complete(Request(second, 1))).timings
        assert cost.prompt_n <= measure.prefix + measure.suffix + 32
        assert await warm(backend, second) <= 3 * STEP
        more, n_wrong_then = await typed(backend, second)
        assert at_share(more, 0.5) <= at_share(costs, 0.5)
        # What can be cut is read from the file, or seen at the first requests, by two signs.
        assert n_wrong + n_wrong_then <= (3 if outside else 0)
        expected = "recurrent" if name in RECURRENT else "plain"
        assert backend.state.memory == expected
        assert not backend.state.cache_problem


@pytest.mark.parametrize("name", [FIRST[0], pytest.param(FIRST[1], marks=server)])
async def test_a_restored_state_is_believed(name: str, tmp_path: Path) -> None:
    """Although the tokens behind its last checkpoint are evaluated again."""
    at = window(200)
    async with running(name, tmp_path, outside=False) as backend:
        await warm(backend, at)
        for middle in ("", "    x = 1\n"):
            assert await backend.save(replace(at, middle=middle))
    async with embedded(tmp_path / f"{name}.gguf", tmp_path) as backend:
        measure = await backend.measure(at)
        assert await backend.restore(at) > measure.total - 16
        cost = (await backend.complete(Request(at, 1))).timings
        assert cost.prompt_n <= 10
        # Of a window a file has the end only: whether a cut leaves enough of it is not sure.
        assert cost.expected_n in ({None, cost.cache_n} if name == "gemma3" else {cost.cache_n})
