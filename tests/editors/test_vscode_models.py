"""In a real VS Code workbench: what is said where the model that the settings name is not there."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.editors.conftest import CONFIG, furnish
from tests.editors.test_vscode import VSIX, pytestmark
from tests.editors.vscode import Workbench

__all__ = ["pytestmark"]


def test_a_model_that_is_gone(tmp_path: Path) -> None:
    """One message names it; the bundled model is ready, and the menu offers another one."""
    furnish(tmp_path, CONFIG.replace("\n", '\nmodel = "/models/gone.gguf"\n', 1))
    file = tmp_path / "shop/shop.py"
    file.parent.mkdir()
    file.write_text("def area(w, h):\n    return w * h\n")
    with closing(Workbench(tmp_path, file, {}, VSIX)) as workbench:
        workbench.wait_for("/models/gone.gguf is not there")
        workbench.wait_for("FIM bundled model")
        workbench.menu("Get a Real Model")
        assert "loading: " not in str(workbench("text"))
        assert "No, Thanks" not in str(workbench("text"))
