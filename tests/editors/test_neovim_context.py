"""In a real Neovim: what another language server of the buffer knows reaches the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.neovim import Neovim

pytestmark = programs.needs("nvim")

# A language server within Neovim: it knows where two names are defined, and notes what it is asked.
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
vim.lsp.config('fim', {{ settings = {{ fim = {{ ring = {{ files = false }} }} }} }})
vim.lsp.enable({{ 'fim', 'other' }})
"""
SHIP = (
    '"""Ships."""\n\ndef freight_of(parcel, distance):\n'
    "    rate = parcel.weight * distance\n    return rate\n\n\ndef other():\n    pass\n"
)
MAIN = (
    "from ship import freight_of\nfrom tolls import toll_of\n\n"
    "price = freight_of(parcel)\ntoll = toll_of(price)\n"
)


@pytest.fixture
def editor(home: Path, project: Path) -> Iterator[Neovim]:
    """Neovim with both servers in a project with a file that is not open, and an installed package."""
    installed = home / "env/site-packages/tolls.py"
    installed.parent.mkdir(parents=True, exist_ok=True)
    installed.write_text('"""Tolls."""\n\ndef toll_of(fare):\n    return secret_way(fare)\n')
    (project / "ship.py").write_text(SHIP)
    (project / "main.py").write_text(MAIN)
    neovim = Neovim(home, project, INIT.format(project=project, installed=installed))
    yield neovim
    neovim.close()


def shown(editor: Neovim, project: Path) -> list[dict[str, str]]:
    """Return the parts of the prompt in `main.py`."""
    client = "vim.lsp.get_clients({name='fim'})[1]"
    asked = f"{{command='fim.showContext', arguments={{'{(project / 'main.py').as_uri()}'}}}}"
    call = f"{client}:request_sync('workspace/executeCommand', {asked}, 20000).result"
    parts: list[dict[str, str]] = editor.lua(call)["segments"]
    return parts


def test_a_loaded_file_whose_name_begins_alike_is_another_one(
    editor: Neovim, project: Path
) -> None:
    """What is told of `ship.py` is what that file says."""
    (project / "ship.py-old").write_text("\n\nnot = 'this'\n")
    editor.send(f":call bufload(bufadd('{project}/ship.py-old'))\r")
    editor.edit(project / "main.py")
    editor.send("\x1b:4\rw")
    editor.wait_until(lambda: editor.stats(".ring.chunks") >= 2, "what was told in the ring")
    editor.wait_until(lambda: editor.stats(".tokens.background") > 110, "their evaluation")
    [text] = (p["text"] for p in shown(editor, project) if p["part"] == "chunk of ship.py")
    assert text == "\n".join(SHIP.split("\n")[2:5]) + "\n"


def test_definitions_and_signatures_reach_the_prompt(editor: Neovim, project: Path) -> None:
    """When the cursor rests; each name is asked for once, and the page says why it is there."""
    editor.edit(project / "main.py")
    editor.send("\x1b:4\rw")
    editor.wait_until(lambda: editor.stats(".ring.chunks") == 2, "what was told in the ring")
    # The window has some 50 tokens: first alone, then behind the two chunks.
    editor.wait_until(lambda: editor.stats(".tokens.background") > 110, "their evaluation")
    expected = {
        "chunk of ship.py": "\n".join(SHIP.split("\n")[2:5]) + "\n",
        "chunk of site-packages/tolls.py": "(function) def toll_of(fare: int) -> Hovered\n",
    }
    parts = shown(editor, project)
    assert {p["part"]: p["text"] for p in parts if "chunk" in p["part"]} == expected
    assert "told by another language server" in str(parts)
    questions = editor.lua("_G.asked")
    assert len(questions) == len({*questions})
