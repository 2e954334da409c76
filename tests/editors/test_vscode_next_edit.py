"""The next edit in a real VS Code workbench: decorations, one key to go there and apply, another to dismiss."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors.test_next_edit import BOX, RENAMED
from tests.editors.test_vscode import VSIX, needs_workbench
from tests.editors.vscode import Workbench

pytestmark = [pytest.mark.editors, needs_workbench]

SETTINGS: dict[str, object] = {"fim.completion.auto": False}  # what is tested here needs no model
APPLIED = re.compile(r"(\d+) of \d+ next edits applied")
DISMISSED = re.compile(r"next edits applied\s*(\d+) dismissed")


@pytest.fixture(scope="module")
def workbench(home: Path, project: Path) -> Iterator[Workbench]:
    """One workbench on the project."""
    for name in ("apply", "dismiss", "why"):
        (project / f"{name}.py").write_text(BOX)
    workbench = Workbench(home, project / "shop.py", SETTINGS, VSIX)
    workbench.wait_for("A little shop")
    workbench.wait_for("FIM bundled model")
    yield workbench
    workbench.close()


def press(workbench: Workbench, key: str, times: int = 1) -> None:
    for _ in range(times):
        workbench("press", key)


def rename_twice(workbench: Workbench, file: Path) -> None:
    """`hight` becomes `height` on two lines, and the third is proposed."""
    workbench.open(file)
    press(workbench, "Control+Home")
    press(workbench, "ArrowRight", 7)
    workbench("type", "e")
    press(workbench, "Home")
    press(workbench, "ArrowDown")
    press(workbench, "ArrowRight", 7)
    workbench("type", "e")
    workbench.wait_until(lambda: workbench("added") == ["e"], "the edit")


def test_one_key_goes_there_and_applies_it(workbench: Workbench, project: Path) -> None:
    """Twice for each place; it counts."""
    rename_twice(workbench, project / "apply.py")
    assert workbench.saved() == RENAMED
    press(workbench, "Tab", 2)
    workbench.wait_for("area = height * width")
    workbench.wait_until(lambda: workbench("added") == ["e"], "the next one")
    press(workbench, "Tab", 2)
    workbench.wait_until(lambda: workbench("added") == [], "no more")
    assert workbench.saved() == BOX.replace("hight", "height")
    assert workbench.number(APPLIED) == 2


def test_why(workbench: Workbench, project: Path) -> None:
    """The command names the edit that it repeats."""
    rename_twice(workbench, project / "why.py")
    workbench.command("FIM: Why This Edit?")
    workbench.wait_for("It repeats your edit in why.py, line 2")


def test_escape_dismisses(workbench: Workbench, project: Path) -> None:
    """It is gone, and it counts; its pattern is quiet in this workspace from now on."""
    rename_twice(workbench, project / "dismiss.py")
    press(workbench, "Escape")
    workbench.wait_until(lambda: workbench("added") == [], "no edit")
    assert workbench.saved() == RENAMED
    assert workbench.number(DISMISSED) == 1
