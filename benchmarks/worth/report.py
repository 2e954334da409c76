"""
Tables of what was measured: nats per character against the same places without, minus is better. Pure.

Nats and characters are summed over the places that have both arms; the interval holds 95 % of such differences when
commits are drawn with replacement. `line start` is all of a line from its first column, `inside` the rest of a line from
a word in it, `3 lines` the first three from the start.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.markdown import table

Record = Mapping[str, Any]
Cost = tuple[float, int]  # nats, characters

DRAWS = 2_000


class Kind(NamedTuple):
    """A kind of place: its name, and what a record costs there."""

    name: str
    cost: Callable[[Record], Cost]


def _cost(lines: Iterable[Record], which: str) -> Cost:
    costs = [line[which] for line in lines if which in line]
    return sum(c[0] for c in costs), sum(c[1] for c in costs)


KINDS = (
    Kind("line start", lambda record: _cost(record["lines"], "start")),
    Kind("inside", lambda record: _cost(record["lines"], "inside")),
    Kind("3 lines", lambda record: _cost(record["lines"][:3], "start")),
)


class Difference(NamedTuple):
    """Nats per character of one arm less those of another, and an interval of it."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"


def compare(pairs: Sequence[tuple[Record, Record]], kind: Kind) -> Difference:
    """Return what the second arm costs more than the first, over *pairs* of the same places."""
    rows = [(kind.cost(base), kind.cost(arm)) for base, arm in pairs]
    gains = [(arm[0] - base[0], base[1]) for base, arm in rows]
    draw = random.Random(0)
    means = sorted(_ratio(draw.choices(gains, k=len(gains))) for _ in range(DRAWS))
    return Difference(_ratio(gains), means[int(0.025 * DRAWS)], means[int(0.975 * DRAWS)])


def pair(records: Iterable[Record], base: str, arm: str) -> list[tuple[Record, Record]]:
    """Return the records of the same places, of two arms."""
    by_place: dict[tuple[str, str], dict[str, Record]] = {}
    for record in records:
        by_place.setdefault((record["repo"], record["commit"]), {})[record["arm"]] = record
    return [(arms[base], arms[arm]) for arms in by_place.values() if base in arms and arm in arms]


def print_tables(records: Sequence[Record], base: str) -> None:
    """Print the arms against *base*, of each model."""
    for model in sorted({record["model"] for record in records}):
        of_model = [record for record in records if record["model"] == model]
        print(f"**{model}**, against `{base}`\n\n{_describe(of_model, base)}\n")
        print(_arms(of_model, base), end="\n\n", flush=True)


def _describe(records: Sequence[Record], base: str) -> str:
    alone = [record for record in records if record["arm"] == base]
    n_repos = len({record["repo"] for record in alone})
    costs = ", ".join(f"{k.name} {_ratio([k.cost(r) for r in alone]):.3f}" for k in KINDS)
    n_lines = sum(len(record["lines"]) for record in alone)
    return f"{len(alone)} commits of {n_repos} repositories, {n_lines} lines; alone: {costs}"


def _arms(records: Sequence[Record], base: str) -> str:
    rows = []
    for arm in dict.fromkeys(record["arm"] for record in records):
        if arm != base and (pairs := pair(records, base, arm)):
            costs = [compare(pairs, kind) for kind in KINDS]
            rows.append((f"`{arm}`", len(pairs), _n_tokens(pairs), *costs))
    head = ("arm", "n", "tokens", *(kind.name for kind in KINDS))
    return table(head, rows)


def _n_tokens(pairs: Sequence[tuple[Record, Record]]) -> int:
    return round(sum(arm["n_prompt"] - base["n_prompt"] for base, arm in pairs) / len(pairs))


def _ratio(gains: Sequence[tuple[float, int]]) -> float:
    return sum(nats for nats, _ in gains) / max(1, sum(n_chars for _, n_chars in gains))
