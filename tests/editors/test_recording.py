"""A case that a user records in a real Neovim, and the benchmark reads."""

from __future__ import annotations

import stat
from contextlib import closing
from pathlib import Path

from benchmarks.recorded.log import Changed, entries, read
from benchmarks.recorded.pauses import pauses
from tests.editors.neovim import Neovim
from tests.editors.programs import needs
from tests.editors.test_commit_message import INIT

pytestmark = needs("nvim")


def test_a_case_of_neovim(home: Path, tmp_path: Path) -> None:
    """`:Fim record` and `:Fim record stop`, with what was typed between, and pauses in it."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.py").write_text("def area(width, height):\n    return width\n", "utf-8")
    with closing(Neovim(home, folder, INIT)) as editor:
        editor.edit(folder / "a.py")
        editor.send(":Fim record\r")
        editor.wait_for("fim-lsp records")
        editor.send("GA * hei\x1b")
        editor.settle(1.0)
        editor.send("Aght\x1b")
        editor.wait_for_buffer("* height")
        editor.send(":Fim record stop\r")
        editor.wait_for("The recording has ended")
        (case,) = (home / ".cache/fim-lsp/recorded").iterdir()
        recording = read(case)
    assert stat.S_IMODE(case.stat().st_mode) == 0o600
    typed = [
        e.text for change in entries(recording) if isinstance(change, Changed) for e in change.edits
    ]
    assert "".join(typed) == " * height"
    assert [pause.truth for pause in pauses(recording)] == ["ght\n"]
