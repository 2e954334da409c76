"""Where VS Code has text that is no file of its own, or not as most are: what was meant is inserted there, too."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import NamedTuple

import pytest

from tests.editors.conftest import shop_in
from tests.editors.meant import LEADS, ROWS, Row, write_all
from tests.editors.test_vscode import VSIX, needs_workbench
from tests.editors.test_vscode_next_edit import notebook
from tests.editors.vscode import Workbench

pytestmark = [pytest.mark.editors, needs_workbench]

# VS Code hides a text that does not go on behind the selected word of its list.
SETTINGS: dict[str, object] = {"editor.quickSuggestions": {"other": "off"}}
CELL = ".notebookOverlay .monaco-list-row[data-index='1'] {}"


class Editing(NamedTuple):
    """An editor of the workbench in focus, and how its text is read once it is saved."""

    workbench: Workbench
    read: Callable[[str], str]

    def go_to(self, line: int) -> None:
        self.workbench("press", "Control+Home")
        for _ in range(line):
            self.workbench("press", "ArrowDown")
        self.workbench("press", "End")

    def type(self, text: str) -> None:
        self.workbench("type", text)

    def accept(self, row: Row) -> None:
        last = row.meant.removeprefix(row.lead + row.typed).rpartition("\n")[2].strip()
        self.workbench.wait_for_ghost(last.removesuffix("):"))  # a bracket behind is there
        self.workbench("press", "Tab")
        self.workbench.wait_until(lambda: not self.workbench("ghost"), "the text inserted")

    def text(self) -> str:
        self.workbench.saved()
        with self.workbench.file.open(newline="") as file:
            return self.read(file.read())


@pytest.fixture(scope="module")
def workbench(tmp_path_factory: pytest.TempPathFactory, meant_settings: str) -> Iterator[Workbench]:
    file = shop_in(tmp_path_factory.mktemp("home"), "first.py", "x = 1\n", meant_settings)
    with closing(Workbench(file.parents[1], file, SETTINGS, VSIX)) as workbench:
        workbench.wait_for("x = 1")
        workbench.wait_until_ready()
        yield workbench


def in_crlf(workbench: Workbench) -> Editing:
    """A file whose lines end as on Windows."""
    file = workbench.file.with_name("crlf.py")
    file.write_bytes(LEADS.replace("\n", "\r\n").encode())
    workbench.open(file)

    def read(text: str) -> str:
        assert text.count("\n") == text.count("\r\n")
        return text.replace("\r\n", "\n")

    return Editing(workbench, read)


def in_cell(workbench: Workbench) -> Editing:
    """The second cell of a notebook."""
    workbench.file = workbench.file.with_name("book.ipynb")
    workbench.file.write_text(json.dumps(notebook("year = 1", LEADS)))
    row = f".explorer-folders-view [aria-label^='{workbench.file.name}']"
    workbench.wait_until(lambda: workbench("exists", row), "the notebook in the explorer")
    workbench("click", row)
    line = CELL.format(".view-lines .view-line")
    workbench.wait_until(lambda: workbench("exists", line), "its cells")
    workbench("clickLeft", line)
    focused = CELL.format(".monaco-editor.focused")
    workbench.wait_until(lambda: workbench("exists", focused), "the cell in focus")
    return Editing(workbench, lambda text: "".join(json.loads(text)["cells"][1]["source"]))


def in_second_group(workbench: Workbench) -> Editing:
    """A file that stands in two editors side by side."""
    file = workbench.file.with_name("two.py")
    file.write_text(LEADS)
    workbench.open(file)
    workbench("press", "Control+\\")
    both = ".editor-group-container .monaco-editor .view-lines"
    workbench.wait_until(lambda: len(list(workbench("texts", both))) == 2, "both")  # type: ignore[call-overload]
    return Editing(workbench, lambda text: text)


@pytest.mark.parametrize("begin", [in_crlf, in_cell, in_second_group])
def test_what_is_inserted_is_what_was_meant(
    begin: Callable[[Workbench], Editing], workbench: Workbench
) -> None:
    """All rows: words, lines, blocks, over a bracket that was closed behind the cursor, with dollars, and with tabs."""
    assert write_all(begin(workbench)) == {name: row.meant for name, row in ROWS.items()}
