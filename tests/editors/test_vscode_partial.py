"""How much of a suggestion was accepted in VS Code, as the extension tells the server: its part in Node."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.editors.extension import CAN_RUN, run

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not CAN_RUN, reason="no node, or run scripts/build-vscode first"),
]

PIECES = Path(__file__).with_name("partial.mjs").read_text("utf-8")


def test_lines_are_accepted_one_by_one_with_either_line_end(tmp_path: Path) -> None:
    """The length counts in the text that the server sent; the whole of it is no part."""
    said = json.loads(run(PIECES, tmp_path, tmp_path))
    assert said["lf"] == [" > 1:", " > 1:\n    stop()"]
    assert said["crlf"] == said["lf"]
    assert said["typed"] == [" > 1:"]  # the key Enter is one character
