"""The page of a local port in a real browser: its pictures, its keyboard, its words; nothing from elsewhere, no markup from files."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.cli.http import advice
from tests.editors import programs
from tests.http_server.clients import served, vim
from tests.typist import embedded

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(
        not (programs.CODE / "done").exists(), reason="scripts/tools/install-editors first"
    ),
    pytest.mark.promise("no-web-page"),
]

MARKUP = "title = '<img src=x onerror=alert(1)><script>alert(2)</script>'\n"
ABOVE = f"import shop\n\n{MARKUP}\n\ndef price(item):\n    return item.cost * 2\n\n\n"
TYPED = "def total(items):\n    return sum(price(item) for item in items)\n"


async def no_page(_: str) -> bool:
    return False


async def looked_at(folder: Path, cache: Path) -> dict[str, Any]:
    """Return what a browser sees after some typing, pictures in `FIM_PICTURES`, or beside."""
    pictures = os.environ.get("FIM_PICTURES") or str(folder)
    session = embedded()
    (folder / "cart.py").write_text(ABOVE)
    advised = partial(advice, session, no_page)
    async with served(session, folder, cache, key="secret", advise=advised) as at_port:
        text = ABOVE
        row = ABOVE.count("\n")
        for n, key in enumerate(TYPED, 1):
            text += key
            row += key == "\n"
            column = len((ABOVE + TYPED[:n]).rpartition("\n")[2])
            await at_port.post("/infill", vim(text, row, column))
        await session.wait_idle()
        script = str(Path(__file__).with_name("page.mjs"))
        process = await asyncio.create_subprocess_exec(
            programs.node(programs.CODE), script, at_port.port.page_url, pictures,
            cwd=programs.CODE, stdout=subprocess.PIPE,
        )  # fmt: skip
        said, _ = await process.communicate()
        seen: dict[str, Any] = json.loads(said)
        return seen


async def test_the_page(tmp_path: Path) -> None:
    """Readable on a screen and a phone, in dark and in light; every part can be opened by keyboard."""
    (tmp_path / "shop").mkdir()
    seen = await looked_at(tmp_path / "shop", tmp_path / "cache")
    assert seen["errors"] == []  # of its policy, too
    assert seen["elsewhere"] == []
    assert seen["hash"] == "", "the token must not stay in the address"
    assert not any(picture["overflows"] for picture in seen["pictures"].values())
    assert seen["opened"]
    assert seen["stays"]
    assert seen["unnamed"] == []
    for words in ("your code stays on this machine", "from the cache", "def price(item)", "frozen"):
        assert words in seen["text"]
    assert MARKUP.strip() in seen["text"], "text of files is shown as it is …"
    assert seen["markup"] == 0, "… and never as markup"
