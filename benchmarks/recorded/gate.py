"""
What rules for the end of a suggestion give in a recorded session: in seconds, on what a model said there.

    python -m benchmarks.recorded.gate [ANSWERS]

A rule is chosen on the first half and reported on the second. *Longest* is the longest beginning that is likely enough, as it is
shown; *best* the one of those by which a reader saves most (`gain`). Behind a text that ends its line, further lines are judged by
their own odds: those of a *body* that its head opens, those that only *close*, or *any*.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.arguments import parser
from benchmarks.gate import SURE
from benchmarks.real_sessions.readers import usual_read_s
from benchmarks.recorded.answers import ANSWERS, is_quiet, read_answers
from benchmarks.recorded.log import SESSION, read
from benchmarks.recorded.pauses import Pause, pauses
from benchmarks.recorded.scores import HEAD, Shown, recorded, row
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import least
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters.order import polish

DEFAULT = 0.3
SURE_LINE, SURE_NEXT = 0.8, 0.3  # of the text, and of each line behind it
LINES = 10
SURER = (0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # thresholds above the user's that are tried
TOO_HIGH = 2  # the odds: their square is nearer to how often a text is right (suggest/confidence)
CLOSING = re.compile(r"[)\]};,\s]+")
Rule = Callable[[Pause, Candidate], str]


def longest(sure: float, pause: Pause, said: Candidate) -> str:
    """Return what an automatic request is shown."""
    return polish(decode(sure, pause, said), pause.cursor, sure).text


def best(sure: float, pause: Pause, said: Candidate) -> str:
    """Return the beginning by which a reader saves most, of all that are likely enough."""
    decoded = decode(sure, pause, said)
    surer = (sure, *(least for least in SURER if least > sure))
    return max((polish(decoded, pause.cursor, one) for one in surer), key=gain).text


def gain(candidate: Candidate) -> float:
    """
    Return the keys that people save by a text, expected per second of reading; each line is worth as much as it
    is likely that all is right up to its end.
    """
    saved, at, lines = 0.0, 0, candidate.text.split("\n")
    for n, line in enumerate(lines):
        at += len(line) + (n > 0)
        n_keys = 1 + len(line.lstrip()) if n else len(line) - 1  # one accepts it
        saved += math.exp(TOO_HIGH * _total(candidate, 0, at)) * n_keys
    return saved / usual_read_s(candidate.text)


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
    more = polish(Candidate(said.text[:end], True, said.odds), cursor, 0.0, off=("extent",)).text
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
    f"best, {DEFAULT}": partial(best, DEFAULT),
    "best, 0.2": partial(best, 0.2),
    **{
        f"longest, {DEFAULT}, and {wanted}": partial(go_on, partial(longest, DEFAULT), wanted)
        for wanted in ("body", "close", "any")
    },
    f"best, {DEFAULT}, and any": partial(go_on, partial(best, DEFAULT), "any"),
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
