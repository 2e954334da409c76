"""
Cases of edits by instruction: one TOML file each, in `cases/<kind>/`.

`text` is a file in which `«` and `»` stand around the selection. `answer` is what a chat model says
to `instruction`, and `again` what it says when it is asked once more. `expected` is the text after;
without it nothing is changed, and `note` says why. `begun` (true): the answer was begun for the
model, as llama.cpp does.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

CASES = Path(__file__).parent / "cases"
INSTRUCTION = "improve it"


def cases() -> dict[str, dict[str, Any]]:
    paths = sorted(CASES.rglob("*.toml"))
    return {
        path.relative_to(CASES).with_suffix("").as_posix(): tomllib.loads(path.read_text("utf-8"))
        for path in paths
    }
