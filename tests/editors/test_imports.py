"""The import of a name that was just used, in a real Neovim: what real language servers of others propose."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.neovim import Neovim

SERVERS = programs.SERVERS / "node_modules/.bin"
pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(
        not (programs.program("nvim").exists() and (programs.SERVERS / "done").exists()),
        reason="no Neovim or no language servers: run scripts/tools/install-editors",
    ),
]

HOSTILE = """\
vim.lsp.config('hostile', { filetypes = { 'text' }, cmd = function(dispatchers)
  local answers = {
    initialize = { capabilities = { codeActionProvider = { resolveProvider = true } } },
    ['codeAction/resolve'] = { title = 'import thing' },
  }
  local closing = false
  return {
    request = function(method, params, back)
      if method == 'textDocument/codeAction' then
        local at = { line = 0, character = 0 }
        local place = { start = at, ['end'] = at }
        local function action(edits, more)
          local edit = { changes = { [params.textDocument.uri] = edits } }
          return vim.tbl_extend('error', { title = 'import thing', edit = edit }, more or {})
        end
        answers[method] = {
          vim.NIL, {}, { title = 3, data = 1 }, { title = 'import', command = 'run', arguments = {} },
          action({ { range = place } }), action({ { newText = 'import thing\\n' } }), action(3),
          action({ { range = place, newText = 'import thing' .. ('\\nrun()'):rep(1e5) .. '\\n' } }),
          { title = 'import', edit = { documentChanges = { { kind = 'delete', uri = params.textDocument.uri } } } },
          { title = 'import', edit = { changes = { ['file:///etc/passwd'] = { { range = place, newText = 'import thing\\n' } } } } },
        }
        for n = 1, 1000 do
          table.insert(answers[method], { title = 'import thing', data = n })
        end
      end
      _G.asked = _G.asked or {}
      _G.asked[method] = (_G.asked[method] or 0) + 1
      vim.schedule(function() back(nil, answers[method]) end)
      return true, 1
    end,
    notify = function() end,
    is_closing = function() return closing end,
    terminate = function() closing = true end,
  }
end })
vim.lsp.enable('hostile')
"""
INIT = f"""\
vim.g.fim = {{ keys = {{ next_edit = '<Tab>', accept = '<Tab>' }} }}
vim.o.swapfile = false
vim.lsp.config('basedpyright', {{ cmd = {{ '{SERVERS}/basedpyright-langserver', '--stdio' }}, filetypes = {{ 'python' }},
  root_markers = {{ '.git' }} }})
vim.lsp.config('ts', {{ cmd = {{ '{SERVERS}/typescript-language-server', '--stdio' }}, filetypes = {{ 'typescript' }},
  root_markers = {{ '.git' }} }})
vim.lsp.enable({{ 'fim', 'basedpyright', 'ts' }})
"""
SHIP = "class Parcel:\n    pass\n\n\ndef freight_of(parcel):\n    return 3\n"
MAIN = '"""The main file."""\n\nimport os\n\nprint(os)\n'
SHIP_TS = (
    "export class Parcel {}\nexport function freightOf(parcel: Parcel): number {\n  return 3;\n}\n"
)
MAIN_TS = 'import { Parcel } from "./ship";\n\nconsole.log(new Parcel());\n'
"""`tsconfig.json` is needed for the server to know files that are not open."""


@pytest.fixture(scope="module")
def editor(home: Path, project: Path) -> Iterator[Neovim]:
    for name, text in {"ship.py": SHIP, "ship.ts": SHIP_TS}.items():
        (project / name).write_text(text)
    options = {"strict": True, "module": "esnext", "moduleResolution": "bundler", "types": []}
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    neovim = Neovim(home, project, INIT + HOSTILE)
    yield neovim
    neovim.close()


def opened(editor: Neovim, file: Path, text: str) -> None:
    file.write_text(text)
    editor.edit(file)
    editor.wait_until(lambda: editor.lua("#vim.lsp.get_clients({bufnr=0})") == 2, "both servers")


def accept(editor: Neovim) -> None:
    editor.send("\t")
    editor.wait_until(
        lambda: editor.lua("vim.api.nvim_win_get_cursor(0)")[0] < 5, "the cursor at the place"
    )
    editor.send("\t")


def test_an_import_of_python(editor: Neovim, project: Path) -> None:
    """At its place, after the name was typed; the reason names the server, and the keys are the next edit's."""
    opened(editor, project / "main.py", MAIN)
    editor.send("Gofreight_of(1)\x1b")
    editor.wait_for("from ship import freight_of")
    assert editor.buffer == MAIN + "freight_of(1)"
    assert editor.lua("require('fim.next_edit').why()") == (
        "`freight_of` is not defined. basedpyright: from ship import freight_of."
    )
    accept(editor)
    imported = MAIN.replace("import os\n", "import os\n\nfrom ship import freight_of\n")
    editor.wait_until(lambda: editor.buffer == imported + "freight_of(1)", "the import")


def test_a_name_that_joins_an_import(editor: Neovim, project: Path) -> None:
    """What TypeScript's server prefers."""
    opened(editor, project / "main.ts", MAIN_TS)
    editor.send("GofreightOf(1);\x1b")
    editor.wait_for("freightOf, ")
    accept(editor)
    imported = MAIN_TS.replace("{ Parcel }", "{ freightOf, Parcel }")
    editor.wait_until(lambda: editor.buffer == imported + "freightOf(1);", "the import")


def test_a_snooze_is_for_imports_too(editor: Neovim, project: Path) -> None:
    """As for all that comes unasked."""
    opened(editor, project / "quiet.py", MAIN)
    editor.send(":Fim snooze 5\r")
    editor.send("Gofreight_of(4)\x1b")
    errors = "#vim.diagnostic.get(0, {severity = vim.diagnostic.severity.ERROR})"
    editor.wait_until(lambda: editor.lua(errors) == 1, "the diagnostic")
    editor.settle(3.0)
    assert editor.lua("require('fim.next_edit').why()") is None
    editor.send(":Fim snooze 0\r")
    editor.send("ofreight_of(5)\x1b")
    editor.wait_for("from ship import freight_of")


def test_two_ways_are_none(editor: Neovim, project: Path) -> None:
    """And what was there before an edit is none of its."""
    opened(editor, project / "two.py", MAIN + "freight_of(2)\n")
    editor.send("GoPath(1)\x1b")
    errors = "#vim.diagnostic.get(0, {severity = vim.diagnostic.severity.ERROR})"
    editor.wait_until(lambda: editor.lua(errors) == 2, "the diagnostics")
    editor.settle(3.0)
    assert editor.lua("require('fim.next_edit').why()") is None


def test_a_dismissed_import_is_not_proposed_again(editor: Neovim, project: Path) -> None:
    """At no other place either."""
    opened(editor, project / "no.py", MAIN)
    editor.send("GoParcel()\x1b")
    editor.wait_for("from ship import Parcel")
    editor.send("\x1b")
    editor.wait_until(lambda: editor.lua("require('fim.next_edit').why()") is None, "no edit")
    editor.send("oParcel(1)\x1b")
    editor.settle(3.0)
    assert editor.lua("require('fim.next_edit').why()") is None


def test_a_hostile_server_is_given_no_work_and_proposes_nothing(editor: Neovim, project: Path):
    """Actions with no title, no text or no place, of other files, of commands, of 600 kB, and a thousand to resolve."""
    opened(editor, project / "list.txt", "one\n")
    editor.send("Gothing\x1b")
    publish = """(function()
      local client = vim.lsp.get_clients({ name = 'hostile' })[1]
      local range = { start = { line = 1, character = 0 }, ['end'] = { line = 1, character = 5 } }
      local found = { { range = range, message = 'undefined', severity = 1 } }
      local params = { uri = vim.uri_from_bufnr(0), diagnostics = found }
      vim.lsp.handlers['textDocument/publishDiagnostics'](nil, params, { client_id = client.id, method = 'x' })
      return 1
    end)()"""
    assert editor.lua(publish) == 1
    editor.wait_until(
        lambda: editor.lua("(_G.asked or {})['textDocument/codeAction'] or 0") > 0, ""
    )
    editor.settle(1.0)
    assert editor.lua("require('fim.next_edit').why()") is None
    assert editor.lua("(_G.asked or {})['codeAction/resolve'] or 0") <= 20
    assert "imports.lua" not in editor.lua("vim.fn.execute('messages')")
