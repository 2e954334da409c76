"""The next edit in a real VS Code workbench: decorations, one key to go there and apply, another to dismiss."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors.test_next_edit import BOX, RENAMED
from tests.editors.test_vscode import VSIX, needs_workbench
from tests.editors.vscode import Workbench

pytestmark = [pytest.mark.editors, needs_workbench]

SETTINGS: dict[str, object] = {  # what is tested here needs no model
    "fim.completion.auto": False,
    "typescript.disableAutomaticTypeAcquisition": True,
}
TYPESCRIPT = {
    "ship.ts": "export class Parcel {}\nexport function freightOf(parcel: Parcel) {\n"
    "  return parcel;\n}\n",
    "imports.ts": 'import { Parcel } from "./ship";\n\nconst wrong: number = "";\n'
    "const parcel = new Parcel();\n",
}
ERROR = ".editor-instance .squiggly-error"
IS_LATE_S = 10.0  # so long after a change the extension looks for its import
WIDE = "print(hight)\ncheck(hight)\nb = [" + "1, " * 90 + "hight]\n"
CELLS = ("print(hight_book)\ncheck(hight_book)", "x = 1\narea = hight_book * width")
APPLIED = re.compile(r"(\d+) of \d+ next edits applied")
DISMISSED = re.compile(r"next edits applied\s*(\d+) dismissed")


def named(text: str, name: str) -> str:
    """Return *text* with a name that no other file has, so that there is nothing to edit in those."""
    return text.replace("hight", f"hight_{name}").replace("height", f"height_{name}")


def notebook(*cells: str) -> dict[str, object]:
    code: dict[str, object] = {"cell_type": "code", "metadata": {}, "execution_count": None}
    code["outputs"] = list[object]()
    return {
        "cells": [{**code, "source": [text]} for text in cells],
        "metadata": {"language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@pytest.fixture(scope="module")
def workbench(home: Path, project: Path) -> Iterator[Workbench]:
    for name in ("apply", "dismiss"):
        (project / f"{name}.py").write_text(named(BOX, name))
    (project / "wide.py").write_text(named(WIDE, "wide"))
    (project / "away.py").write_text("print(hight_away)\ncheck(hight_away)\n")
    (project / "shelf.py").write_text("board = 1\nlow(hight_away)\n")
    (project / "book.ipynb").write_text(json.dumps(notebook(*CELLS)))
    for name, text in {**TYPESCRIPT, "tsconfig.json": "{}"}.items():
        (project / name).write_text(text)
    with closing(Workbench(home, project / "shop.py", SETTINGS, VSIX)) as workbench:
        workbench.wait_for("A little shop")
        workbench.wait_for("FIM bundled model")
        yield workbench


def press(workbench: Workbench, key: str, times: int = 1) -> None:
    for _ in range(times):
        workbench("press", key)


def rename_twice(workbench: Workbench, file: Path) -> None:
    """`hight` becomes `height` on two lines, and the third is proposed."""
    workbench.open(file)
    type_twice(workbench)


def type_twice(workbench: Workbench) -> None:
    press(workbench, "Control+Home")
    press(workbench, "ArrowRight", 7)
    workbench("type", "e")
    press(workbench, "Home")
    press(workbench, "ArrowDown")
    press(workbench, "ArrowRight", 7)
    workbench("type", "e")


def proposed(workbench: Workbench, name: str, line: str = "area = hight * width") -> None:
    """Until it is marked in *line*: where keys are slow, the line before was marked behind the first of two changes."""
    mark = [named(line, name), f"height_{name}"]
    workbench.wait_until(lambda: workbench("marks") == [mark], f"the edit {mark}")


def test_one_key_goes_there_and_applies_it(workbench: Workbench, project: Path) -> None:
    """Twice for each place; it counts."""
    rename_twice(workbench, project / "apply.py")
    proposed(workbench, "apply")
    assert workbench.saved() == named(RENAMED, "apply")
    press(workbench, "Tab", 2)
    workbench.wait_for("area = height_apply * width")
    proposed(workbench, "apply", "total = hight + 1")
    press(workbench, "Tab", 2)
    workbench.wait_until(lambda: workbench("added") == [], "no more")
    assert workbench.saved() == named(BOX.replace("hight", "height"), "apply")
    assert workbench.number(APPLIED) == 2


def test_a_place_beside_the_edge_of_the_window_is_named(
    workbench: Workbench, project: Path
) -> None:
    """Its line is in sight, its column is not: one key goes there, and applies the edit only then."""
    rename_twice(workbench, project / "wide.py")
    hint = "⇥ line 3, column 276"
    workbench.wait_until(lambda: hint in str(workbench("added")), "the hint")
    press(workbench, "Tab")
    workbench.wait_until(lambda: workbench("added") == ["height_wide"], "the edit in sight")
    press(workbench, "Tab")
    workbench.wait_until(lambda: workbench("added") == [], "no more")
    assert workbench.saved() == named(WIDE.replace("hight", "height"), "wide")


def test_in_a_file_that_is_not_open(workbench: Workbench, project: Path) -> None:
    """It is named beside the cursor; one key opens the file at the place and then applies it."""
    rename_twice(workbench, project / "away.py")

    def is_named() -> bool:
        if workbench("added") == ["⇥ shelf.py:2"]:
            return True
        workbench("type", " ")  # the files may not have been listed yet: ask again
        press(workbench, "Backspace")
        time.sleep(2.0)
        return False

    workbench.wait_until(is_named, "the place")
    press(workbench, "Tab")
    workbench.wait_for("board = 1")
    proposed(workbench, "away", "low(hight)")
    press(workbench, "Tab")
    workbench.wait_for("low(height_away)")
    workbench.file = project / "shelf.py"
    assert workbench.saved() == "board = 1\nlow(height_away)\n"


def test_in_another_cell(workbench: Workbench, project: Path) -> None:
    """Of a notebook: it is marked there; one key goes to the cell and then applies it."""
    workbench.file = project / "book.ipynb"
    row = f".explorer-folders-view [aria-label^='{workbench.file.name}']"
    workbench.wait_until(lambda: workbench("exists", row), "the notebook in the explorer")
    workbench("click", row)
    cell = ".notebookOverlay .monaco-list-row[data-index='{}'] {}".format
    first_line = cell(0, ".view-lines .view-line")
    workbench.wait_until(lambda: workbench("exists", first_line), "its cells")
    workbench("clickLeft", first_line)
    focused = ".monaco-editor.focused"
    workbench.wait_until(lambda: workbench("exists", cell(0, focused)), "the first cell in focus")
    type_twice(workbench)
    proposed(workbench, "book")
    press(workbench, "Tab")
    workbench.wait_until(lambda: workbench("exists", cell(1, focused)), "the other one in focus")
    press(workbench, "Tab")
    # the proposed text stands on screen before it is applied, too
    workbench.wait_until(lambda: not workbench("added"), "the change applied")
    workbench.wait_for("area = height_book * width")
    first, second = json.loads(workbench.saved())["cells"]
    assert "".join(first["source"]) == "print(height_book)\ncheck(height_book)"
    assert "".join(second["source"]) == "x = 1\narea = height_book * width"


def test_the_import_of_a_name(workbench: Workbench, project: Path) -> None:
    """The quick fix of VS Code's TypeScript server, explained, and applied by the same keys."""
    workbench.open(project / "imports.ts")
    workbench.wait_until(lambda: workbench("exists", ERROR), "what the TypeScript server finds")
    workbench("type", "freightOf(parcel);")
    typed = time.monotonic()

    def is_marked() -> bool:
        nonlocal typed
        if time.monotonic() - typed > IS_LATE_S:
            press(workbench, "Backspace")
            workbench("type", ";")
            typed = time.monotonic()
        return workbench("added") == ["freightOf, "]

    workbench.wait_until(is_marked, "the import")
    workbench.command("FIM: Why This Edit?")
    workbench.wait_for("`freightOf` is not defined. ts: Update import from")
    press(workbench, "Tab", 2)
    workbench.wait_for("{ freightOf, Parcel }")
    imported = TYPESCRIPT["imports.ts"].replace("{ Parcel", "{ freightOf, Parcel")
    assert workbench.saved() == imported + "freightOf(parcel);"


def test_escape_dismisses(workbench: Workbench, project: Path) -> None:
    """It is gone, and it counts; its pattern is quiet in this workspace from now on."""
    rename_twice(workbench, project / "dismiss.py")
    proposed(workbench, "dismiss")
    press(workbench, "Escape")
    workbench.wait_until(lambda: workbench("added") == [], "no edit")
    assert workbench.saved() == named(RENAMED, "dismiss")
    assert workbench.number(DISMISSED) == 1
