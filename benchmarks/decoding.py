"""
One stream against short requests: what they cost, when the first text is there, how long a newer key waits.

    python -m benchmarks.decoding                                     # the bundled model
    python -m benchmarks.decoding --model mid.gguf                    # slower, as real models are
    python -m benchmarks.decoding --url http://127.0.0.1:8080         # your own llama.cpp server
    python -m benchmarks.decoding --kind openai --url http://127.0.0.1:8000     # vLLM …

At each place the same text is decoded in one stream and in requests of 1, 2, 4 … tokens. Columns: whether all texts are
the same, token by token; the tokens evaluated to go on after a request (at most); wall time per token; the wall
time to the first text; and how long a newer key waits for its first token when it comes in the middle of the decoding, which
is then closed, or pauses after its request.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks import arguments
from benchmarks.figures import at
from benchmarks.layouts import OURS, Trial, prompt_at, trials
from benchmarks.serve import BUNDLED, serving
from benchmarks.wire import Wire
from fim_lsp.prompt.window import Budget
from fim_lsp.session import lane
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.http.responses import Object
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Backend, Model, Prompt, Reply, Request, Stop, rest

STREAM = 0
PORTIONS = (STREAM, 1, 2, 4, 8, 16)  # tokens per request
N_PLACES = 27
N_TOKENS = 64
N_MOMENTS = 9  # of the decoding at which a newer key comes: tenths of its time
WINDOW = Budget(3000, 800, 800)  # characters
NEWER = "q"  # agrees with hardly any text, so it cannot use the decoding


@dataclass(slots=True)
class Row:
    """One way to decode: lists have an entry per place. *same*: the text is that of the stream."""

    portion: int
    same: list[bool] = field(default_factory=list)
    again: list[int] = field(default_factory=list)
    ms_per_token: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    waits_ms: list[float] = field(default_factory=list)


class Endless(Wire):
    """To llama.cpp, with a model that may not end its text: every decoding has the requested length."""

    def another(self, guard: Callable[[], Awaitable[object]]) -> Wire:  # noqa: ARG002
        """See `Http`."""
        return Endless(self.url)

    async def post(self, path: str, body: bytes) -> Object:
        """Send as `Wire.post` does."""
        return await super().post(path, _endless(path, body))

    def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """Send as `Wire.stream` does."""
        return super().stream(path, _endless(path, body))


def _endless(path: str, body: bytes) -> bytes:
    return body[:-1] + b',"ignore_eos":true}' if path == "/completion" else body


def main() -> None:
    """Measure, print, write."""
    options = _options()
    where = trials([OURS], options.places)
    if options.url:
        settings = BackendSettings(kind=options.kind, url=options.url)
        rows = asyncio.run(measured(open_backend(settings), where))
    else:
        with serving(options.model) as url:
            rows = asyncio.run(measured(endless(url), where))
    print(table(rows))


def endless(url: str) -> LlamaServer:
    """Return a llama.cpp server as a backend whose texts do not end."""
    return LlamaServer(Endless(url))


async def measured(backend: Backend, where: Sequence[Trial]) -> list[Row]:
    """Return a row for each way to decode."""
    model = await backend.connect()
    rows = [Row(portion) for portion in PORTIONS]
    for n, trial in enumerate(where):
        request = prompt_at(WINDOW, trial)
        newer = replace(request, middle=request.middle + request.forced + NEWER, forced="")
        while (await model.warm(request, lane.step_tokens(model.state))).left:
            pass
        whole, _, long_ms = await decoded(model, request, STREAM)
        moment_s = long_ms / 1e3 * (1 + n % N_MOMENTS) / (1 + N_MOMENTS)
        for row in rows:
            replies, first_ms, ms = await decoded(model, request, row.portion)
            row.same.append(_text(replies) == _text(whole))
            row.again += [reply.timings.prompt_n for reply in replies[1:]]
            row.ms_per_token.append(ms / sum(reply.timings.predicted_n for reply in replies))
            row.first_ms.append(first_ms)
            row.waits_ms.append(await waited(model, request, newer, row.portion, moment_s))
    await backend.aclose()
    return rows


def replies_to(model: Model, request: Request, portion: int) -> AsyncGenerator[Reply, None]:
    """Return the stream, or requests of *portion* tokens one after the other."""
    return model.stream(request) if portion == STREAM else _portions(model, request, portion)


async def _portions(model: Model, request: Request, portion: int) -> AsyncGenerator[Reply, None]:
    while request.n_predict > 0:
        reply = await model.complete(replace(request, n_predict=min(portion, request.n_predict)))
        yield reply
        if reply.stop is not Stop.LIMIT:
            return
        request = rest(request, reply)


async def decoded(model: Model, asked: Prompt, portion: int) -> tuple[list[Reply], float, float]:
    """`N_TOKENS` tokens, the milliseconds to the first text, and those to the end."""
    began, first_ms, replies = time.perf_counter(), 0.0, list[Reply]()
    async with aclosing(replies_to(model, Request(asked, N_TOKENS), portion)) as pieces:
        async for reply in pieces:
            replies.append(reply)
            first_ms = first_ms or (time.perf_counter() - began) * 1e3
    return replies, first_ms, (time.perf_counter() - began) * 1e3


async def waited(
    model: Model, asked: Prompt, newer: Prompt, portion: int, moment_s: float
) -> float:
    """Return milliseconds to the first token for a *newer* prompt, *moment_s* into a decoding."""
    end = time.perf_counter() + moment_s
    async with aclosing(replies_to(model, Request(asked, N_TOKENS), portion)) as pieces:
        async for _ in pieces:
            if time.perf_counter() >= end:
                break
    await model.complete(Request(newer, 1))
    return max(0.0, time.perf_counter() - end) * 1e3


def table(rows: list[Row]) -> str:
    """Return a Markdown table."""
    lines = [
        "| decoded in | same text | evaluated again | ms per token | first text p50 | newer key p50 | p95 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        name = f"requests of {row.portion}" if row.portion else "one stream"
        lines.append(
            f"| {name} | {sum(row.same)} of {len(row.same)} | {max(row.again, default=0)} "
            f"| {at(row.ms_per_token, 0.5):.2f} | {at(row.first_ms, 0.5):.0f} "
            f"| {at(row.waits_ms, 0.5):.0f} | {at(row.waits_ms, 0.95):.0f} |"
        )
    return "\n".join(lines)


def _text(replies: list[Reply]) -> list[object]:
    """Return what was decoded, token by token where the backend tells them apart."""
    return [token.id for reply in replies for token in reply.tokens] + [
        "".join(reply.text for reply in replies)
    ]


def _options() -> argparse.Namespace:
    parser = arguments.parser("decoding", __doc__)
    add = parser.add_argument
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add("--url", help="measure on a server that runs already")
    add("--kind", choices=["llama-server", "openai"], default="llama-server", help="what it is")
    add("--places", type=int, default=N_PLACES, help="so many texts")
    return parser.parse_args()


if __name__ == "__main__":
    main()
