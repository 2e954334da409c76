"""Edits by instruction in a real Neovim with our plugin: drawn as they are written, applied, tried again, sent away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_edits import NEW, SAID, TEXT, Scripted, scripted
from tests.editors import programs
from tests.editors.neovim import Neovim

pytestmark = programs.needs("nvim")

INIT = """\
vim.o.swapfile = false
vim.lsp.config('fim', {{ settings = {{ fim = {{ backend = {{ kind = 'openai', url = '{}' }} }} }} }})
vim.lsp.enable('fim')
"""
MARKS = "#vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['fim.edit'], 0, -1, {})"
SHOWN = "(require('fim.edit').current() or {}).result ~= nil"
GROWN = (
    "(function() local edit, M = require('fim.edit').current(), require('fim.edit');"
    " edit.request = 1; M.grew(edit.token, { line = 0, newText = 'import os' });"
    f" edit.request = nil; return {MARKS} end)()"
)
EDITED = "import os\n\n\n" + NEW.rstrip("\n")


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    with scripted() as found:
        yield found


@pytest.fixture(scope="module")
def editor(home: Path, project: Path, server: Scripted) -> Iterator[Neovim]:
    neovim = Neovim(home, project, INIT.format(server.url))
    yield neovim
    neovim.close()


@pytest.fixture
def opened(editor: Neovim, project: Path, request: pytest.FixtureRequest) -> Neovim:
    """Return a file of its own for each test, with the cursor in its function."""
    path = project / f"{request.node.name}.py"
    path.write_text(TEXT)
    editor.edit(path)
    editor.send("6G")
    return editor


def ask(editor: Neovim, command: str) -> None:
    """Run it, and wait until all of the change is drawn."""
    editor.send(f":{command}\r")
    editor.wait_until(lambda: editor.lua(SHOWN), "the change")


def last(server: Scripted) -> str:
    return json.dumps(server.asked[-1]["messages"])


def test_the_function_at_the_cursor_is_edited(opened: Neovim, server: Scripted) -> None:
    """It is drawn, and nothing is changed before Enter; one undo takes it back."""
    ask(opened, "Fim edit add a comment")
    assert opened.lua(MARKS) > 0
    assert opened.buffer == TEXT.rstrip("\n")
    assert "Lines 4 to 6 of " in last(server)
    assert "# multiply" in opened.text
    opened.send("\r")
    opened.wait_until(lambda: opened.buffer == EDITED, "the change in the text")
    assert opened.lua(MARKS) == 0
    opened.send("u")
    opened.wait_until(lambda: opened.buffer == TEXT.rstrip("\n"), "the text as it was")


def test_escape_sends_a_change_away(opened: Neovim) -> None:
    """The keys do what they did before."""
    ask(opened, "Fim edit add a comment")
    opened.send("\x1b")
    opened.wait_until(lambda: not opened.lua(SHOWN), "nothing on screen")
    assert (opened.lua(MARKS), opened.buffer) == (0, TEXT.rstrip("\n"))
    assert opened.lua("vim.fn.maparg('ga', 'n')") == ""


def test_lines_are_edited_by_an_instruction_that_is_asked_for(opened: Neovim, server: Scripted):
    """With a range; a further instruction goes on with the answer, and another try says the same again."""
    opened.send(":4,6Fim edit\r")
    opened.wait_until(lambda: "Edit:" in opened.text, "the prompt")
    opened.send("explain it\r")
    opened.wait_until(lambda: opened.lua(SHOWN), "the change")
    assert "explain it" in last(server)
    n_asked = len(server.asked)
    opened.send("ga")
    opened.wait_until(lambda: len(server.asked) > n_asked and opened.lua(SHOWN), "another try")
    assert server.asked[-1]["messages"] == server.asked[-2]["messages"]
    opened.send("gm")
    opened.wait_until(lambda: "Further instruction:" in opened.text, "the prompt")
    opened.send("shorter\r")
    opened.wait_until(lambda: "shorter" in last(server) and opened.lua(SHOWN), "the change")
    assert [each["role"] for each in server.asked[-1]["messages"]] == ["user", "assistant", "user"]
    opened.send("\r")
    opened.wait_until(lambda: opened.buffer == EDITED, "the change in the text")


def test_typing_sends_a_change_away(opened: Neovim) -> None:
    """It was for another text."""
    ask(opened, "Fim edit add a comment")
    opened.send("x")
    opened.wait_until(lambda: not opened.lua(SHOWN), "nothing on screen")
    assert opened.lua(MARKS) == 0


def test_a_diagnostic_is_fixed(opened: Neovim, server: Scripted) -> None:
    """Of the cursor's line, from whichever source."""
    problem = "{ lnum = 5, col = 4, message = 'w is unknown' }"
    opened.lua(
        f"vim.diagnostic.set(vim.api.nvim_create_namespace('lint'), 0, {{ {problem} }}) or true"
    )
    ask(opened, "Fim fix")
    assert "- w is unknown" in last(server)
    drawn = opened.lua(MARKS)
    assert opened.lua(GROWN) == drawn  # which lines the text is for, the whole answer says
    opened.send("\r")
    opened.wait_until(lambda: opened.buffer == EDITED, "the change in the text")


def test_another_edit_gives_the_first_file_its_keys_back(opened: Neovim, project: Path) -> None:
    """To that file, and to no other."""
    mapped = "vim.fn.maparg('ga', 'n')"
    opened.send(":nnoremap <buffer> ga :echo 1<CR>\r")
    first = int(opened.lua("vim.api.nvim_get_current_buf()"))
    ask(opened, "Fim edit add a comment")
    (project / "another.py").write_text(TEXT)
    opened.send(f":edit {project / 'another.py'}\r6G")
    attached = "#vim.lsp.get_clients({name='fim', bufnr=0, _uninitialized=false}) > 0"
    opened.wait_until(
        lambda: opened.lua(f"vim.api.nvim_get_current_buf() ~= {first} and {attached}"), "it"
    )
    here = "require('fim.edit').current().buf == vim.api.nvim_get_current_buf()"
    opened.send(":Fim edit add a comment\r")
    opened.wait_until(lambda: opened.lua(f"{here} and {SHOWN}"), "the change")
    opened.send("\x1b")
    opened.wait_until(lambda: not opened.lua(SHOWN), "nothing on screen")
    assert opened.lua(mapped) == ""
    opened.send(f":buffer {first}\r")
    opened.wait_until(lambda: opened.lua(mapped) == ":echo 1<CR>", "the key of the first file")


def test_what_came_to_nothing_is_said(opened: Neovim, server: Scripted) -> None:
    """In one sentence; the text and the keys are as they were."""
    server.text = "I cannot."
    opened.send(":Fim edit add a comment\r")
    opened.wait_until(lambda: "the model answered with no code" in opened.text, "the reason")
    server.text = SAID
    assert opened.lua("require('fim.edit').current() == nil")


def test_a_long_line_wraps(opened: Neovim) -> None:
    """What is drawn is seen to its end, also where a line is longer than the window is wide."""
    edit = (
        "{ buf = vim.api.nvim_get_current_buf(), first = 1, before = {}, after = { "
        "('x'):rep(200) .. 'the_end' } }"
    )
    opened.lua(f"(function() require('fim.edit_marks').lines({edit}) return true end)()")
    opened.wait_for("the_end")
    opened.lua("(function() require('fim.edit_marks').clear() return true end)()")
