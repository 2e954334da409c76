"""
What a server's probabilities are worth, and what they may cost: keys saved in the recorded sessions, as in `expected`.

    python -m benchmarks.real_sessions.confidence REPO… [--readers 2]

Some servers leave them out of streams and have them in whole answers (LiteLLM, mlx_lm.server). So there are a stream with
them, one without, and whole answers of a few tokens, of which nothing is seen before the end and which cannot be left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks import markdown
from benchmarks.arguments import parser
from benchmarks.progress import tell
from benchmarks.real_sessions import recordings
from benchmarks.real_sessions.expected import DATA, EMPTY, with_texts
from benchmarks.real_sessions.readers import READERS
from benchmarks.real_sessions.recordings import Said, Spoken
from benchmarks.real_sessions.replayed import ReplayedModel, Speed, speed
from benchmarks.real_sessions.simulated import play, virtual_time
from server_bridge.llama.backend import join
from server_bridge.protocol import Reply, Request, Stop

SPEEDS = (20, 40, 160)  # tokens decoded a second
KINDS = ("people", "quick")
HEAD = ("answers", "reader", "tokens a second", "keys saved", "texts read", "of them wrong")


class Unsure(ReplayedModel):
    """Streams without probabilities."""

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        async with aclosing(super().stream(request)) as replies:
            async for reply in replies:
                tokens = tuple(token._replace(logprob=None) for token in reply.tokens)
                yield replace(reply, tokens=tokens)


class Ended(Unsure):
    """The same, ended where the recording ends: there the model was not sure, and would have gone on."""

    def __init__(self, says: Callable[[str, str], Said | None], pace: Speed) -> None:
        def ends(middle: str, forced: str) -> Said | None:
            said = says(middle, forced)
            return (said[0], Stop.END) if said else None

        super().__init__(ends, pace)


class Whole(ReplayedModel):
    """Whole answers of at most `most` tokens."""

    most = 16

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        short = replace(request, n_predict=min(request.n_predict, self.most))
        answer = asyncio.ensure_future(join(super().stream(short)))
        yield await asyncio.shield(answer)


class Shorter(Whole):
    """Whole answers, half as long."""

    most = 8


class Way(NamedTuple):
    """A way to be answered, by its name in the table."""

    name: str
    model: type[ReplayedModel]


WAYS = (
    Way("streamed, with", ReplayedModel),
    Way("streamed, without", Unsure),
    Way("streamed, without, ended", Ended),
    Way("whole, 16 tokens, with", Whole),
    Way("whole, 8 tokens, with", Shorter),
)


def main() -> None:
    """Play, and print a row for each way, reader and speed."""
    arguments = parser("benchmarks.real_sessions.confidence", __doc__)
    arguments.add_argument("histories", nargs="+", type=Path, help="as for `expected`")
    arguments.add_argument("--ways", default="", help="those that begin so")
    arguments.add_argument("--readers", type=int, default=2, help="play so many of each kind")
    options = arguments.parse_args()
    _, recorded = recordings.load(DATA / "held-out.json.xz")
    sessions = [
        (Spoken(one.streams, text.head, text.block), text)
        for one, text in with_texts(recorded, options.histories)
    ]
    print(f"{len(sessions)} sessions, {options.readers} readers of each kind\n")
    rows = []
    ways = [way for way in WAYS if way.name.startswith(options.ways)]
    cells = [*product(KINDS, SPEEDS, ways)]
    for kind, per_s, way in tell(cells, len(cells)):
        cell = EMPTY
        for (spoken, text), number in product(sessions, range(options.readers)):
            with virtual_time() as run:
                model = way.model(spoken.behind, speed(per_s))
                cell = cell.add(run(play(model, text, READERS[kind], number)))
        mean = cell.mean
        saved = 100 * (1 - mean.n_pressed / mean.n_alone)
        n_read = 1000 * mean.n_read / mean.n_chars
        n_wrong = 1000 * mean.n_wrong / mean.n_chars
        rows.append((way.name, kind, per_s, f"{saved:.1f} %", f"{n_read:.1f}", f"{n_wrong:.1f}"))
        print(rows[-1], flush=True)
    print(markdown.table(HEAD, rows))


if __name__ == "__main__":
    main()
