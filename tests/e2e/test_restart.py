"""The whole server ends and is started again: what it knew is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.client import INLINE, Editor, at
from tests.real_code import LONG, read_lines

CODE = read_lines(LONG, 0, 60)
TYPED = "\nclass Parser:\n    def __init__(self, na"
EMBEDDED = {"fim": {"backend": {"kind": "embedded"}, "completion": {"candidates": 1}}}
# A busy machine may need longer to save than an editor waits: test_leaving.py is about that time.
IN_NO_HURRY = "from fim_lsp.lsp import ending, server\nending.LEAVE_S = server.CLOSE_S = 60.0\n"


def first_completion(editor: Editor, folder: Path) -> dict[str, Any]:
    """Open the file, ask once, and return the statistics."""
    editor.initialize(rootUri=folder.as_uri(), initializationOptions=EMBEDDED)
    uri = (folder / "parser.py").as_uri()
    text = CODE + TYPED
    editor.open(uri, text)
    line = text.count("\n")
    column = len(text.splitlines()[-1])
    editor.request(INLINE, at(uri, line, column))
    stats: dict[str, Any] = editor.request("fim/stats")
    return stats


def test_after_any_end_the_next_one_goes_on(launch: Callable[..., Editor], tmp_path: Path) -> None:
    """The first completion after a restart evaluates next to nothing."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "parser.py").write_text(CODE + TYPED)
    before = launch(before=IN_NO_HURRY)
    cold = first_completion(before, folder)
    before.terminate()
    after = launch()
    warm = first_completion(after, folder)
    assert cold["tokens"]["evaluated"] > 80
    assert warm["tokens"]["evaluated"] <= warm["streams"] + 8
    assert warm["mirror"]["wrong"] == 0
    assert after.bye() == 0
