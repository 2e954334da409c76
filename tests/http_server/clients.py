"""Completion clients without an editor: a text and a cursor, and the requests that plugins make of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from fim_lsp import events
from fim_lsp.http_server.local_port import LocalPort
from fim_lsp.http_server.page import Advise
from fim_lsp.session.session import Session


class Served(NamedTuple):
    """A session, its port, and a connection there."""

    session: Session
    port: LocalPort
    client: httpx.AsyncClient

    async def post(self, path: str, body: dict[str, Any], **headers: str) -> Any:
        """Return the JSON that comes back."""
        answer = await self.client.post(path, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()


@asynccontextmanager
async def served(
    session: Session, root: Path, cache: Path, *, key: str = "", advise: Advise | None = None
) -> AsyncIterator[Served]:
    """*session* at a port, with *root* as its project."""
    session.handle(events.FoldersChanged((root.as_uri(),)))
    await session.connection.wait_ready()
    port = LocalPort(session, root.as_uri(), key, advise)
    await port.open(cache)
    headers = {"authorization": f"Bearer {port.key}"} if port.key else {}
    try:
        async with httpx.AsyncClient(
            base_url=port.url, headers=headers, trust_env=False, timeout=30.0
        ) as client:
            yield Served(session, port, client)
    finally:
        await port.aclose()
        await session.aclose()


def vim(
    text: str, row: int, column: int, *, n_prefix: int = 256, n_suffix: int = 64
) -> dict[str, Any]:
    """Return what llama.vim asks with the cursor there; a line of spaces is shown as an empty one."""
    lines = text.split("\n")
    here = lines[row] if lines[row].strip() else ""
    below = lines[row + 1 : row + 1 + n_suffix]
    return {
        "input_prefix": "\n".join(lines[max(0, row - n_prefix) : row]) + "\n",
        "prompt": here[:column],
        "input_suffix": here[column:] + "\n" + "\n".join(below) + "\n",
        "input_extra": [],
        "n_predict": 128,
        "t_max_predict_ms": 250,
        "response_fields": ["content", "timings/prompt_n", "timings/cache_n"],
    }
