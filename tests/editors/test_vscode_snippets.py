"""VS Code's own settings and keys, as our page has them: a real one has them, too."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from tests.editors import programs
from tests.snippets import ROOT, SNIPPETS
from tests.test_extension import EXTENSION

OUT = programs.CODE / "node_modules/code-server/lib/vscode/out"

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not OUT.exists(), reason="no VS Code: run scripts/install-editors"),
]

# Commands by their titles, and keys by VS Code's numbers: 2048 is Ctrl (⌘), 512 Alt.
KEYS = {
    "Tab": ("Accept Inline Suggestion", 2),
    "Ctrl+→": ("Accept Next Word Of Inline Suggestion", 2048 + 17),
    "Alt+]": ("Show Next Inline Suggestion", 512 + 94),
    "Alt+[": ("Show Previous Inline Suggestion", 512 + 92),
    "Esc": ("Hide Inline Suggestion", 9),
}


@cache
def workbench() -> str:
    """Return the program of the workbench."""
    return (OUT / "vs/code/browser/workbench/workbench.js").read_text("utf-8")


def values_of(name: str) -> list[str]:
    """Return what an option of the editor, without its `editor.`, or a part of it, may be."""
    found = re.search(rf'enum:\[([^\]]+)\](?:(?!enum:).){{0,400}}?super\(\d+,"{name}"', workbench())
    assert found is not None, name
    values: list[str] = json.loads(f"[{found[1]}]")
    return values


def settings_of_the_page() -> list[dict[str, Any]]:
    """Return what the page has a user write into the settings, a setting each."""
    texts = [s.text for s in SNIPPETS if s.page.endswith("vscode.md") and s.language == "json"]
    return [json.loads(f"{{{text}}}") for text in texts]


def test_vs_code_has_the_settings_and_their_values() -> None:
    """Those of the editor; the extension's are in its manifest, of which VS Code makes them."""
    settings = settings_of_the_page()
    assert settings
    for [(name, value)] in (setting.items() for setting in settings):
        if name in EXTENSION:
            continue
        section, _, option = name.partition(".")
        assert section == "editor"
        parts = value.values() if isinstance(value, dict) else [value]
        assert {*parts} <= {*values_of(option)}, name


def test_vs_code_has_the_keys() -> None:
    """Each key that the page calls VS Code's is one of its command's."""
    page = (ROOT / "docs/editors/vscode.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*) \| [^|]* \| VS Code's[^|]*\|$", page, re.MULTILINE)
    assert len(rows) >= 3
    for key in (key for row in rows for key in re.findall(r"`(.+?)`", re.sub(r"\(.*?\)", "", row))):
        title, number = KEYS[key]
        assert re.search(rf'"{title}"\).{{0,500}}?primary:{number}\D', workbench()), key


def test_vs_code_has_the_commands() -> None:
    """By their names in backticks, on any page."""
    named = {s.text.lstrip("-") for s in SNIPPETS if re.match(r"-?editor\.action\.", s.text)}
    assert named
    assert {name for name in named if f'"{name}"' not in workbench()} == set()
