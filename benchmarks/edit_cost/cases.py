"""
Files with two functions to change one after the other, and whether that was done.

The files are modules of the standard library with two functions of `edit_tasks` in them, and the instructions are those
tasks': ones that Qwen2.5-Coder 0.5B follows in these files, since an answer that changes nothing shows no time.
"""

from __future__ import annotations

import ast
import glob
import graphlib
import inspect
import queue
from types import ModuleType
from typing import NamedTuple

from benchmarks.edit_tasks.checks import Task, problem, tasks

FENCE = "```"


class Case(NamedTuple):
    """A module, and the functions of two tasks, by their names."""

    module: ModuleType
    functions: tuple[str, str]

    @property
    def tasks(self) -> tuple[Task, Task]:
        """Return what is to be done, one after the other."""
        first, second = map(task_of, self.functions)
        return first, second

    @property
    def text(self) -> str:
        """Return the file before all changes: one function in its middle, one before the last definition."""
        lines = inspect.getsource(self.module).rstrip("\n").split("\n")
        starts = [
            min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
            for node in ast.parse("\n".join(lines)).body
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
        ]
        first, second = (task.selection.split("\n") for task in self.tasks)
        middle = starts[len(starts) // 2]
        end = max(starts[-1], middle + 1)
        return "\n".join(
            [*lines[:middle], *first, "", "", *lines[middle:end], *second, "", "", *lines[end:], ""]
        )


CASES = (
    Case(glob, ("calc", "area")),
    Case(graphlib, ("get", "repeat")),
    Case(queue, ("greet", "top")),
)


def task_of(name: str) -> Task:
    """Return the first task about the function *name*."""
    return next(task for task in tasks() if task.selection.startswith(f"def {name}("))


def lines_of(text: str, task: Task) -> tuple[int, int]:
    """Return the first and the last line of a task's function in a file, counted from 1."""
    first = text[: text.index(task.selection)].count("\n") + 1
    return first, first + task.selection.count("\n")


def outcome(before: str, after: str, task: Task) -> str:
    """Return what became of a file: done, or what is wrong with it."""
    if after.strip() == before.strip():
        return "unchanged"
    if FENCE in after and FENCE not in before:
        return "fences"
    function = task._replace(has="", lacks="")
    return "done" if not problem(function, after, "") else "another change"
