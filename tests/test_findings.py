"""Scripts of findings/ keep their form; what they find out is asked outside the tests (`sh scripts/tools/findings`)."""

import os
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "findings"
SCRIPTS = sorted(FOLDER.glob("*.sh"))
INSTALL = re.compile(r"^(?:\S*/pip\S* install|npm install) (.*)$", re.MULTILINE)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_script_pins_and_cleans_up(script: Path):
    """A script is executable, pins what it installs, works in a temporary folder and has its row in the table."""
    text = script.read_text("utf-8")
    installs = INSTALL.findall(text)
    words = [word for line in installs for word in line.split() if not word.startswith(("-", '"'))]
    assert text.startswith("#!/bin/sh\n# "), "its question and what was seen stand at the top"
    assert os.access(script, os.X_OK)
    assert words, "it installs the real thing"
    assert [word for word in words if not re.search(r"[\w]==\d|\w@\d", word)] == [], (
        "pinned versions only"
    )
    assert "trap 'rm -rf \"$folder\"' EXIT" in text
    assert not re.search("fim_lsp|server_bridge", text), "it runs without the product"
    assert f"`{script.stem}`" in (FOLDER / "README.md").read_text("utf-8")
