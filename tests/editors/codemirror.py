"""CodeMirror with its client of LSP, set up as docs/editors/codemirror.md says."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.editors import programs
from tests.editors.browser import wait_until_up
from tests.editors.meant import LEADS
from tests.editors.menus import Page
from tests.editors.programs import CHROMIUM_NODE
from tests.editors.test_docs import blocks
from tests.llama_server import free_port

IS_THERE = CHROMIUM_NODE is not None and (programs.PAGES / "done").exists()


class CodeMirror(Page):
    LINE = ".cm-line"
    ITEM = ".cm-tooltip-autocomplete li"
    ACTIVE = "[aria-selected]"

    def __init__(self, home: Path, address: str) -> None:
        super().__init__(home, address)
        self.wait_until(lambda: self("exists", ".cm-content"), "the editor")
        self("click", ".cm-content")
        self("paste", LEADS)


@contextmanager
def opened(home: Path) -> Iterator[CodeMirror]:
    """Serve the page, with the bridge to the server, and open it."""
    project = home / "shop"
    folder = home / "page"
    folder.mkdir()
    (folder / "node_modules").symlink_to(programs.PAGES / "node_modules")
    port = free_port()
    for name, block in zip(("page.js", "bridge.mjs"), blocks("codemirror", "js"), strict=True):
        text = block.replace("/home/me/shop", str(project)).replace("8100", str(port))
        (folder / name).write_text(text)
    assert CHROMIUM_NODE is not None
    bridge = subprocess.Popen(
        [CHROMIUM_NODE, "bridge.mjs"], cwd=folder, env=programs.environment(home)
    )
    try:
        wait_until_up(f"http://127.0.0.1:{port}/")
        with closing(CodeMirror(home, f"http://127.0.0.1:{port}/")) as page:
            yield page
    finally:
        bridge.terminate()
        programs.finish(bridge, 10)
