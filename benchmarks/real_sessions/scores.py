"""
What was on screen in each pause, against what the person wrote: counts and tables. Pure.

Right characters are the common beginning of the shown text and of what was written there, wrong ones the rest
of what is shown; so a text of several lines that goes wrong early has many wrong ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from benchmarks import markdown
from fim_lsp.documents import n_common

AFTER_S = (0.1, 0.3, 1.0, 2.0, 4.0)  # after the last key
HEAD = ("after the last key", "shown", "first line exact", "right", "wrong")


class Shown(NamedTuple):
    """A ghost *text*, "" for none, and when it came on screen, in milliseconds after the last key."""

    ms: float
    text: str


class Decision(NamedTuple):
    """Something that fim-lsp decided at a time: *what* (filters, end), in which *words*."""

    at: float
    what: str
    words: str


class Pause(NamedTuple):
    """
    One pause: the line so far, what was written behind it, what was shown.

    *key* is when the last key came, *ended* when the pause did, in seconds.
    """

    where: str
    typed: str
    expected: str
    key: float
    ended: float
    shown: tuple[Shown, ...]

    def at(self, seconds: float) -> str:
        """Return the ghost text so long after the last key."""
        return next((shown.text for shown in self.shown[::-1] if shown.ms <= seconds * 1000), "")


class Read(NamedTuple):
    """A text that was read behind *at* characters of the block, and what of it was *taken*."""

    at: int
    text: str
    expected: str
    taken: str

    def take(self, text: str) -> Read:
        """Return it with more of it taken."""
        return self._replace(taken=self.taken + text)


class Accepted(NamedTuple):
    """
    A session with a typist who accepts: keys alone and as pressed; what was read.

    *pressed* has the time of the key at each place of the block that got one, *shown* that of each text on screen.
    *n_chars* are all that stand there in the end, with the indentation, which the editor types.
    """

    n_alone: int
    n_pressed: int
    reads: tuple[Read, ...]
    pressed: tuple[tuple[int, float], ...]
    shown: tuple[tuple[float, str], ...]
    seconds: float
    alone_s: float
    n_chars: int


class Played(NamedTuple):
    """
    A session as one client had it, with *pauses*, or *accepted*; *decisions* are fim-lsp's own.

    *cpu_s* is CPU time of the model server, *others_s* of what else ran on the machine.
    """

    client: str
    session: str
    pauses: tuple[Pause, ...]
    decisions: tuple[Decision, ...]
    evaluated: int
    decoded: int
    cpu_s: float
    others_s: float
    accepted: Accepted | None = None


class Score(NamedTuple):
    """Pauses with ghost text, those whose first line is exact, and characters."""

    shown: int
    exact: int
    right: int
    wrong: int


def score(texts: Iterable[tuple[str, str]]) -> Score:
    """Of shown texts, each beside what was *expected*."""
    shown = exact = right = wrong = 0
    for text, expected in texts:
        same = n_common(text, expected)
        first, meant = (whole.partition("\n")[0].rstrip() for whole in (text, expected))
        shown += bool(text.strip())
        exact += bool(first) and first == meant
        right = right + same
        wrong = wrong + len(text) - same
    return Score(shown, exact, right, wrong)


def ends(played: Iterable[Played]) -> Counter[str]:
    """Return how requests ended, as fim-lsp counts them."""
    return Counter(words for one in played for _, what, words in one.decisions if what == "end")


def table(played: Sequence[Played]) -> str:
    """Return a client's sessions in Markdown, by the time after the last key."""
    pauses = [pause for session in played for pause in session.pauses]
    rows = [
        (f"{seconds} s", *score((pause.at(seconds), pause.expected) for pause in pauses))
        for seconds in AFTER_S
    ]
    return f"{markdown.table(HEAD, rows)}\n\n{costs(played)}"


def costs(played: Sequence[Played]) -> str:
    """Return what a client's sessions cost, in words."""
    cpu = sum(session.cpu_s for session in played)
    total = [
        sum(session.evaluated for session in played),
        sum(session.decoded for session in played),
    ]
    how = ", ".join(f"{words} {n}" for words, n in ends(played).most_common())
    return (
        f"{sum(len(session.pauses) for session in played)} pauses in {len(played)} sessions. "
        f"The model: {cpu:.0f} CPU seconds, {total[0]} tokens evaluated, {total[1]} decoded. "
        f"Requests ended: {how or 'none'}. "
        f"Other work on the machine took {sum(session.others_s for session in played):.0f} CPU seconds meanwhile."
    )


def explain(played: Played) -> str:
    """Return each pause of a session: what was typed, and shown, and what fim-lsp made of it."""
    rows = [f"## {played.client}: {played.session}"]
    for pause in played.pauses:
        first = next((moment for moment in pause.shown if moment.text.strip()), None)
        text = pause.at(AFTER_S[-1])
        one = score([(text, pause.expected)])
        rows += [
            f"\n{pause.where}: typed {pause.typed!r}",
            f"  written  {pause.expected[: len(text) + 40]!r}",
            f"  shown    {text!r}" + (f", first after {first.ms:.0f} ms" if first else "")
            + f", {one.right} right, {one.wrong} wrong",
        ]  # fmt: skip
        rows += [
            f"  {moment.at - pause.key:+7.3f} s {moment.what}: {moment.words}"
            for moment in played.decisions
            if pause.key <= moment.at <= pause.ended
        ]
    return "\n".join(rows)
