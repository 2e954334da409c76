"""CodeMirror with its client of LSP, set up as docs/editors/codemirror.md says: what is inserted is what was meant."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.browser import Browser, wait_until_up
from tests.editors.conftest import furnish
from tests.editors.meant import LEADS, ROWS, Row, write_all
from tests.editors.menus import choose
from tests.editors.programs import CHROMIUM_NODE
from tests.editors.test_docs import blocks
from tests.llama_server import free_port

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(
        CHROMIUM_NODE is None or not (programs.PAGES / "done").exists(),
        reason="no CodeMirror: run scripts/install-editors",
    ),
]
LINE, ITEM = ".cm-line", ".cm-tooltip-autocomplete li"


class CodeMirror(Browser):
    """The page, with the text of the rows."""

    def __init__(self, home: Path, port: int) -> None:
        assert CHROMIUM_NODE is not None
        address = f"http://127.0.0.1:{port}/"
        super().__init__(address, CHROMIUM_NODE, programs.PAGES, programs.environment(home))
        self.wait_until(lambda: self("exists", ".cm-content"), "the editor")
        self("click", ".cm-content")
        self("paste", LEADS)

    def go_to(self, line: int) -> None:
        self("press", "Control+Home")
        for _ in range(line):
            self("press", "ArrowDown")
        self("press", "End")

    def type(self, text: str) -> None:
        self("type", text)

    def accept(self, row: Row) -> None:
        choose(self, row, ITEM, "[aria-selected]")

    def text(self) -> str:
        lines = self("texts", LINE)
        assert isinstance(lines, list)
        return "\n".join(lines)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, meant_settings: str) -> dict[str, str]:
    """Return what CodeMirror has in the place of each row."""
    home = tmp_path_factory.mktemp("home")
    furnish(home, meant_settings)
    project = home / "shop"
    project.mkdir()
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
        with closing(CodeMirror(home, port)) as editor:
            return write_all(editor)
    finally:
        bridge.terminate()
        programs.finish(bridge, 10)


@pytest.mark.parametrize("name", ROWS)
def test_what_is_inserted_is_what_was_meant(name: str, written: dict[str, str]) -> None:
    """A word, a line, a block, over a bracket that was closed behind the cursor, with dollars, and with tabs."""
    assert written[name] == ROWS[name].meant
