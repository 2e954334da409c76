"""JupyterLab with jupyterlab-lsp, set up as docs/editors/jupyterlab.md says: what is inserted is what was meant."""

from __future__ import annotations

import json
import subprocess
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

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
        CHROMIUM_NODE is None
        or not (programs.PAGES / "done").exists()
        or not (programs.JUPYTER / "done").exists(),
        reason="no JupyterLab, or no browser: run scripts/install-editors",
    ),
]
CELL = ".jp-Notebook .jp-Cell .cm-content"
LINE = f"{CELL} .cm-line"
ITEM = ".jp-Completer:not(.lm-mod-hidden):not(.jp-mod-outofview) .jp-Completer-item"
NOTEBOOK = {
    "cells": [
        {
            "cell_type": "code", "execution_count": None, "id": "rows", "metadata": {}, "outputs": [],
            "source": LEADS,
        }
    ],
    "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
    "nbformat": 4, "nbformat_minor": 5,
}  # fmt: skip
FILES = (
    ".jupyter/jupyter_server_config.d/fim-lsp.json",
    ".jupyter/lab/user-settings/@jupyterlab/completer-extension/manager.jupyterlab-settings",
    ".jupyter/lab/user-settings/@jupyter-lsp/jupyterlab-lsp/completion.jupyterlab-settings",
)  # that the page's blocks are written to


class Notebook(Browser):
    """A notebook of one cell, with the text of the rows."""

    def __init__(self, home: Path, address: str) -> None:
        assert CHROMIUM_NODE is not None
        super().__init__(address, CHROMIUM_NODE, programs.PAGES, programs.environment(home))
        self.wait_until(lambda: self("exists", CELL), "the cell")
        self.wait_for("Fully initialized")
        self("click", CELL)

    def go_to(self, line: int) -> None:
        self("press", "Control+Home")
        for _ in range(line):
            self("press", "ArrowDown")
        self("press", "End")

    def type(self, text: str) -> None:
        self("type", text)

    def accept(self, row: Row) -> None:
        choose(self, row, ITEM, ".jp-mod-active")

    def text(self) -> str:
        lines = self("texts", LINE)
        assert isinstance(lines, list)
        return "\n".join(lines)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, meant_settings: str) -> dict[str, str]:
    """Return what the cell has in the place of each row."""
    home = tmp_path_factory.mktemp("home")
    furnish(home, meant_settings)
    (home / "shop").mkdir()
    (home / "shop/rows.ipynb").write_text(json.dumps(NOTEBOOK))
    for name, block in zip(FILES, blocks("jupyterlab", "json"), strict=True):
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block)
    port = free_port()
    with (home / "jupyter.log").open("wb") as log:
        server = subprocess.Popen(
            [
                programs.JUPYTER / "bin/jupyter-lab", "--no-browser", f"--ServerApp.port={port}",
                "--ServerApp.port_retries=0", "--IdentityProvider.token=meant", "--allow-root",
            ],
            cwd=home / "shop", env=programs.environment(home), stdout=log, stderr=log,
        )  # fmt: skip
    try:
        wait_until_up(f"http://127.0.0.1:{port}/api?token=meant")
        address = f"http://127.0.0.1:{port}/lab/tree/{quote('rows.ipynb')}?token=meant"
        with closing(Notebook(home, address)) as editor:
            return write_all(editor)
    finally:
        server.terminate()
        programs.finish(server, 10)


@pytest.mark.parametrize("name", ROWS)
def test_what_is_inserted_is_what_was_meant(name: str, written: dict[str, str]) -> None:
    """A word, a line, a block, over a bracket that was closed behind the cursor, with dollars, and with tabs."""
    assert written[name] == ROWS[name].meant
