"""The VS Code extension starts one server, however often and fast it is asked to: its part in Node."""

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
