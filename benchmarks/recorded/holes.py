"""
How many keys a hole in place of a wrong word would save, in a recorded session, on what a model said there.

    python -m benchmarks.recorded.holes [ANSWERS]

One key takes the line without the wrong place and leaves the cursor there; what belongs there is typed, and one more key goes to the
line's end. Against that stands one key for what today's suggestion has right, and the rest typed. *Known* is the place that
turns out to be wrong: a limit. *Least sure* is the name or sign of which the model is least sure, where the rest of its
line is likely enough to be shown. A line counts once, at the pause where it saves most.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.real_sessions.taking import take
from benchmarks.recorded.answers import ANSWERS, is_quiet, read_answers
from benchmarks.recorded.gate import DEFAULT, shown
from benchmarks.recorded.log import SESSION, Changed, entries, read
from benchmarks.recorded.pauses import HALVES, KEY, Pause, pauses
from benchmarks.recorded.scores import Shown, read_by_people
from fim_lsp.documents import alike
from fim_lsp.suggest.confidence import least
from fim_lsp.suggest.cursor import Candidate

TAIL = 4  # characters behind a hole, at least
WORD = re.compile(r"\w+|\s+|[^\w\s]")


class Line(NamedTuple):
    """The first line of what was said, and the part of it from *start* to *end* that is to be a hole."""

    text: str
    start: int
    end: int

    @property
    def ends(self) -> tuple[str, str]:
        """What stands around the hole."""
        return self.text[: self.start], self.text[self.end :]


Find = Callable[[Pause, Candidate], Line | None]


def known(pause: Pause, said: Candidate) -> Line | None:
    """Return the line with the place that is wrong, if there is one only."""
    line, meant = (one.partition("\n")[0] for one in (said.text, pause.truth))
    head, tail = alike(line, meant)
    is_wrong = head < min(len(line), len(meant)) and "\n" in said.text
    return Line(line, head, len(line) - tail) if is_wrong else None


def least_sure(_: Pause, said: Candidate) -> Line | None:
    """Return the line with the least sure of its words, where the others are likely to be right."""
    line = said.text.partition("\n")[0]
    doubts = [(_logprob(said, *match.span()), *match.span()) for match in WORD.finditer(line)]
    if not doubts or "\n" not in said.text:
        return None
    doubt, start, end = min(doubts)
    rest = sum(one for one, *_ in doubts) - doubt
    return Line(line, start, end) if rest >= least(DEFAULT) and doubt < math.log(0.5) else None


def _logprob(said: Candidate, start: int, end: int) -> float:
    """Return the logarithm of the probability of the tokens that begin in a part of the text."""
    begun, total = 0, 0.0
    for at, logprob in said.odds:
        total += (logprob or 0.0) if start <= begun < end else 0.0
        begun = at
    return total


def saved(pause: Pause, said: Candidate, line: Line) -> int:
    """Return the keys that a hole saves against today's suggestion, 0 where the line is wrong elsewhere, too."""
    meant, (head, tail) = pause.truth.partition("\n")[0], line.ends
    is_right = meant.startswith(head) and meant[len(head) :].endswith(tail)
    if not is_right or len(tail) < TAIL:
        return 0
    taken = len(take(shown(DEFAULT, pause, said), pause.truth))
    today = len(meant) - min(taken, len(meant)) + bool(taken)
    return max(0, today - (len(meant) - len(head) - len(tail)) - 2)


def lines(
    places: list[Pause], answers: dict[int, Candidate], find: Find
) -> Iterator[tuple[Pause, Line, int]]:
    """Yield the pauses in which a hole is offered, with what it saves."""
    for pause in places:
        said = answers.get(pause.change)
        if (
            said
            and not is_quiet(pause)
            and (line := find(pause, said))
            and line.ends[1][TAIL - 1 :]
        ):
            yield pause, line, saved(pause, said, line)


def summary(name: str, offered: list[tuple[Pause, Line, int]], n_typed: int) -> str:
    """Return what holes save, in words."""
    best_of: dict[tuple[str, str], tuple[int, float]] = {}
    for pause, line, n_saved in offered:
        whole = pause.text[: pause.at].rpartition("\n")[2] + pause.truth.partition("\n")[0]
        by_people = n_saved * read_by_people(Shown(pause, line.text))
        key = pause.path, whole
        best_of[key] = max(best_of.get(key, (0, 0.0)), (n_saved, by_people))
    n_right = sum(bool(n) for *_, n in offered)
    keys, by_people = (
        (sum(column) for column in zip(*best_of.values(), strict=True)) if best_of else (0, 0)
    )
    return (
        f"{name}: offered {len(offered)}, right {n_right}; in different lines {keys} keys saved,"
        f" {keys / n_typed:.1%} of those typed, {by_people:.0f} by people, {by_people / n_typed:.1%}"
    )


def main() -> None:
    """Count both kinds in each half."""
    recording, answers = read(SESSION), read_answers(ANSWERS)
    changes = [entry for entry in entries(recording) if isinstance(entry, Changed)]
    n_typed = sum(len(e.text) for entry in changes for e in entry.edits if len(e.text) <= KEY)
    print(f"{n_typed} characters were typed in all")
    for half in HALVES:
        for name, find in (("known", known), ("least sure", least_sure)):
            offered = [*lines(pauses(recording, half), answers, find)]
            print(summary(f"{half}, {name}", offered, n_typed))


if __name__ == "__main__":
    main()
