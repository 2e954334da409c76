"""JupyterLab with jupyterlab-lsp, set up as docs/editors/jupyterlab.md says."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.editors import codemirror, programs
from tests.editors.browser import wait_until_up
from tests.editors.meant import LEADS
from tests.editors.menus import Page
from tests.editors.test_docs import blocks
from tests.llama_server import free_port

IS_THERE = codemirror.IS_THERE and (programs.JUPYTER / "done").exists()
CELL = ".jp-Notebook .jp-Cell .cm-content"
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


class Notebook(Page):
    """A notebook of one cell."""

    LINE = f"{CELL} .cm-line"
    ITEM = ".jp-Completer:not(.lm-mod-hidden):not(.jp-mod-outofview) .jp-Completer-item"
    ACTIVE = ".jp-mod-active"

    def __init__(self, home: Path, address: str) -> None:
        super().__init__(home, address)
        self.wait_until(lambda: self("exists", CELL), "the cell")
        self.wait_for("Fully initialized")
        self("click", CELL)


@contextmanager
def opened(home: Path) -> Iterator[Notebook]:
    """Start JupyterLab, and open a notebook."""
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
        with closing(Notebook(home, address)) as page:
            yield page
    finally:
        server.terminate()
        programs.finish(server, 10)
