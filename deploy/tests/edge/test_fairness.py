"""What one greedy member of six takes from the others, behind the real nginx, with a slow server that batches."""

from __future__ import annotations

import argparse
import asyncio
import re
import secrets
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import httpx
import pytest

from deploy.tests.edge.batching import batching
from deploy.tests.edge.nginx import KEYS, MEMBERS, Edge, edge
from fim_lsp.session.session import Session
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.api_key import Key
from tests.typist import QUICK, Typist

SOURCE = Path(argparse.__file__).read_text("utf-8").splitlines(keepends=True)
ABOVE, TYPED = "".join(SOURCE[:100]), "".join(SOURCE[100:103])
KEY_S = 0.2  # between two keys
N_GREEDY = 8  # connections of the greedy member, as many as the server has slots
GREEDY_CHARS = 8000  # some 2,000 tokens, new each time


async def typed(front: Edge, folder: Path, n: int) -> int:
    """Type as member *n*; return after how many keys a suggestion stood there."""
    (folder / f"key{n}").write_text(KEYS[n], "utf-8")
    settings = BackendSettings(
        "openai", front.url, "coder", key=Key(file=f"{folder}/key{n}"), ca_file=front.authority,
        template="qwen", headers=(("X-Session-ID", secrets.token_hex()),), context_tokens=8192,
    )  # fmt: skip
    session = Session(QUICK, lambda _: open_backend(settings))
    typist, n_shown = Typist(session, ABOVE), 0
    await typist.ask()
    asking: asyncio.Task[int] | None = None

    async def ask() -> int:
        return len(await typist.ask())

    for key in TYPED:
        if asking is not None and not asking.done():
            asking.cancel()
        elif asking is not None:
            n_shown += bool(asking.result())
        typist.type(key)
        asking = asyncio.create_task(ask())
        await asyncio.sleep(KEY_S)
    if asking is not None:
        asking.cancel()
    await session.aclose()
    return n_shown


async def greedy(front: Edge) -> None:
    """Ask for ever, from several connections, with prompts that no cache has."""
    headers = {"Authorization": f"Bearer {KEYS[-1]}"}

    async def one() -> None:
        async with httpx.AsyncClient(verify=front.context, headers=headers, timeout=60) as client:
            while True:
                prompt = secrets.token_hex(GREEDY_CHARS // 2)
                body = {"model": "coder", "prompt": prompt, "max_tokens": 16, "stream": True}
                answer = await client.post(f"{front.url}/v1/completions", json=body)
                if answer.status_code == 429:
                    await asyncio.sleep(0.05)

    await asyncio.gather(*(one() for _ in range(N_GREEDY)))


async def measured(front: Edge, folder: Path, *, with_greedy: bool) -> int:
    taking = asyncio.create_task(greedy(front)) if with_greedy else None
    shown = await asyncio.gather(*(typed(front, folder, n) for n in range(len(KEYS) - 1)))
    if taking is not None:
        taking.cancel()
        with suppress(asyncio.CancelledError):
            await taking
    return sum(shown)


@pytest.mark.parametrize("kind", ["vllm"])
async def test_a_greedy_member_leaves_the_others_their_suggestions(
    kind: str, tmp_path: Path
) -> None:
    """Four fifths of them at least; of all who typed, nginx refused none."""
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(batching("".join(SOURCE)))
        front = stack.enter_context(edge(kind, server, tmp_path))
        alone = await measured(front, tmp_path, with_greedy=False)
        beside = await measured(front, tmp_path, with_greedy=True)
    assert beside >= 0.8 * alone
    refused = re.findall(r"member=(\S*) .*status=429", (tmp_path / "access.log").read_text("utf-8"))
    assert {*refused} == {MEMBERS[-1]}
