"""
`fim-lsp models`, and the models on offer for this machine: tables, questions, the progress of a
download.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fim_lsp.cli.terminal import Screen, fit, screen_on, unbroken
from server_bridge.weights.table import GIGABYTE, Offer

OFFERS_LEGEND = """\
Memory: at most, in GB, with the file. ms a token: to write one, a line is some 12. First look: to \
read a file once. Lines and across: how often a line is right to the letter, as published, within \
a file and where it takes others."""
Ask = Callable[[str], str]
MEGABYTE = 1e6
BAR = 24  # characters
TABLE_WIDTH = 79  # 80 × 12, with the question, is a terminal in VS Code
EVERY_S = 0.2  # a person reads no faster
OFTEN = 10  # lines in all where no line can be rewritten


def list_offers(offers: Sequence[Offer], width: int) -> list[str]:
    """Return the table: what each costs, what it is worth, under which licence."""
    if width < TABLE_WIDTH:
        return [line for offer in offers for line in _lines(offer)]
    costs = f"{'GB':>4} {'memory':>6} {'ms a token':>10} {'first look':>10}"
    return [f"  {'':<9} {costs} {'lines':>5} {'across':>6} licence", *map(_offer_row, offers)]


def choose_offer(screen: Screen, offers: Sequence[Offer], best: Offer, ask: Ask) -> Offer | None:
    """
    Show all, and return the offer that the user wants: Enter takes the *best*, a name another, n
    none.
    """
    screen.say("Models, and their cost on this machine (see docs/models.md):")
    for row in list_offers(offers, screen.width):
        screen.line(row)
    screen.say(" ".join([OFFERS_LEGEND, *_list_conditions(offers)]))
    by_name = {offer.model.name: offer for offer in offers}
    question = f"Get {best.model.name}, {_size(best)}? Enter, another name, or n: "
    while (answer := ask(question).strip().lower()) not in {"n", "no", *by_name}:
        if answer in {"", "y", "yes"}:
            return best
        names = ", ".join(by_name)
        question = f"{answer} is none of {names}. Enter for {best.model.name}, a name, or n: "
    chosen = by_name.get(answer)
    if chosen is None or not chosen.memory:
        return chosen
    question = f"{chosen.model.name} {_describe_lack(chosen)}. Get it all the same? [y/N] "
    return chosen if ask(question).strip().lower() in {"y", "yes"} else None


def agrees(offer: Offer, *, is_sure: bool) -> bool:
    """
    Ask whether it may be downloaded; without a terminal to ask in, no. If the user *is_sure*, only
    a model that is too large is asked about, and said where there is no terminal.
    """
    screen = screen_on(sys.stdout)
    model = offer.model
    what = f"{model.name}: {_size(offer)} from huggingface.co, licence {model.licence}"
    if offer.memory:
        what += f"; it {_describe_lack(offer)}"
    if is_sure and not (offer.memory and sys.stdin.isatty()):
        if offer.memory:
            screen.say(f"{what}.")
        return True
    if not sys.stdin.isatty():
        screen.say(f"{what}. Allow that with --yes.")
        return False
    return input(fit(f"{what}. Continue? [y/N] ", screen.width)).strip().lower() in {"y", "yes"}


def progress(screen: Screen, name: str) -> Callable[[int, int], None]:
    """Return a function that takes how many bytes of how many are here, and shows it."""
    began = time.monotonic()
    first: int | None = None
    last = 0.0
    tenths = 0

    def show(n_here: int, n_all: int) -> None:
        nonlocal first, last, tenths
        first = n_here if first is None else first
        now = time.monotonic()
        per_s = (n_here - first) / max(now - began, 0.001)
        text = f"{name} {n_here / MEGABYTE:,.0f} of {n_all / MEGABYTE:,.0f} MB"
        if screen.live and (now - last > EVERY_S or n_here == n_all):
            last = now
            n_full = BAR * n_here // n_all
            bar = "█" * n_full + "░" * (BAR - n_full)
            screen.status(f"{bar} {text}{_describe_rest(n_all - n_here, per_s)}")
        elif not screen.live and OFTEN * n_here // n_all > tenths:
            tenths = OFTEN * n_here // n_all
            screen.line(text)

    return show


def _describe_rest(n_bytes: int, per_s: float) -> str:
    if per_s < 1:
        return ""
    seconds = n_bytes / per_s
    time_left = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"  # noqa: PLR2004
    return f", {per_s / MEGABYTE:.1f} MB/s, {time_left} left"


def _lines(offer: Offer) -> list[str]:
    """Return *offer* for a screen that the table is too wide for."""
    name = f"{'→' if offer.is_best else ' '} {offer.model.name}, {_size(offer)}"
    name += f", {_gigabytes(offer.needs)} in memory"
    cost = f"{offer.ms_per_token:.0f} ms a token, first look {offer.first_look_s:.0f} s"
    if offer.memory:
        cost = _describe_lack(offer).partition(";")[0]
    return [name, f"  {cost}", f"  {offer.model.licence}"]


def _offer_row(offer: Offer) -> str:
    model = offer.model
    mark = "→" if offer.is_best else " "
    name = f"{mark} {model.name:<9} {_gigabytes(model.n_bytes):>4}"
    if offer.memory:
        return f"{name}   {_describe_lack(offer)}"
    lines, across = (f"{n:.0f} %" if n else "-" for n in (model.lines, model.across_files))
    licence, condition, _ = model.licence.partition(" (")
    note = ", here" if offer.path else ""
    cost = f"{_gigabytes(offer.needs):>6} {offer.ms_per_token:>10.0f} {offer.first_look_s:>8.0f} s"
    return f"{name} {cost} {lines:>5} {across:>6} {licence}{'*' if condition else ''}{note}"


def _list_conditions(offers: Sequence[Offer]) -> list[str]:
    """Return what the stars of the table stand for, once each."""
    conditions = (offer.model.licence.partition(" (")[2] for offer in offers)
    return [*dict.fromkeys(f"* {text.removesuffix(')')}." for text in conditions if text)]


def _describe_lack(offer: Offer) -> str:
    """Return how much memory the model needs, and how much there is."""
    needed = _gigabytes(offer.needs)
    return f"takes {needed} GB of memory; this machine has {_gigabytes(offer.memory)}"


def _size(offer: Offer) -> str:
    return "here already" if offer.path else f"{offer.model.n_bytes / GIGABYTE:.1f} GB"


LEGEND = """\
Memory: at most, in GB, with the file. ms a token: to write one, a line is some 12. First look: to \
read 1,536 tokens of a file once. Times are estimates by the model's size and this machine's \
cores, "-" is not known; fim-lsp doctor measures the model that answers."""


class Listed(NamedTuple):
    """
    A file of weights as the table shows it.

    *name* is that of the table of models, else the file's; *n_bytes* are those of the whole file.
    *needs* is how many bytes of memory it takes at most. *ms_per_token* and *first_look_s* are 0
    where they are not known. *missing*: bytes that an interrupted download lacks.
    """

    name: str
    path: Path
    n_bytes: int
    needs: int = 0
    ms_per_token: float = 0.0
    first_look_s: float = 0.0
    is_active: bool = False
    missing: int = 0


def show_json(listed: Sequence[Listed], answers: str) -> int:
    """Print the same for programs; returns the exit code."""
    rows = [file._asdict() | {"path": str(file.path)} for file in listed]
    print(json.dumps({"answers": answers, "models": rows}, indent=2))
    return 0


def show(listed: Sequence[Listed], answers: str, stopping: Sequence[str] = ()) -> int:
    """
    Print the table, and in words what *answers* in editors, once the files that are *stopping* it
    are corrected; returns the exit code.
    """
    screen = screen_on(sys.stdout)
    if listed:
        width = max(len("model"), *(len(file.name) for file in listed))
        costs = f"{'GB':>5} {'memory':>7} {'ms a token':>11} {'first look':>11}"
        screen.line(f"  {'model':<{width}} {costs}")
        for file in listed:
            screen.line(_row(file, width))
        screen.line()
        screen.say(LEGEND)
    else:
        screen.say("This machine has no model but the bundled one.")
    if stopping:
        until = f"no suggestions until {', '.join(stopping)} is corrected, then those"
        screen.say(f"Your editors get {until} of {answers}.")
    else:
        screen.say(f"Your editors get suggestions from {answers}.")
    return 0


def _row(listed: Listed, width: int) -> str:
    mark = "→" if listed.is_active else " "
    head = f"{mark} {unbroken(listed.name):<{width}} {_gigabytes(listed.n_bytes):>5}"
    if listed.missing:
        missing = f"incomplete, {_gigabytes(listed.missing)} GB are missing"
        return f"{head}   {missing}: fim-lsp setup --get {listed.name}"
    first_look = f"{listed.first_look_s:.0f} s" if listed.first_look_s else "-"
    head += f" {_gigabytes(listed.needs) if listed.needs else '-':>7}"
    return f"{head} {listed.ms_per_token:>11.0f} {first_look:>11}  {unbroken(str(listed.path))}"


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / GIGABYTE:.1f}"
