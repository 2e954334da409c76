"""`fim-lsp models`: which models are on this machine, how large and how fast they are, and which one answers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fim_lsp.cli.terminal import Screen, fit, screen_on
from server_bridge.weights.table import GIGABYTE

LEGEND = """\
ms a token: to write one, a line is some 12. First look: to read 1,536 tokens of a file once. "computed" is an estimate by the \
model's size, "-" is not known: fim-lsp models measure measures it."""


class Listed(NamedTuple):
    """
    A file of weights as the table shows it.

    *name* is that of the table of models, else the file's. *ms_per_token* and *first_look_s* are 0 where nothing is known.
    *is_ours*: it may be deleted here. *missing*: bytes that an interrupted download still lacks.
    """

    name: str
    path: Path
    n_bytes: int
    ms_per_token: float = 0.0
    first_look_s: float = 0.0
    is_measured: bool = False
    is_active: bool = False
    is_ours: bool = True
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


def remove(
    here: Here, name: str, delete: Callable[[Listed], None], ask: Callable[[str], str] | None
) -> int:
    """Have the model called *name* deleted, if the user agrees (None: without asking); returns the exit code."""
    screen = screen_on(sys.stdout)
    if (found := find_listed(here, name, screen)) is None:
        return 1
    if not found.is_ours:
        screen.say(
            f"fim-lsp: {found.path} was not downloaded by fim-lsp, and other programs may use it: delete it yourself"
        )
        return 1
    then = " It is in use; without it the bundled model answers, a toy." if found.is_active else ""
    what = f"Delete {found.path}, {_gigabytes(found.n_bytes)} GB?{then}"
    if ask and ask(fit(f"{what} [y/N] ", screen.width)).strip().lower() not in {"y", "yes"}:
        screen.line("Nothing was changed.")
        return 1
    try:
        delete(found)
    except OSError as error:
        screen.say(f"fim-lsp: {found.path} cannot be deleted: {error.strerror or error}")
        return 1
    screen.say(f"Deleted {found.path}: {_gigabytes(found.n_bytes)} GB.")
    return 0


def find_listed(here: Here, name: str, screen: Screen) -> Listed | None:
    """Return the one called *name*, by the table or by its file; says what there is where there is none."""
    for each in here.listed:
        if name in (each.name, each.path.name, str(each.path)):
            return each
    names = ", ".join(each.name for each in here.listed) or "none"
    screen.say(f"fim-lsp: there is no model {name!r} on this machine; there are: {names}")
    return None


def _row(each: Listed, width: int) -> str:
    mark = "→" if each.is_active else " "
    head = f"{mark} {each.name:<{width}} {_gigabytes(each.n_bytes):>5}"
    if each.missing:
        return f"{head}   incomplete, {_gigabytes(each.missing)} GB are missing: fim-lsp setup --get {each.name}"
    if not each.ms_per_token:
        return f"{head} {'-':>11} {'-':>11}  {'':<8}  {each.path}"
    how = "measured" if each.is_measured else "computed"
    return f"{head} {each.ms_per_token:>11.0f} {each.first_look_s:>9.0f} s  {how}  {each.path}"


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / GIGABYTE:.1f}"
