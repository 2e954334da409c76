"""The oldest VS Code that the extension supports: the same as in a current one."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import REST_OF_LINE, SHOP, TYPED, shop_in
from tests.editors.test_vscode import ACCEPTED, CHUNKS, SETTINGS, VSIX
from tests.editors.vscode import Workbench

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(
        not (programs.OLDEST_CODE / "done").exists() or not VSIX.exists(),
        reason="no VS Code: run scripts/install-editors and scripts/build-vscode",
    ),
]


def test_ghost_text_and_copies(tmp_path: Path) -> None:
    """A suggestion is shown, accepted and counted; what was cut is context."""
    file = shop_in(tmp_path)
    functions = "".join(f"def only_here_{n}(a):\n    return a * {n}\n\n\n" for n in range(9))
    (file.parent / "cut.py").write_text(functions)
    with closing(Workbench(tmp_path, file, SETTINGS, VSIX, code=programs.OLDEST_CODE)) as workbench:
        workbench.wait_until_ready()
        workbench.open(file.parent / "cut.py")
        workbench("press", "Control+a")
        workbench("press", "Control+x")
        assert workbench.saved() == ""
        workbench.open(file)
        workbench.write(TYPED)
        workbench.wait_for_ghost(REST_OF_LINE)
        workbench("press", "Tab")
        assert workbench.saved().startswith(SHOP + TYPED + REST_OF_LINE)
        workbench.wait_until(lambda: workbench.number(ACCEPTED) > 0, "one accepted")
        workbench.wait_until(lambda: workbench.number(CHUNKS) > 0, "more context")
