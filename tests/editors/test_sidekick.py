"""
The next edit in sidekick.nvim and copilot-lsp, as they are: they take it for Copilot's.

No package registry has these plugins, so the tests want checkouts of folke/sidekick.nvim and
copilotlsp-nvim/copilot-lsp in the cache folder of tests/editors. What they send is written down in
tests/e2e/test_next_edit.py, which needs neither.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.neovim import Neovim
from tests.editors.test_docs import blocks
from tests.editors.test_next_edit import BOX, CURSOR, ESCAPE, RENAMED, TAB

pytestmark = programs.needs("nvim")

INIT = """
vim.opt.runtimepath:prepend('{plugin}')
vim.o.swapfile, vim.o.autoindent = false, false
vim.cmd('filetype indent off')
{server}
"""
SIDEKICK = """
require('sidekick').setup()
vim.keymap.set('n', '<Tab>', function() require('sidekick').nes_jump_or_apply() end)
"""
# copilot-lsp starts with the client that its own configuration makes; copilot.lua does as here.
COPILOT_LSP = """
require('copilot-lsp.util').set_hl()
vim.api.nvim_create_autocmd('LspAttach', { once = true, callback = function(ev)
  local group = vim.api.nvim_create_augroup('copilotlsp', {})
  require('copilot-lsp.nes').lsp_on_init(vim.lsp.get_client_by_id(ev.data.client_id), group)
end })
vim.keymap.set('n', '<Tab>', function()
  local nes = require('copilot-lsp.nes')
  return nes.walk_cursor_start_edit() or nes.apply_pending_nes() and nes.walk_cursor_end_edit()
end)
"""


class Guest(Neovim):
    """A Neovim in which another plugin shows next edits."""

    client = "fim_copilot"


@contextmanager
def guest(home: Path, project: Path, plugin: str, init: str) -> Iterator[Neovim]:
    folder = programs.CACHE / plugin
    if not folder.exists():
        pytest.skip(f"no {plugin}: a checkout is wanted at {folder}")
    *_, server = blocks("neovim", "lua")
    with closing(Guest(home, project, INIT.format(plugin=folder, server=server) + init)) as neovim:
        yield neovim


def rename_twice(neovim: Neovim, folder: Path) -> None:
    file = folder / "box.py"
    file.write_text(BOX)
    neovim.edit(file)
    for line in (1, 2):
        neovim.send(f":{line}\r0/hight\rcwheight{ESCAPE}")
    neovim.wait_until(lambda: neovim.buffer == RENAMED.rstrip("\n"), "the edits")


def drawn(neovim: Neovim, namespace: str) -> Callable[[], bool]:
    marks = f"vim.api.nvim_get_namespaces()['{namespace}'], 0, -1, {{}}"
    return lambda: bool(neovim.lua(f"#vim.api.nvim_buf_get_extmarks(0, {marks}) > 0"))


def test_sidekick(home: Path, project: Path, tmp_path: Path) -> None:
    """It draws the edit, its key goes there and applies it, and the server counts it; then the next one."""
    with guest(home, project, "sidekick.nvim", SIDEKICK) as neovim:
        rename_twice(neovim, tmp_path)
        neovim.wait_until(drawn(neovim, "sidekick.ui"), "the edit")
        neovim.send(TAB)
        neovim.wait_until(lambda: neovim.lua(CURSOR)[0] == 3, "the cursor there")
        neovim.send(TAB)
        neovim.wait_until(lambda: "area = height * width" in neovim.buffer, "the text")
        neovim.wait_until(lambda: neovim.stats(".nextEdit.taken") == 1, "it counted")
        neovim.wait_until(drawn(neovim, "sidekick.ui"), "the next one")


def test_copilot_lsp(home: Path, project: Path, tmp_path: Path) -> None:
    """The same; it says what it drew, and does not say what was applied: the server sees that."""
    with guest(home, project, "copilot-lsp", COPILOT_LSP) as neovim:
        rename_twice(neovim, tmp_path)
        neovim.wait_until(drawn(neovim, "copilotlsp.nes"), "the edit")
        neovim.wait_until(lambda: neovim.stats(".nextEdit.shown") == 1, "it counted")
        neovim.send(TAB)
        neovim.wait_until(lambda: neovim.lua(CURSOR)[0] == 3, "the cursor there")
        neovim.send(TAB)
        neovim.wait_until(lambda: "area = height * width" in neovim.buffer, "the text")
        neovim.wait_until(lambda: neovim.stats(".nextEdit.taken") == 1, "it counted")
