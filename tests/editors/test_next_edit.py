"""The next edit in a real Neovim with our plugin: shown, gone to, applied, dismissed, explained."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fim_lsp.next_edit.log import TOGETHER
from tests.editors import programs
from tests.editors.neovim import Neovim

pytestmark = programs.needs("nvim")

INIT = """\
vim.g.fim = { keys = { next_edit = '<Tab>', accept = '<Tab>' } }
vim.o.swapfile, vim.o.autoindent = false, false
vim.cmd('filetype indent off')
vim.keymap.set('i', '<C-g>', '<Plug>(fim-next-edit)')
vim.lsp.enable('fim')
"""
TAB = "\t"
ESCAPE = "\x1b"
NEXT_EDIT = "\x07"
BOX = """\
print(hight)
check(hight)
area = hight * width
total = hight + 1
"""
RENAMED = BOX.replace("hight", "height", 2)
LOGGED = """\
def one():
    start_the_clock()
    work()


def two():
    start_the_clock()
    work()


def three():
    start_the_clock()
    work()
"""
MARKS = (
    "#vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()['fim.next_edit'], 0, -1, {})"
)
TAKEN_HERE = (
    "vim.lsp.get_clients({name='fim', bufnr=0})[1]:request_sync('fim/stats', vim.empty_dict(), 5000)"
    ".result.nextEdit.taken"
)
CURSOR = "vim.api.nvim_win_get_cursor(0)"


@pytest.fixture(scope="module")
def editor(home: Path, project: Path) -> Iterator[Neovim]:
    """One Neovim; files outside of the project do not know each other's edits."""
    for name in ("lenght", "widht"):  # files are listed once a minute
        shelf(project, name)
    neovim = Neovim(home, project, INIT)
    yield neovim
    neovim.close()


def shelf(project: Path, name: str) -> tuple[Path, Path]:
    """Two files of the project that use a name of their own; the second is not opened."""
    here = project / f"{name}_box.py"
    there = project / f"{name}_shelf.py"
    here.write_text(f"print({name})\ncheck({name})\n")
    there.write_text(f"board = 1\nlow({name})\narea = {name} * width\n")
    return here, there


def opened(editor: Neovim, folder: Path, text: str) -> Neovim:
    file = folder / "box.py"
    file.write_text(text)
    editor.edit(file)
    return editor


@pytest.fixture
def renamed(editor: Neovim, tmp_path: Path) -> Neovim:
    """`hight` was renamed on two lines, and the third is proposed."""
    opened(editor, tmp_path, BOX)
    for line in (1, 2):
        editor.send(f":{line}\r0/hight\rcwheight{ESCAPE}")
        time.sleep(2 * TOGETHER)  # what comes sooner is one key at several cursors
    editor.wait_for("area = hightheight * width")
    return editor


def counted(editor: Neovim) -> dict[str, int]:
    found: dict[str, int] = editor.stats(".nextEdit")
    return found


def test_it_is_shown_and_moves_nothing(renamed: Neovim) -> None:
    """The place is marked, one line below the cursor; text and cursor stay, and it counts as shown."""
    assert renamed.buffer == RENAMED.rstrip("\n")
    assert renamed.lua(CURSOR)[0] == 2
    assert "total = hight + 1" in renamed.text  # one at a time
    renamed.wait_until(lambda: counted(renamed)["shown"] > 0, "it counted")


def test_one_key_goes_there_and_applies_it(renamed: Neovim) -> None:
    """Then the next one comes, and after the last one the key does what it did before."""
    before = counted(renamed)["taken"]
    renamed.send(TAB)
    renamed.wait_until(lambda: renamed.lua(CURSOR) == [3, 7], "the cursor there")
    assert renamed.buffer == RENAMED.rstrip("\n")
    renamed.send(TAB)
    renamed.wait_until(lambda: "area = height * width" in renamed.buffer, "the text")
    renamed.wait_for("total = hightheight + 1")
    renamed.send(TAB + TAB)
    renamed.wait_until(lambda: "hight" not in renamed.buffer, "all of them")
    renamed.wait_until(lambda: counted(renamed)["taken"] == before + 2, "both counted")
    renamed.send("u")
    renamed.wait_until(lambda: "total = hight + 1" in renamed.buffer, "the last one undone")
    assert "area = height * width" in renamed.buffer


def test_escape_dismisses(renamed: Neovim) -> None:
    """It is gone, and the same is not proposed again."""
    before = counted(renamed)["dismissed"]
    renamed.send(ESCAPE)
    renamed.wait_until(lambda: renamed.lua(MARKS) == 0, "no mark")
    renamed.wait_until(lambda: counted(renamed)["dismissed"] == before + 1, "it counted")
    renamed.send("A # x" + ESCAPE)
    renamed.wait_until(lambda: renamed.buffer.splitlines()[1].endswith("# x"), "an edit")
    renamed.settle(1.0)
    assert "area = hight" in renamed.text


def test_a_key_changes_it_or_takes_it_away(renamed: Neovim) -> None:
    """What is typed is not covered, and undoing the example takes the proposal along."""
    renamed.send("uu")
    renamed.wait_until(lambda: renamed.buffer == BOX.rstrip("\n"), "the text as it was")
    renamed.settle(1.0)
    assert "area = hight" in renamed.text


def test_in_insert_mode(renamed: Neovim) -> None:
    """The key goes to the place, applies the edit, and insert mode goes on; Tab is ghost text's."""
    renamed.send(":1\rA # x")
    renamed.wait_until(lambda: "# x" in renamed.buffer, "what was typed")
    renamed.wait_until(lambda: renamed.lua(MARKS) > 0, "a mark")
    renamed.send(NEXT_EDIT)
    renamed.wait_until(lambda: renamed.lua(CURSOR)[0] == 3, "the cursor there")
    renamed.send(NEXT_EDIT)
    renamed.wait_until(lambda: "area = height * width" in renamed.buffer, "the text")
    assert renamed.lua("vim.api.nvim_get_mode().mode") == "i"
    renamed.send(ESCAPE)


def test_several_lines(editor: Neovim, tmp_path: Path) -> None:
    """What comes stands below what goes, line by line."""
    opened(editor, tmp_path, LOGGED)
    for line in (2, 7):
        editor.send(f":{line}\rccwith the_clock():{ESCAPE}j>>")
    editor.wait_until(lambda: editor.lua(MARKS) > 0, "a proposal")
    before = editor.buffer
    editor.send(TAB)
    editor.wait_until(lambda: editor.lua(CURSOR)[0] >= 12, "the cursor there")
    editor.send(TAB)
    editor.wait_until(lambda: editor.buffer != before, "the text")
    assert editor.buffer.count("with the_clock():") == 3


def test_a_place_out_of_sight_is_named(editor: Neovim, tmp_path: Path) -> None:
    """Beside the cursor, with the key that goes there."""
    far = BOX.replace("area", "\n" * 60 + "area")
    opened(editor, tmp_path, far)
    for line in (1, 2):
        editor.send(f":{line}\r0/hight\rcwheight{ESCAPE}")
    editor.wait_for("<Tab> → line 63")
    editor.send(TAB)
    editor.wait_for("area = hightheight * width")
    assert editor.lua(CURSOR)[0] == 63
    assert "→ line" not in editor.text


def test_a_place_beside_the_edge_of_the_window_is_named(editor: Neovim, tmp_path: Path) -> None:
    """Its line is in sight, its column is not: the key goes there first, and applies it only then."""
    wide = BOX.replace("area", "#" * 3 + "x" * 200 + "\nb = [" + "1, " * 90 + "hight]\narea")
    editor.lua("(function() vim.o.wrap = false return true end)()")
    opened(editor, tmp_path, wide)
    for line in (1, 2):
        editor.send(f":{line}\r0/hight\rcwheight{ESCAPE}")
        time.sleep(2 * TOGETHER)
    editor.wait_for("<Tab> → line 4, column 276")
    editor.send(TAB)
    editor.wait_for("hightheight]")
    assert "→ line" not in editor.text
    assert editor.lua(CURSOR) == [4, 275]
    editor.send(TAB)
    editor.wait_until(lambda: "1, height]" in editor.buffer, "the text")
    editor.lua("(function() vim.o.wrap = true return true end)()")


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("item.price", "item.unitPrice", [[5, 10, "unitPrice"]]),
        ("b.price - a.price", "b.total - a.total", [[2, 7, "total"], [12, 17, "total"]]),
        ("numpy.zeros(n)", "np.zeros(n)", [[0, 5, "np"]]),
        ("größe = 1", "grösse = 1", [[0, 7, "grösse"]]),
        ("f(a)", "f(a, a)", [[3, 3, ", a"]]),
        ("f(a, b)", "f(a)", [[3, 6, ""]]),
        ("x = items[0]", "x = first(items)", [[4, 12, "first(items)"]]),
        ("a + b", "a - b", [[2, 3, "-"]]),
        ("", "return x", [[0, 0, "return x"]]),
    ],
)
def test_what_differs_is_drawn_in_whole_words(
    editor: Neovim, old: str, new: str, parts: list[list[object]]
) -> None:
    """Bytes that go, and what comes; each word by itself where only words differ."""
    found = editor.lua(f"require('fim.edit_marks').parts({old!r}, {new!r})")
    assert [[part["from"], part["to"], part["text"]] for part in found] == parts


def renamed_twice(editor: Neovim, file: Path, name: str) -> None:
    """Until the place in the other file is named: the files of the project are listed meanwhile."""
    editor.edit(file)

    def named() -> bool:
        editor.send(f":%s/new_{name}/{name}/ge\r")
        editor.settle(1.0)
        for line in (1, 2):
            editor.send(f":{line}\r0/{name}\rcwnew_{name}{ESCAPE}")
            editor.settle(1.0)
        return f"<Tab> → {name}_shelf.py:2" in editor.text

    editor.wait_until(named, "the place", timeout=120)


def test_in_a_file_that_is_not_open(editor: Neovim, project: Path) -> None:
    """It is named; the key opens the file, then applies the edit, and the next one follows there."""
    here, there = shelf(project, "lenght")
    renamed_twice(editor, here, "lenght")
    assert editor.lua(f"vim.fn.bufloaded('{there}')") == 0
    taken = editor.lua(TAKEN_HERE)
    editor.send(TAB)
    editor.wait_until(lambda: editor.lua("vim.api.nvim_buf_get_name(0)") == str(there), "the file")
    editor.wait_until(lambda: editor.lua(CURSOR)[0] == 2, "the cursor there")
    assert "new_lenght" not in editor.buffer
    editor.send(TAB)
    editor.wait_until(lambda: "low(new_lenght)" in editor.buffer, "the text")
    editor.wait_until(lambda: editor.lua(TAKEN_HERE) == taken + 1, "it counted")
    assert "new_lenght" not in there.read_text()  # it is not saved unasked
    editor.wait_until(lambda: editor.lua(MARKS) > 0, "the next one, in this file")
    editor.send(TAB + TAB)
    editor.wait_until(lambda: "area = new_lenght" in editor.buffer, "it is applied, too")
