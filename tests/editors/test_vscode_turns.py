"""Parts of the VS Code extension in Node: one server however often it is started, and parts of a suggestion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.editors.extension import CAN_RUN, run

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not CAN_RUN, reason="no node, or run scripts/build-vscode first"),
]

RESTARTS = """
import { inTurn } from "./turns";

let active = 0, most = 0, n = 0;
const start = inTurn(async () => {
  most = Math.max(most, (active += 1));
  await new Promise((resolve) => setTimeout(resolve, 5));
  active -= 1;
  if ((n += 1) === 1) throw new Error("the first one fails");
});
const first = start();
await new Promise((resolve) => setTimeout(resolve, 1));
const said = await Promise.allSettled([first, start(), start()]);
console.log(JSON.stringify({ most, n, said: said.map(({ status }) => status) }));
"""


def test_two_restarts_at_once_are_one_after_the_other(tmp_path: Path) -> None:
    """Those that wait are one; after one that failed the next one starts all the same."""
    said = json.loads(run(RESTARTS, tmp_path, tmp_path))
    assert (said["most"], said["n"]) == (1, 2)
    assert said["said"] == ["rejected", "fulfilled", "fulfilled"]


PIECES = Path(__file__).with_name("partial.mjs").read_text("utf-8")


def test_lines_are_accepted_one_by_one_with_either_line_end(tmp_path: Path) -> None:
    """The length counts in the text that the server sent; the whole of it is no part."""
    said = json.loads(run(PIECES, tmp_path, tmp_path))
    assert said["lf"] == [" > 1:", " > 1:\n    stop()"]
    assert said["crlf"] == said["lf"]
    assert said["typed"] == [" > 1:"]  # the key Enter is one character
