"""VS Code's own settings, as our page writes them, in a real workbench: it knows their names and values."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.editors.conftest import shop_in
from tests.editors.test_vscode import VSIX, needs_workbench
from tests.editors.vscode import Workbench
from tests.snippets import SNIPPETS

pytestmark = [pytest.mark.editors, needs_workbench]

WRONG_VALUE, UNKNOWN = ".squiggly-warning", ".squiggly-inline-unnecessary"  # how it marks them
WRONG = {"editor.quickSuggestions": {"other": "sometimes"}, "fim.ring.serves": False}


def settings_of_the_page() -> list[dict[str, Any]]:
    """Return what the page has a user write into the settings, a setting each."""
    texts = [s.text for s in SNIPPETS if s.page.endswith("vscode.md") and s.language == "json"]
    return [json.loads(f"{{{text}}}") for text in texts]


def test_vs_code_takes_the_settings_of_the_page(tmp_path: Path) -> None:
    """It marks a wrong value and an unknown name in its settings, and nothing of the page's."""
    pages = settings_of_the_page()
    assert pages
    file = shop_in(tmp_path)
    with closing(Workbench(tmp_path, file, WRONG, VSIX)) as workbench:
        workbench.wait_for("A little shop")
        workbench.palette("Preferences: Open User Settings (JSON)")
        for mark in (WRONG_VALUE, UNKNOWN):
            workbench.wait_until(lambda mark=mark: workbench("exists", mark), mark)
        for setting in pages:
            check(workbench, tmp_path / "data/User/settings.json", setting)


def check(workbench: Workbench, settings: Path, setting: dict[str, Any]) -> None:
    """Once *setting* is all that the file has, nothing is marked; beside a wrong one it was."""
    [name] = setting
    settings.write_text(json.dumps({"fim.ring.serves": False, **setting}, indent=1))
    workbench.wait_until(lambda: not workbench("exists", WRONG_VALUE), f"{name} is taken")
    workbench.wait_until(lambda: workbench("exists", UNKNOWN), "the unknown name, marked")
    settings.write_text(json.dumps(setting, indent=1))
    workbench.wait_until(lambda: not workbench("exists", UNKNOWN), f"{name} is known")
