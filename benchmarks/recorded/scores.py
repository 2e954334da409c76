"""
What was shown in the pauses of a recorded session, in figures: right, wrong, length, keys saved by two readers. Pure.

The readers (`real_sessions.readers`) take what one key takes of a text, if the pause leaves them the time to read it;
of people that is a share, so they save an expected number of keys. Who glances reads every text, as the quick reader
does, and pays for it with *glances*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import mean, median
from typing import NamedTuple

from benchmarks.real_sessions.readers import QUICK_S, glance_s, share_of_readers
from benchmarks.real_sessions.scores import score
from benchmarks.real_sessions.taking import n_keys, take
from benchmarks.recorded.pauses import Pause
from benchmarks.recorded.replay import Answer


class Shown(NamedTuple):
    """A *text* on screen in a pause, "" for none, after so many milliseconds, of which a reader has *waited* some."""

    pause: Pause
    text: str
    ms: float = 0.0
    waited_ms: float = 0.0

    @property
    def keys(self) -> int:
        """Return the keys that are saved by taking what one key takes."""
        taken = take(self.text, self.pause.truth)
        return n_keys(taken) - 1 if taken else 0

    @property
    def left_s(self) -> float:
        """Return how long it stands."""
        return self.pause.seconds - self.waited_ms / 1000


def recorded(pauses: Iterable[Pause]) -> list[Shown]:
    """Return what the recorded tool showed."""
    return [Shown(pause, pause.recorded, pause.recorded_ms, pause.recorded_ms) for pause in pauses]


def answered(pauses: Iterable[Pause], answers: Mapping[int, Answer]) -> list[Shown]:
    """Return what the server answered in those of the pauses that were played, as if it had been there at once."""
    played = [(pause, answers[pause.change]) for pause in pauses if pause.change in answers]
    return [Shown(pause, answer.text, answer.ms) for pause, answer in played]


def read_quickly(shown: Shown) -> float:
    """Return 1 if a text stands long enough for the quick reader, else 0."""
    return float(shown.left_s >= QUICK_S)


def read_by_people(shown: Shown) -> float:
    """Return how likely people have read a text when the pause ends."""
    return share_of_readers(shown.text, shown.left_s)


HEAD = (
    "", "pauses", "shown", "first line right", "right", "wrong", "wrong per right",
    "length, mean and median", "several lines", "keys, quick reader", "keys, people", "glances, s",
    "text after, ms, p50 and p95",
)  # fmt: skip


def row(name: str, pauses: Iterable[Shown], *, timed: bool = True) -> tuple[object, ...]:
    """Return the figures of one tool, for a table."""
    everything = [*pauses]
    shown = [one for one in everything if one.text.strip()]
    n_shown, n_exact, right, wrong = score((one.text, one.pause.truth) for one in shown)
    sizes = [len(one.text) for one in shown] or [0]
    times = sorted(one.ms for one in shown) or [0]
    late = times[math.ceil(0.95 * len(times)) - 1]
    return (
        name, len(everything), n_shown, n_exact, right, wrong, f"{wrong / max(1, right):.2f}",
        f"{mean(sizes):.1f}, {median(sizes):.0f}", sum("\n" in one.text.strip() for one in shown),
        f"{sum(one.keys * read_quickly(one) for one in shown):.0f}",
        f"{sum(one.keys * read_by_people(one) for one in shown):.0f}",
        f"{sum(glance_s(one.keys > 0) for one in shown):.1f}",
        f"{median(times):.0f}, {late:.0f}" if timed else "",
    )  # fmt: skip
