"""The port of an editor's session, as it opens and closes."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fim_lsp.http_server.local_port import LocalPort
from fim_lsp.lsp.local_page import LocalPage, Port
from fim_lsp.session.session import Session
from server_bridge.machine.private_files import find_announced
from tests.typist import faked


async def test_a_port_that_opens_while_the_session_ends_is_closed(tmp_path: Path) -> None:
    """Nothing says any more where it was, and none is opened afterwards."""
    page, session = LocalPage(), faked()
    begins, may_open = asyncio.Event(), asyncio.Event()

    async def open_port(session: Session, port: int, root: str) -> Port:
        begins.set()
        await may_open.wait()
        opened = LocalPort(session, root)
        await opened.open(tmp_path, port)
        return opened.page_url, opened.aclose

    page.open_port = open_port
    opening = asyncio.create_task(page.url(session, ()))
    await begins.wait()
    closing = asyncio.create_task(page.aclose())
    await asyncio.sleep(0)
    may_open.set()
    await asyncio.gather(opening, closing)
    afterwards = await page.url(session, ())
    await session.aclose()
    assert afterwards == ""
    assert not page.is_open
    assert find_announced(tmp_path) == []
