"""VS Code's walkthrough from an empty home: the built extension alone, followed to a first suggestion."""

from __future__ import annotations

import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import REST_OF_WORD, SHOP, TYPED
from tests.editors.test_vscode import STEP_DONE, VSIX, needs_workbench
from tests.editors.vscode import Workbench
from tests.models import BUNDLED

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.editors

STEP = "h3.step-title"
BUTTON = "a.monaco-button::-p-text(Get a Real Model)"
MINUTES = 300.0  # for pip, on a busy machine
SETTINGS: dict[str, object] = {
    "terminal.integrated.gpuAcceleration": "off",  # its text is text on the page
    "fim.completion.minConfidence": 0.001,  # so small a model is never sure of several lines
    "fim.completion.patienceMs": 20_000,
    "editor.quickSuggestions": {
        "other": "off"
    },  # a list that opens on a busy machine would take the key
}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """Return what the server needs, as docs/offline.md packs it: in place of a package index."""
    folder = tmp_path / "index"
    pack = [sys.executable, "-m", "pip", "download", "--require-hashes", "--only-binary", ":all:"]
    subprocess.run(
        [*pack, "--dest", str(folder), "-r", str(ROOT / "requirements.txt")],
        check=True,
        capture_output=True,
    )
    return folder


@needs_workbench
def test_from_an_empty_home_to_a_suggestion(tmp_path: Path, index: Path) -> None:
    """The server is installed from the extension's own wheel, the terminal asks for a model, ghost text comes."""
    home = tmp_path / "home"
    pip = home / ".config/pip/pip.conf"
    pip.parent.mkdir(parents=True)
    pip.write_text(f"[global]\nno-index = true\nfind-links = {index}\n")
    (home / "shop/.git").mkdir(parents=True)
    file = home / "shop/shop.py"
    file.write_text(SHOP)
    model = home / "Downloads/mine.gguf"
    model.parent.mkdir()
    shutil.copy(BUNDLED, model)
    with closing(Workbench(home, file, SETTINGS, VSIX)) as workbench:
        workbench.wait_until(
            lambda: "FIM bundled model ready" in str(workbench("text")), "the server", MINUTES
        )
        [program] = home.glob("data/User/globalStorage/fim-lsp.fim-lsp/server-*/bin/fim-lsp")
        assert programs.processes(f"{program} --stdio", workbench.pid)
        workbench.choose("No, Thanks")  # of the message; the walkthrough has the same button
        workbench.palette("FIM: Get Started")
        workbench.wait_until(
            lambda: workbench("exists", STEP_DONE.format("server")), "the first step done"
        )
        assert "Install It" not in str(workbench("text"))  # done
        workbench("click", f"{STEP}::-p-text(Get a real model)")
        workbench.click_until(BUTTON, ".xterm")
        workbench.wait_for("Where do completions come from?")
        workbench.palette("FIM: Get a Real Model")  # once more shows the terminal that is there
        assert str(workbench("text")).count("Where do completions come from?") == 1
        workbench.click_until(".xterm", ".xterm.focus")  # a step that ends may take the focus away
        workbench("type", "3")
        workbench("press", "Enter")
        workbench.wait_for("The file:")
        workbench("type", str(model))
        workbench("press", "Enter")
        workbench.wait_for("FIM mine ready")
        workbench.wait_until(
            lambda: workbench("exists", STEP_DONE.format("model")), "the second step done"
        )
        workbench.open(file)
        workbench.write(TYPED)
        workbench.wait_for_ghost(REST_OF_WORD)
        workbench("press", "Tab")
        assert workbench.saved().startswith(SHOP + TYPED + REST_OF_WORD)
