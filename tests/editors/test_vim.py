"""Vim 9 with coc.nvim, set up as docs/editors/vim.md says: ghost text, accepted with the page's key."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import REST_OF_WORD, SHOP, TYPED, shop_in
from tests.editors.terminal import Terminal
from tests.editors.test_docs import blocks

COC = programs.CACHE / "coc.nvim"  # its release branch, or another one built
VIM = shutil.which("vim")

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(
        VIM is None or not (COC / "build/index.js").exists(),
        reason=f"needs Vim 9, and coc.nvim with its build in {COC}",
    ),
]


def test_ghost_text_with_coc(tmp_path: Path) -> None:
    """The suggestion is shown and not in the text, then it is."""
    file = shop_in(tmp_path)
    [keys], [settings] = blocks("vim", "vim"), blocks("vim", "json")
    folder = tmp_path / ".vim"
    folder.mkdir()
    (tmp_path / ".vimrc").write_text(
        f"set nocompatible noswapfile noautoindent\nset runtimepath^={COC}\n{keys}"
    )
    (folder / "coc-settings.json").write_text(settings)
    assert VIM is not None
    env = programs.environment(tmp_path)
    del env["VIMRUNTIME"]  # Neovim's
    with closing(Terminal([VIM, str(file)], env=env, cwd=file.parent)) as vim:

        def asked() -> bool:  # the page's own check says when the server is there
            vim.send(":CocCommand document.checkInlineCompletion\r")
            vim.settle(1.0)
            return "is supported by languageserver.fim" in vim.text

        vim.wait_for("A little shop")
        vim.wait_until(asked, "the server")
        vim.send("Go" + TYPED.replace("\n", "\r"))
        vim.wait_for(f"for w{REST_OF_WORD}")
        vim.send("\x1b:write\r")
        vim.wait_until(lambda: file.read_text() not in {SHOP, ""}, "the file saved")  # "": half-way
        assert file.read_text() == SHOP + TYPED + "\n"
        vim.send("A\x7f")
        vim.settle()  # coc.nvim sends what has changed after a moment
        vim.send("w")
        vim.wait_for(f"for w{REST_OF_WORD}")
        vim.send("\t")
        vim.settle()
        vim.send("\x1b:write\r")
        vim.wait_until(lambda: f"for w{REST_OF_WORD}" in file.read_text(), "the suggestion kept")
