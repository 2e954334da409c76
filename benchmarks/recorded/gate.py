"""
What rules for the end of a suggestion give in a recorded session: in seconds, on what a model said there.

    python -m benchmarks.recorded.gate [ANSWERS]

A rule is chosen on the first half and reported on the second. *Longest* is the longest beginning that is likely enough, *shown* the
one of those, with thresholds up to twice as high, of which a reader has most. Behind a text that ends its line, further lines are judged by
their own odds: those of a *body* that its head opens, those that only *close*, or *any*.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest.mock import patch

from benchmarks.arguments import parser
from benchmarks.gate import SURE
from benchmarks.recorded.answers import ANSWERS, is_quiet, read_answers
from benchmarks.recorded.log import SESSION, read
from benchmarks.recorded.pauses import Pause, pauses
from benchmarks.recorded.scores import HEAD, Shown, recorded, row
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import least
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters import order

DEFAULT = 0.3
SURE_LINE, SURE_NEXT = 0.8, 0.3  # of the text, and of each line behind it
LINES = 10
CLOSING = re.compile(r"[)\]};,\s]+")
Rule = Callable[[Pause, Candidate], str]


def longest(sure: float, pause: Pause, said: Candidate) -> str:
    """Return the longest beginning that is likely enough."""
    with patch.object(order, "SURER", (1,)):
        return shown(sure, pause, said)


def shown(sure: float, pause: Pause, said: Candidate) -> str:
    """Return what an automatic request is shown."""
    return order.polish(decode(sure, pause, said), pause.cursor, sure).text


def decode(sure: float, pause: Pause, said: Candidate) -> Candidate:
    """Return as much of what was *said* as is decoded."""
    total = 0.0
    for end, logprob in said.odds:
        total += logprob or 0.0
        if total < least(sure):
            return Candidate(said.text[:end], False, said.odds)
    is_whole = said.whole or boundary.enough(said.text, pause.cursor)
    return Candidate(said.text, is_whole, said.odds)


def go_on(rule: Rule, wanted: str, pause: Pause, said: Candidate) -> str:
    """Return what a rule shows, with the lines behind it that are sure: of a body, those that close, or any."""
    text, cursor, end = rule(pause, said), pause.cursor, 0
    is_sure = math.exp(_total(said, 0, len(text))) >= SURE_LINE
    opens = (cursor.before + text).rstrip().endswith(("{", ":"))
    if cursor.after.strip() or not is_sure or not said.text.startswith(text):
        return text
    if wanted == "body" and not opens:
        return text
    for line_end in _line_ends(said, len(text)):
        line = said.text[max(end, len(text)) : line_end]
        closes = not CLOSING.sub("", line)
        is_next = line.strip() and _total(said, max(end, len(text)), line_end) >= least(SURE_NEXT)
        if not is_next or (wanted == "close" and not closes):
            break
        end = line_end
    more = order.polish(
        Candidate(said.text[:end], True, said.odds), cursor, 0.0, off=("extent",)
    ).text
    return more if len(more) > len(text) else text


def _line_ends(said: Candidate, at: int) -> Iterator[int]:
    """Yield the ends of the lines that begin behind *at*, where a line ends."""
    for _ in range(LINES):
        if said.text[at : at + 1] != "\n":
            return
        newline = said.text.find("\n", at + 1)
        if newline < 0 and not said.whole:
            return
        at = newline if newline >= 0 else len(said.text)
        yield at


def _total(said: Candidate, start: int, end: int) -> float:
    """Return the logarithm of the product of the tokens that end behind *start*, up to *end*."""
    return sum(logprob or 0.0 for at, logprob in said.odds if start < at <= end)


RULES: dict[str, Rule] = {
    **{f"longest, {sure}": partial(longest, sure) for sure in SURE if sure <= DEFAULT * 2},
    **{f"shown, {sure}": partial(shown, sure) for sure in SURE if sure <= DEFAULT},
    **{
        f"longest, {DEFAULT}, and {wanted}": partial(go_on, partial(longest, DEFAULT), wanted)
        for wanted in ("body", "close", "any")
    },
    f"shown, {DEFAULT}, and any": partial(go_on, partial(shown, DEFAULT), "any"),
    "all that was said": lambda _, said: said.text,
}


def table(places: list[Pause], answers: dict[int, Candidate]) -> str:
    """Return the figures of each rule."""
    loud = [pause for pause in places if pause.change in answers and not is_quiet(pause)]
    rows = [HEAD, row("as recorded", recorded(places), timed=False)]
    for name, rule in RULES.items():
        shown = [Shown(pause, rule(pause, answers[pause.change])) for pause in loud]
        rows.append(row(name, shown, timed=False))
    return "\n".join(rows)


def main() -> None:
    """Print a table for each half, and one for the pauses that were followed by typing."""
    options = _options()
    answers = read_answers(options.answers)
    recording = read(SESSION)
    for half in ("tune", "held"):
        print(f"{half}:\n\n{table(pauses(recording, half), answers)}\n")
    by_hand = [pause for pause in pauses(recording) if pause.is_typed]
    print(f"typed by hand:\n\n{table(by_hand, answers)}")


def _options() -> argparse.Namespace:
    arguments = parser("recorded.gate", __doc__)
    arguments.add_argument("answers", nargs="?", type=Path, default=ANSWERS, metavar="ANSWERS")
    return arguments.parse_args()


if __name__ == "__main__":
    main()
