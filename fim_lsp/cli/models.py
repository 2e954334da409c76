"""
`fim-lsp models`: which models are on this machine, how large and how fast they are, and which one
answers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fim_lsp.cli.terminal import screen_on
from server_bridge.weights.table import GIGABYTE

LEGEND = """\
ms a token: to write one, a line is some 12. First look: to read 1,536 tokens of a file once. Both \
are estimates by the model's size and this machine's cores, "-" is not known; fim-lsp doctor measures \
the model that answers."""


class Listed(NamedTuple):
    """
    A file of weights as the table shows it.

    *name* is that of the table of models, else the file's; *n_bytes* are those of the whole file.
    *first_look_s* is 0 where it is not known. *missing*: bytes that an interrupted download lacks.
    """

    name: str
    path: Path
    n_bytes: int
    ms_per_token: float = 0.0
    first_look_s: float = 0.0
    is_active: bool = False
    missing: int = 0


class Here(NamedTuple):
    """The models on this machine, and in words what *answers* in editors."""

    listed: Sequence[Listed]
    answers: str


def show(here: Here) -> int:
    """Print the table; returns the exit code."""
    screen = screen_on(sys.stdout)
    if here.listed:
        width = max(len("model"), *(len(each.name) for each in here.listed))
        screen.line(f"  {'model':<{width}} {'GB':>5} {'ms a token':>11} {'first look':>11}")
        for each in here.listed:
            screen.line(_row(each, width))
        screen.line()
        screen.say(LEGEND)
    else:
        screen.say("This machine has only the bundled model, a toy. Get a real one: fim-lsp setup")
    screen.say(f"Your editors get suggestions from {here.answers}.")
    return 0


def _row(listed: Listed, width: int) -> str:
    mark = "→" if listed.is_active else " "
    head = f"{mark} {listed.name:<{width}} {_gigabytes(listed.n_bytes):>5}"
    if listed.missing:
        missing = f"incomplete, {_gigabytes(listed.missing)} GB are missing"
        return f"{head}   {missing}: fim-lsp setup --get {listed.name}"
    first_look = f"{listed.first_look_s:.0f} s" if listed.first_look_s else "-"
    return f"{head} {listed.ms_per_token:>11.0f} {first_look:>11}  {listed.path}"


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / GIGABYTE:.1f}"
