"""A commit message in real editors: git waits in Neovim, the source control view of VS Code is asked by its button."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import furnish
from tests.editors.neovim import Neovim
from tests.editors.test_vscode import VSIX, needs_workbench
from tests.editors.vscode import Workbench
from tests.workspace.git_repos import commit_message

pytestmark = pytest.mark.editors

INIT = """\
vim.g.fim = { keys = { accept = '<Tab>' } }
vim.o.swapfile = false
vim.o.statusline = "%f %{v:lua.require'fim'.status()}"
vim.lsp.enable('fim')
"""
COMMENT = "# Please enter the commit message for your changes."


@pytest.fixture
def message(tmp_path: Path) -> Path:
    """Return that of a change of a little Python, which is all that the bundled model knows."""
    return commit_message(tmp_path / "stack", f"\n{COMMENT}\n")


@pytest.mark.skipif(
    not programs.program("nvim").exists(), reason="no Neovim: run scripts/install-editors"
)
def test_neovim(home: Path, message: Path) -> None:
    """Ghost text on the empty line in insert mode; `:Fim commit` inserts the same, and one undo takes it back."""
    with closing(Neovim(home, message.parents[1], INIT)) as editor:
        editor.edit(message)
        editor.send("i")
        current = "(require('fim.ghost').current(vim.api.nvim_get_current_buf()) or {}).text or ''"
        editor.wait_until(lambda: editor.lua(current), "ghost text")
        text = editor.lua(current)
        editor.send("\t")
        editor.wait_until(lambda: editor.buffer == f"{text}\n{COMMENT}", "the text")
        editor.send("\x1bu")
        editor.wait_until(lambda: editor.buffer == f"\n{COMMENT}", "the undo")
        editor.send(":Fim commit\r")
        editor.wait_until(lambda: editor.buffer == f"{text}\n{COMMENT}", "the text again")


@pytest.mark.skipif(
    not programs.program("nvim").exists(), reason="no Neovim: run scripts/install-editors"
)
def test_a_sign_that_it_comes(tmp_path: Path, message: Path) -> None:
    """While the model loads, here for ever, a message says so; the sign stands in the first line."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        furnish(tmp_path, f'[backend]\nkind = "llama-server"\nurl = "{url}"\n')
        with closing(Neovim(tmp_path, message.parents[1], INIT)) as editor:
            editor.send(f":edit {message}\r")
            attached = "#vim.lsp.get_clients({name='fim', bufnr=0, _uninitialized=false}) > 0"
            editor.wait_until(lambda: editor.lua(attached), "the server attached")
            editor.send(":Fim commit\r")
            editor.wait_for("the model is loading")
            editor.wait_for("fim …")


@needs_workbench
def test_the_button_in_vscode(home: Path, message: Path) -> None:
    """It fills the box of the source control view, behind what is typed there."""
    with closing(Workbench(home, message.parents[1] / "stack.py", {}, VSIX)) as workbench:
        workbench.wait_for("class Stack")
        workbench.wait_until_ready()
        workbench("press", "Control+Shift+g")
        box = ".scm-editor .view-lines"
        workbench.wait_until(lambda: workbench("exists", box), "the box")
        workbench("click", box)
        workbench("type", "def pee")
        button = "[aria-label*='Write a Commit Message']"
        workbench.wait_until(lambda: workbench("exists", button), "the button")
        workbench("click", button)
        workbench.wait_until(lambda: str(workbench("text")).count("def peek") > 1, "the text")


@needs_workbench
def test_a_message_that_vscode_opens(home: Path, message: Path) -> None:
    """Ghost text is there without a key; Tab makes it text."""
    with closing(Workbench(home, message, {}, VSIX)) as workbench:
        workbench.wait_until(lambda: workbench("ghost"), "ghost text")
        text = str(workbench("ghost"))
        workbench("click", ".editor-instance .view-lines .view-line")
        workbench("press", "Tab")
        assert workbench.saved() == f"{text}\n{COMMENT}\n"
