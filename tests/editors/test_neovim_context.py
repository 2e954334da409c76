"""In a real Neovim: what another language server of the buffer knows reaches the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.neovim import Neovim

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(
        not programs.program("nvim").exists(), reason="no Neovim: run scripts/install-editors"
    ),
]

# A language server within Neovim: it knows where two names are defined, counts what it is asked, and never answers
# for a third.
INIT = """\
vim.o.swapfile = false
_G.asked = {{}}
local function answer(method, params)
  local line = vim.api.nvim_buf_get_lines(0, params.position.line, params.position.line + 1, false)[1]
  local word = line:sub(params.position.character + 1):match('^[%w_]+')
  table.insert(_G.asked, method .. ' ' .. word)
  if method:match('hover$') then
    return {{ contents = {{ kind = 'markdown', value = '```python\\n(function) def ' .. word .. '(fare: int) -> Hovered\\n```' }} }}
  end
  local path = ({{ freight_of = '{project}/ship.py', toll_of = '{installed}' }})[word]
  local at = {{ line = 2, character = 4 }}
  return path and {{ {{ uri = vim.uri_from_fname(path), range = {{ start = at, ['end'] = at }} }} }} or vim.NIL
end
local function server(dispatchers)
  local closing, n = false, 0
  return {{
    request = function(method, params, callback)
      n = n + 1
      if method == 'initialize' then
        callback(nil, {{ capabilities = {{ definitionProvider = true, hoverProvider = true }} }})
      elseif method == 'shutdown' then
        callback(nil, vim.NIL)
      elseif method:match('^textDocument/') then
        local said = answer(method, params)
        if said ~= nil then vim.schedule(function() callback(nil, said) end) end
      end
      return true, n
    end,
    notify = function(method) if method == 'exit' then closing = true; dispatchers.on_exit(0, 0) end return true end,
    is_closing = function() return closing end,
    terminate = function() closing = true end,
  }}
end
vim.lsp.config('other', {{ cmd = server, filetypes = {{ 'python' }}, root_markers = {{ '.git' }} }})
vim.lsp.enable({{ 'fim', 'other' }})
"""
SHIP = '"""Ships."""\n\ndef freight_of(parcel, distance):\n    rate = parcel.weight * distance\n    return rate\n\n\ndef other():\n    pass\n'
MAIN = "from ship import freight_of\nfrom tolls import toll_of\n\nprice = freight_of(parcel)\ntoll = toll_of(price)\n"


@pytest.fixture
def editor(home: Path, project: Path) -> Iterator[Neovim]:
    """Neovim with both servers in a project with a file that is not open, and an installed package."""
    installed = home / "env/site-packages/tolls.py"
    installed.parent.mkdir(parents=True)
    installed.write_text('"""Tolls."""\n\ndef toll_of(fare):\n    return secret_way(fare)\n')
    (project / "ship.py").write_text(SHIP)
    (project / "main.py").write_text(MAIN)
    neovim = Neovim(home, project, INIT.format(project=project, installed=installed))
    yield neovim
    neovim.close()


def test_definitions_signatures_and_errors_reach_the_prompt(editor: Neovim, project: Path) -> None:
    """When the cursor rests, each name once; the page says why; mended errors leave."""
    editor.edit(project / "main.py")
    editor.send("\x1b:4\rw")
    told = "vim.tbl_contains(asked, 'textDocument/definition toll_of')"
    editor.wait_until(lambda: editor.lua(told), "the question")

    def shown() -> str:
        client = "vim.lsp.get_clients({name='fim'})[1]"
        params = "{command='fim.showContext', arguments={vim.uri_from_bufnr(0)}}"
        found = editor.lua(
            f"{client}:request_sync('workspace/executeCommand', {params}, 20000).result"
        )
        return "".join(
            f"{p['why']}\n{p['text']}" for p in found["segments"] if "chunk" in p["part"]
        )

    editor.send("\x1b:buffer main.py\rGo\x1b")
    editor.wait_until(lambda: "def toll_of(fare: int) -> Hovered" in shown(), "the signature")
    text = shown()
    assert "told by another language server" in text
    assert (
        "def freight_of(parcel, distance):\n    rate = parcel.weight * distance\n    return rate\n"
        in text
    )
    assert "secret_way" not in text
    assert (
        editor.lua(
            "#vim.tbl_filter(function(a) return a == 'textDocument/definition toll_of' end, asked)"
        )
        == 1
    )
