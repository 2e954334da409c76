"""
What was recorded of a row into the figures of a table, and tables into Markdown. Pure.

"Tokens" are prompt tokens that the server evaluated in the foreground, summed over the requests of one
completion: one stream, and steps before it where much is new. A suggestion that was known already is no completion and is
in neither the tokens nor the times, which it would improve. "Per request" counts it as 0.
"ms" is the time from the key to the answer of a completion that was not overtaken.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks import markdown
from benchmarks.clients import Answer
from benchmarks.deployment.wire import Call
from benchmarks.traces import Trace


@dataclass(frozen=True, slots=True)
class Row:
    """
    One client on one trace: *evaluated* and *ms* per completion, the rest sums.

    *after_jumps* are the tokens of the first request after each jump.
    """

    trace: str
    client: str
    n_asks: int
    n_keys: int
    evaluated: list[int]
    background: int
    n_posts: int
    ms: list[float]
    ends: dict[str, int]
    server_total: int
    mirror: dict[str, int]
    after_jumps: list[int]

    @property
    def per_key(self) -> float:
        """Tokens evaluated in the foreground per key."""
        return sum(self.evaluated) / self.n_keys


def row(
    trace: Trace, client: str, calls: Sequence[Call], answers: Iterable[Answer], **more: object
) -> Row:
    """Return the figures of one run."""
    answers = list(answers)
    evaluated: defaultdict[int, int] = defaultdict(int)
    for call in calls:
        if not call.background:
            evaluated[call.request] += call.evaluated
    return Row(
        trace=trace.name,
        client=client,
        n_asks=trace.n_asks,
        n_keys=trace.n_keys,
        evaluated=list(evaluated.values()),
        background=sum(call.evaluated for call in calls if call.background),
        ms=[
            round(answer.ms, 2)
            for answer in answers
            if answer.step in evaluated and answer.how in ("shown", "empty")
        ],
        ends=dict(Counter(answer.how for answer in answers)),
        after_jumps=[
            evaluated.get(n, 0) for n, step in enumerate(trace.steps) if step.action == "move"
        ],
        **more,  # type: ignore[arg-type]
    )


def at(values: Sequence[float], share: float) -> float:
    """Return the value below which *share* of *values* lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


HEAD = (
    "client", "tokens p50", "p95", "mean", "per request p95", "mean", "per key", "background",
    "completions/key", "shown", "ms p50", "ms p95",
)  # fmt: skip


def table(rows: Iterable[Row]) -> str:
    """Return a Markdown table per trace."""
    by_trace: defaultdict[str, list[Row]] = defaultdict(list)
    for one in rows:
        by_trace[one.trace].append(one)
    return "\n\n".join(_table(name, some) for name, some in by_trace.items()) + "\n"


def _table(name: str, rows: list[Row]) -> str:
    title = f"**{name}**: {rows[0].n_asks} requests, {rows[0].n_keys} keys"
    return f"{title}\n\n{markdown.table(HEAD, map(_cells, rows))}"


def _cells(one: Row) -> list[str]:
    tokens = one.evaluated
    of_requests = tokens + [0] * (one.n_asks - len(tokens))
    return [
        one.client,
        f"{at(tokens, 0.5):.0f}",
        f"{at(tokens, 0.95):.0f}",
        f"{sum(tokens) / max(1, len(tokens)):.1f}",
        f"{at(of_requests, 0.95):.0f}",
        f"{sum(tokens) / one.n_asks:.1f}",
        f"{one.per_key:.1f}",
        str(one.background),
        f"{len(one.evaluated) / one.n_keys:.2f}",
        f"{one.ends.get('shown', 0) / one.n_asks:.0%}",
        f"{at(one.ms, 0.5):.1f}",
        f"{at(one.ms, 0.95):.1f}",
    ]
