"""
The tasks of `tasks.toml`, and whether an edited file does what was asked: its asserts are run.

What a model wrote is run as a program of this user, so run this where that may be.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

SECONDS = 20
OPEN, CLOSE = "⟦", "⟧"


class Task(NamedTuple):
    """A file, the lines [first, last) of it that are selected, and an instruction."""

    kind: str
    language: str
    text: str
    first: int
    last: int
    ask: str
    check: str
    has: str = ""
    lacks: str = ""

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @property
    def selection(self) -> str:
        return "\n".join(self.lines[self.first : self.last])

    def edited(self, selection: str) -> str:
        """Return the file with another text instead of the selected lines."""
        lines = self.lines
        return "\n".join([*lines[: self.first], *selection.split("\n"), *lines[self.last :]])


def tasks() -> list[Task]:
    return list(
        map(_task, tomllib.loads(Path(__file__).with_name("tasks.toml").read_text())["task"])
    )


def _task(raw: dict[str, str]) -> Task:
    code = raw["code"].lstrip("\n")
    before, _, rest = code.partition(OPEN)
    selected, _, after = rest.partition(CLOSE)
    selected = selected.rstrip("\n")
    first = before.count("\n")
    language = "typescript" if raw.get("ts") else "python"
    text = before + selected + "\n" + after.removeprefix("\n")
    last = first + selected.count("\n") + 1
    more = {name: raw.get(name, "") for name in ("check", "has", "lacks")}
    return Task(raw["kind"], language, text, first, last, raw["ask"], **more)


def problem(task: Task, text: str, esbuild: str) -> str:
    """Return why the edited *text* is not what was asked for, "" where it is."""
    if task.has and not re.search(task.has, text):
        return f"has no {task.has}"
    if task.lacks and re.search(task.lacks, text):
        return f"has {task.lacks}"
    try:
        return (
            _python(task, text) if task.language == "python" else _typescript(task, text, esbuild)
        )
    except subprocess.TimeoutExpired:
        return "runs too long"


def _python(task: Task, text: str) -> str:
    return _run([sys.executable, "-I", "-"], f"{text}\n{task.check}\n")


def _typescript(task: Task, text: str, esbuild: str) -> str:
    """Types are stripped, not checked."""
    source = f'import assert from "node:assert";\n{text}\n{task.check}\n'
    made = subprocess.run(
        [esbuild, "--loader=ts", "--format=esm"],
        input=source, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    if made.returncode:
        return made.stderr.strip()[:200]
    return _run(["node", "--input-type=module", "-"], made.stdout)


def _run(command: list[str], text: str) -> str:
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    return "" if not done.returncode else (done.stderr.strip().splitlines() or ["failed"])[-1][:200]
