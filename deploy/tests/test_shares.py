"""
What one greedy member of six takes from the others, by how many completions nginx lets the member have at once.

Real sessions and a server that batches, on a clock of their own: the shares are counted, and a busy machine changes none.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from deploy.tests.batching import MODEL, Batching, Pace
from fim_lsp.session.session import Session
from server_bridge.failover.endpoint import Endpoint
from server_bridge.failover.endpoints import Endpoints
from server_bridge.openai.backend import OpenAiServer
from server_bridge.protocol import BackendTimeout
from tests import clock
from tests.real_code import LONG, read_code
from tests.typist import QUICK, Typist

SOURCE = read_code(LONG).splitlines(keepends=True)
ABOVE = "".join(SOURCE[:100])
TYPED = "".join(SOURCE[100:103])
KEY_S = 0.2  # between two keys
GREEDY_CHARS = 8000  # some 2,000 tokens, new each time
OTHERS = 5
FIRST_LOOK_S = 3.0  # of the others, before the greedy member begins


class Direct:
    """The stand-in as the `Http` of one *session*, without a socket."""

    url = "http://coder"
    patience_s = 5.0

    def __init__(self, server: Batching, session: str) -> None:
        self._server = server
        self._session = session

    async def get(self, _: str) -> dict[str, Any]:
        return MODEL

    async def stream(self, _: str, body: bytes) -> AsyncGenerator[dict[str, Any], None]:
        asked = json.loads(body)
        async with self._server.working_on(
            self._session, asked["prompt"], asked["max_tokens"]
        ) as job:
            while job.wanted or job.new:
                try:
                    text = await asyncio.wait_for(job.ready.get(), self.patience_s)
                except TimeoutError:
                    raise BackendTimeout(self.url) from None
                yield {"choices": [{"index": 0, "text": text, "finish_reason": None}]}
        yield {"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}

    def another(self) -> Direct:
        """Return another connection of the session: it has no state."""
        return self

    async def aclose(self) -> None:
        """Nothing is open."""


async def typed(server: Batching, n: int) -> int:
    """Type as member *n*; return after how many keys a suggestion stood there."""
    http: Any = Direct(server, f"member {n}")
    backend = OpenAiServer(http, "coder", "qwen", 8192)
    session = Session(QUICK, lambda _: Endpoints([Endpoint(backend)]))
    typist = Typist(session, ABOVE)
    n_shown = 0
    await asyncio.sleep(n * KEY_S / OTHERS)
    await typist.ask()
    await asyncio.sleep(FIRST_LOOK_S)
    for key in TYPED:
        typist.type(key)
        asking = asyncio.create_task(typist.ask())
        await asyncio.sleep(KEY_S)
        if asking.done():
            n_shown += bool(asking.result())
        asking.cancel()
    await session.aclose()
    return n_shown


async def greedy(server: Batching) -> None:
    """Have one completion after the other, with prompts that no cache has."""
    await asyncio.sleep(FIRST_LOOK_S)
    while True:
        prompt = secrets.token_hex(GREEDY_CHARS // 2)
        async with server.working_on("greedy", prompt, 16) as job:
            while job.wanted or job.new:
                await job.ready.get()


async def shown(pace: Pace, n_at_once: int) -> int:
    """Return how many suggestions the others see while the greedy member has so many completions at once."""
    server = Batching(pace, "".join(SOURCE))
    tasks = [asyncio.create_task(server.run())]
    tasks += [asyncio.create_task(greedy(server)) for _ in range(n_at_once)]
    n_shown = sum(await asyncio.gather(*(typed(server, n) for n in range(OTHERS))))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return n_shown


LLAMA, VLLM = Pace(of_one=2048), Pace()  # a prompt may fill a step, or a part of it


@pytest.mark.parametrize(
    ("pace", "n_at_once", "least", "most"),
    [
        (VLLM._replace(per_second=5000), 1, 0.9, 1.0),
        (VLLM._replace(per_second=5000), 2, 0.9, 1.0),  # as many as nginx lets a member have
        (LLAMA._replace(per_second=2000), 1, 0.8, 1.0),
        (LLAMA._replace(per_second=2000), 8, 0.0, 0.5),
    ],
)
def test_one_completion_at_a_time_leaves_the_others_theirs(
    pace: Pace, n_at_once: int, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four fifths at least, of a server that evaluates a greedy prompt in a second; without a limit less than half."""
    alone = clock.run(shown(pace, 0), monkeypatch)
    share = clock.run(shown(pace, n_at_once), monkeypatch) / alone
    assert least <= share <= most, share
