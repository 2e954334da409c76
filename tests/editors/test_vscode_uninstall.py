"""The extension is removed from a real VS Code: what it installed goes, and what that kept."""

from __future__ import annotations

import subprocess
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.browser import TIMEOUT_S
from tests.editors.test_vscode import VSIX, needs_workbench
from tests.llama_server import free_port

pytestmark = pytest.mark.editors
ID = "fim-lsp.fim-lsp"


@needs_workbench
def test_nothing_is_left_but_models_and_settings(tmp_path: Path) -> None:
    """At VS Code's next start its own server is asked to forget, and VS Code deletes that server."""
    home = tmp_path / "home"
    (home / "data").mkdir(parents=True)
    (home / "config.yaml").touch()
    node = programs.node(programs.CODE)
    code = programs.CODE / "node_modules/code-server"
    folders = [
        f"--{name}-dir={home / at}" for name, at in (("user-data", "data"), ("extensions", "all"))
    ]
    command = [
        str(node), str(code / "out/node/entry.js"), *folders, f"--config={home / 'config.yaml'}",
    ]  # fmt: skip
    environment = programs.environment(home)

    def run(*arguments: str) -> None:
        subprocess.run([*command, *arguments], env=environment, check=True, capture_output=True)

    run("--install-extension", str(VSIX))
    program = home / f"data/User/globalStorage/{ID}/server-0/bin/fim-lsp"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "$@" >{home}/asked\n')
    program.chmod(0o755)
    [installed] = (home / "all").glob(f"{ID}-*")
    (installed / "dist/program").write_text(str(program))
    run("--uninstall-extension", ID)
    assert program.exists()
    address = f"127.0.0.1:{free_port()}"
    with subprocess.Popen(
        [*command, "--auth=none", f"--bind-addr={address}"], env=environment
    ) as server:
        try:
            deadline = time.monotonic() + TIMEOUT_S
            while program.parents[2].exists() or installed.exists():
                assert time.monotonic() < deadline
                with suppress(OSError):
                    urllib.request.urlopen(f"http://{address}/", timeout=5).close()
                time.sleep(0.5)
        finally:
            server.terminate()
    assert (home / "asked").read_text() == "forget\n"
