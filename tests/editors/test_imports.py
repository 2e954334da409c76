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
        reason="no Neovim or no language servers: run scripts/install-editors",
    ),
]

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
    """One Neovim with three servers."""
    for name, text in {"ship.py": SHIP, "ship.ts": SHIP_TS}.items():
        (project / name).write_text(text)
    options = {"strict": True, "module": "esnext", "moduleResolution": "bundler", "types": []}
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": options}))
    neovim = Neovim(home, project, INIT)
    yield neovim
    neovim.close()


def opened(editor: Neovim, file: Path, text: str) -> None:
    file.write_text(text)
    editor.edit(file)
    editor.wait_until(lambda: editor.lua("#vim.lsp.get_clients({bufnr=0})") == 2, "both servers")


def accept(editor: Neovim) -> None:
    """Go there, and apply it."""
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
