"""
What a router's rule costs: many users' prompts over N replicas, each with a bounded KV cache.

    python -m benchmarks.routing                # a table and a plot; about a minute

Every user types the session that `recording` recorded, each on different code and from a different
moment. Sessions begin all the time, so the number under way stays the same; each begins with nothing in
any cache. A replica keeps whole blocks of 16 tokens and drops the block unused for longest, as vLLM
does. Replicas are alike by symmetry, so one is simulated with all requests that it gets.

Rules: `round-robin` (every request to any replica), `document` and `session` (a hash of a header that
says so), `prefix` (where most of the prompt was sent before, if that is `WORTH` of it, else anywhere).

Simplified: users differ in text and time only and share nothing (a library in two rings would help
`prefix`); load changes no routing; all type at the same pace and take no breaks; blocks of a request
under way may be dropped; decoding costs nothing, and the answer's tokens are kept.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.figures import at
from benchmarks.plot import COLORS
from benchmarks.recording import FILE, Sent, alike, read

BLOCK = 16  # tokens; vLLM's default on GPUs
USERS = (1_000, 10_000, 100_000)  # typing at the same time
PER_REPLICA = 50  # users; docs/scaling.md says what one box can take
CAPACITIES = (262_144, 1_048_576)  # tokens: 14 and 56 GiB for Qwen2.5-Coder-7B in 16 bits
WORTH = 0.3  # SGLang's --cache-threshold by default
# A warm step takes 250 ms: so many tokens at 5,000 per second. On the slow machine of the recording it
# was some hundred, and every step is one more request that a bad rule sends to a cold replica.
STEP_TOKENS = 1_250
SEED = 1


class Row(NamedTuple):
    """One rule at one size: evaluated tokens per foreground request, and in the background per such."""

    users: int
    capacity: int
    rule: str
    evaluated: list[int]
    ahead: float
    cached: float  # share of all prompt tokens


class Session(NamedTuple):
    """
    A recording in blocks: per request its time, whether it is foreground, its length, and its *path*.

    Blocks that always come together are one *segment*; *sizes* has their number by segment.
    """

    ms: np.ndarray
    foreground: list[bool]
    n_prompt: list[int]
    paths: list[tuple[int, ...]]
    sizes: dict[int, int]


class Replica:
    """A KV cache of *capacity* blocks; state: tokens held by user and segment, unused for longest first."""

    def __init__(self, capacity: float) -> None:
        self._capacity = capacity
        self._used = 0
        self._held: OrderedDict[tuple[int, int], int] = OrderedDict()

    def serve(self, user: int, path: Iterable[int], sizes: Mapping[int, int]) -> int:
        """Return how many blocks at the beginning of *path* were held; now all of it is."""
        held, n_found, path = self._held, 0, list(path)
        for segment in path:
            n = held.get((user, segment), 0)
            n_found += n
            if n < sizes[segment]:
                break
        for segment in reversed(path):  # the beginning is dropped last
            size = sizes[segment]
            self._used += size - held.pop((user, segment), 0)
            held[user, segment] = size
        while self._used > self._capacity:
            oldest, n = next(iter(held.items()))
            n_left = max(0, n - math.ceil(self._used - self._capacity))
            self._used -= n - n_left
            if n_left:
                held[oldest] = n_left
            else:
                del held[oldest]
        return n_found


def main() -> None:
    """Simulate, print, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recording", type=Path, default=FILE)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    options = parser.parse_args()
    sent = merged(streamed(read(options.recording)))
    session, rules = blocks(sent), groups(sent)
    rows = [simulated(session, "session", [0] * len(sent), 1, math.inf, n_users=1)]
    print(HEAD, line(rows[0]), sep="\n", flush=True)
    for capacity in CAPACITIES:
        for users in USERS:
            for rule, group in rules.items():
                rows.append(
                    simulated(session, rule, group, users // PER_REPLICA, capacity, n_users=users)
                )
                print(line(rows[-1]), flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    text = "\n".join([HEAD, *map(line, rows)]) + "\n"
    (options.out / "routing.md").write_text(text, "utf-8")
    (options.out / "routing.json").write_text(json.dumps([r._asdict() for r in rows]), "utf-8")
    (options.out / "routing.svg").write_text(plot(rows), "utf-8")


def streamed(sent: Sequence[Sent]) -> list[Sent]:
    """
    Return the recording with one request per completion.

    It was made when a completion took several short ones, and another where the half word was asked for again.
    """
    found: list[Sent] = []
    for one in sent:
        last = found[-1] if found else None
        if last is not None and _goes_on(last, one):
            found[-1] = last._replace(tokens=one.tokens)
        else:
            found.append(one)
    return found


def _goes_on(one: Sent, after: Sent) -> bool:
    """Return whether *after* asks for more of what *one* asked for."""
    same = one.step == after.step and not (one.background or after.background)
    return same and alike(one.tokens, after.tokens) >= one.n_prompt - 1


def merged(sent: Sequence[Sent]) -> list[Sent]:
    """Return the recording without warm steps that one of `STEP_TOKENS` would have made unnecessary."""
    kept: list[Sent] = []
    for one, after in zip(sent, [*sent[1:], None], strict=True):
        n_new = one.n_prompt - (alike(kept[-1].tokens, one.tokens) if kept else 0)
        if n_new >= STEP_TOKENS or not _continues(one, after):
            kept.append(one)
    return kept


def _continues(one: Sent, after: Sent | None) -> bool:
    """Return whether *after* is the next step of the same work ahead."""
    if after is None or not (one.background and after.background):
        return False
    return alike(one.tokens, after.tokens) >= one.n_prompt - BLOCK


def blocks(sent: Sequence[Sent], size: int = BLOCK) -> Session:
    """Return the recording in blocks of *size* tokens, runs of blocks that always come together as one."""
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    chains = [_chain(one.tokens[:-1], numbers, size) for one in sent]
    nexts: dict[int, set[int]] = {}
    for chain in chains:
        for block, after in zip(chain, [*chain[1:], -1], strict=True):
            nexts.setdefault(block, set()).add(after)
    sizes: dict[int, int] = {}
    paths = []
    for chain in chains:
        path, first = [], 0
        for n, block in enumerate(chain, 1):
            if len(nexts[block]) > 1 or n == len(chain):
                path.append(chain[first])
                sizes[chain[first]], first = n - first, n
        paths.append(tuple(path))
    ms = np.array([one.ms for one in sent])
    return Session(ms, [not s.background for s in sent], [s.n_prompt for s in sent], paths, sizes)


def _chain(
    tokens: Sequence[int], numbers: dict[tuple[int, tuple[int, ...]], int], size: int = BLOCK
) -> list[int]:
    """Return a number per whole block, which stands for all tokens up to its end."""
    found, last = [], -1
    for start in range(0, len(tokens) - size + 1, size):
        last = numbers.setdefault((last, tuple(tokens[start : start + size])), len(numbers))
        found.append(last)
    return found


def groups(sent: Sequence[Sent]) -> dict[str, list[int]]:
    """By rule, which requests of a session go to one replica together."""
    documents = {document: n for n, document in enumerate({one.document: 0 for one in sent})}
    return {
        "round-robin": list(range(len(sent))),
        "document": [documents[one.document] for one in sent],
        "prefix": _lineages(sent),
        "session": [0] * len(sent),
    }


def _lineages(sent: Sequence[Sent]) -> list[int]:
    """Requests that are sent to where most of their blocks are."""
    numbers: dict[tuple[int, tuple[int, ...]], int] = {}
    last: dict[int, int] = {}  # by block: the group it went to
    found: list[int] = []
    for one in sent:
        chain = _chain(one.tokens[: one.n_prompt], numbers)
        known = [block for block in chain if block in last]
        worth = len(known) * BLOCK >= WORTH * one.n_prompt
        found.append(last[known[-1]] if known and worth else len(found))
        last.update(dict.fromkeys(chain, found[-1]))
    return found


def alone(session: Session, group: Sequence[int], size: int = BLOCK) -> list[int]:
    """
    Return what each request evaluates where one user has all of the memory, and each *group* a replica of its own.

    `benchmarks.cluster` compares it with what real replicas evaluate on the same prompts.
    """
    replicas = {each: Replica(math.inf) for each in group}
    found = []
    for n, each in enumerate(group):
        held = size * replicas[each].serve(0, session.paths[n], session.sizes)
        n_prompt = session.n_prompt[n]
        found.append(n_prompt - min(held, (n_prompt - 1) // size * size))
    return found


def simulated(
    session: Session,
    rule: str,
    group: Sequence[int],
    n_replicas: int,
    capacity: float,
    *,
    n_users: int,
) -> Row:
    """Return what one of *n_replicas* evaluates while *n_users* are at work."""
    rng = np.random.default_rng(SEED)
    length = int(session.ms[-1]) + 1
    n_sessions = 2 * n_users  # begun within one length before the measurement, or within it
    begins = rng.integers(-length, length, n_sessions)
    arrivals: list[tuple[int, int, int]] = []
    members: dict[int, list[int]] = {}
    for n, each in enumerate(group):
        members.setdefault(each, []).append(n)
    for requests in members.values():
        here = rng.binomial(n_sessions, 1 / n_replicas)
        for user in rng.choice(n_sessions, here, replace=False, shuffle=False).tolist():
            begin = int(begins[user])
            arrivals += [(begin + int(session.ms[n]), user, n) for n in requests]
    arrivals.sort()
    return _served(session, arrivals, Row(n_users, int(min(capacity, 1e12)), rule, [], 0.0, 0.0))


def _served(session: Session, arrivals: Iterable[tuple[int, int, int]], row: Row) -> Row:
    """Return *row* with what one replica makes of *arrivals*: time, user, request."""
    replica = Replica(row.capacity / BLOCK)
    length, ahead, total, reused = int(session.ms[-1]) + 1, 0, 0, 0
    for ms, user, n in arrivals:
        if ms >= length:
            break
        n_prompt = session.n_prompt[n]
        found = BLOCK * replica.serve(user, session.paths[n], session.sizes)
        found = min(found, (n_prompt - 1) // BLOCK * BLOCK)  # the last token is always evaluated
        if ms < 0:
            continue
        total, reused = total + n_prompt, reused + found
        if session.foreground[n]:
            row.evaluated.append(n_prompt - found)
        else:
            ahead += n_prompt - found
    return row._replace(ahead=ahead / max(1, len(row.evaluated)), cached=reused / max(1, total))


HEAD = """\
| users | replicas | KV tokens each | routing | tokens p50 | p95 | mean | ahead | cached |
| ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"""


def line(row: Row) -> str:
    """Return a row of the table."""
    alone = row.users == 1
    cells = [
        f"{row.users:,}", f"{max(1, row.users // PER_REPLICA):,}", "all" if alone else f"{row.capacity:,}",
        "one's own" if alone else row.rule,
        f"{at(row.evaluated, 0.5):,.0f}", f"{at(row.evaluated, 0.95):,.0f}",
        f"{np.mean(row.evaluated):,.0f}", f"{row.ahead:,.0f}", f"{row.cached:.1%}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def plot(rows: Sequence[Row]) -> str:
    """Bars: tokens per foreground request, on a logarithmic axis, a block per size."""
    rows = [row for row in rows if row.users > 1]
    colors = dict(zip(dict.fromkeys(row.rule for row in rows), COLORS, strict=False))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="700" height="{40 + 18 * len(rows)}">',
        "<style>text{font:11px sans-serif;fill:#333}</style>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        '<text x="8" y="16">tokens evaluated per request, mean (logarithmic)</text>',
    ]
    for n, row in enumerate(rows):
        mean, y = float(np.mean(row.evaluated)), 28 + 18 * n
        name = f"{row.users:,} users, {row.capacity:,} tokens, {row.rule}"
        width = round(90 * math.log10(max(mean, 1.0)), 1)
        parts.append(f'<text x="8" y="{y + 11}">{name}</text>')
        parts.append(
            f'<rect x="290" y="{y}" width="{width}" height="13" fill="{colors[row.rule]}"/>'
        )
        parts.append(f'<text x="{295 + width}" y="{y + 11}">{mean:,.0f}</text>')
    return "\n".join([*parts, "</svg>\n"])


if __name__ == "__main__":
    main()
