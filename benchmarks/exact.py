"""
Whether a warm cache gives the same text as a cold one: greedy tokens of the same prompts, compared.

    python -m benchmarks.exact                          # 500 places in the standard library; half an hour
    python -m benchmarks.exact --places 60 src/         # your own code

At each place a line is typed key by key as a session types it: the middle grows, is cut by a slip and a
backspace, half words are forced; each is answered by a stream that is closed early. The text from the warm cache at the end is
compared with the same tokens evaluated cold. Floating-point sums depend on how many tokens are
evaluated together, so cold evaluation does not even agree with itself once the server's micro-batch
is another. The standard of comparison is therefore a micro-batch of as many tokens as typing evaluates
at a time, where the server uses the same kernels as for a warm cache. For contrast the K-shift
(`--cache-reuse`): a chunk in front of what was evaluated is removed, and the rest is shifted instead
of evaluated again.

Where two rows differ first, the *gap* is how much likelier (in nats) the one token was than the other, cold.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from array import array
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.places import LIBRARY, Place, frame, keys, places, prompt
from benchmarks.serve import BUNDLED, N_BATCH, serving
from benchmarks.wire import Wire
from fim_lsp.session import generation
from server_bridge.http.shapes import read
from server_bridge.llama import completion
from server_bridge.llama.answers import Completion
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Prompt, Request

N_PLACES = 500
N_CHUNKS = (
    2  # with the window as much as the bundled model's context of 4,096 tokens lets a session send
)
N_TOKENS = 16  # about a line
N_PIECES = 8  # after so many the next key closes the stream
UBATCHES = (8, 64, 256)  # instead of `N_BATCH`; a key evaluates no more than the first
REUSE = 64  # --cache-reuse: the shortest run to shift, in tokens; llama.cpp's presets say 256
NEAR_TIE = 0.15  # nats: 16 % likelier
N_BEST = 20  # tokens whose likelihoods are asked for; two that compete are among them
ERRORS = 2.0  # standard errors that a difference of two counts may be by chance


class Case(NamedTuple):
    """A prompt in tokens, what the output is forced to be, the same after one more chunk, the warm answer."""

    prompt: list[int]
    options: dict[str, Any]
    longer: list[int]
    warm: list[int]


class Parting(NamedTuple):
    """Where two answers to one prompt part: after *said*, the one with *ours*, the other with *theirs*."""

    said: list[int]
    ours: int
    theirs: int


class Row(NamedTuple):
    """A comparison over *n* places; *gaps* are in nats, one per place that differs."""

    name: str
    n: int
    gaps: list[float]


def main() -> None:
    """Measure, print, write."""
    options = _options()
    model = options.model
    where = places(options.folders or [LIBRARY], options.places, options.chunks)
    cases = _on(model, lambda wire: warmed(wire, where))
    others = {
        OTHER.format(n): _on(model, lambda wire: _all(wire, cases, cold), n_ubatch=n)
        for n in UBATCHES
    }
    moved = _on(model, lambda wire: _all(wire, cases, shifted), n_parallel=1, cache_ram_mib=0)
    rows = _on(model, lambda wire: compared(wire, cases, others | {SHIFTED: moved}))
    options.out.mkdir(parents=True, exist_ok=True)
    found = {"model": model.name, "rows": [row._asdict() for row in rows]}
    (options.out / "exact.json").write_text(json.dumps(found), "utf-8")
    print(table(rows), claim(rows), sep="\n")


WARM = "the warm cache"
OTHER = f"cold, micro-batch of {{}} instead of {N_BATCH}"
SHIFTED = "K-shift after a chunk in front went"


async def warmed(wire: Wire, where: list[Place]) -> list[Case]:
    """Return the text at each place from one long session, whose cache is kept from place to place."""
    backend = LlamaServer(wire)
    await backend.connect()
    return [await _typed(backend, wire, place) for place in where]


async def _typed(backend: LlamaServer, wire: Wire, place: Place) -> Case:
    """Type the line with a request after each key; then decode `N_TOKENS`."""
    shown = frame(place, backend.state)
    while (
        await backend.warm(prompt(place, shown, ""), generation.step_tokens(backend.state))
    ).left:
        pass
    for typed in keys(place):
        await _decoded(backend, Request(prompt(place, shown, typed), N_TOKENS), N_PIECES)
    asked = prompt(place, shown, place.typed)
    before, wanted = len(wire.calls), Request(asked, N_TOKENS)
    await _decoded(backend, wanted)
    first, last = wire.calls[before], wire.calls[-1]
    made = (last.prompt + last.made)[len(first.prompt) :]
    longer = replace(asked, chunks=(place.evicted, *asked.chunks))
    return Case(first.prompt, completion.options(wanted), await _ids(backend, longer), made)


async def _decoded(backend: LlamaServer, request: Request, n_pieces: int = 0) -> None:
    """Greedy tokens in a stream, closed after *n_pieces* if that is set."""
    async with aclosing(backend.stream(request)) as replies:
        async for _ in replies:
            n_pieces -= 1
            if not n_pieces:
                break


async def _ids(backend: LlamaServer, asked: Prompt) -> list[int]:
    _, encoded = await backend._encode(asked)  # noqa: SLF001 (only the tokens are wanted, no answer)
    return list(array("i", encoded.whole.packed))


async def cold(wire: Wire, case: Case) -> list[int]:
    """Return the text when everything is evaluated again."""
    body = {**case.options, "prompt": case.prompt, "cache_prompt": False, "return_tokens": True}
    return list((await wire.ask("/completion", body))["tokens"])


async def shifted(wire: Wire, case: Case) -> list[int]:
    """Return the text when a longer prompt was evaluated, and a chunk at its beginning is then missing."""
    kept = {"cache_prompt": True, "return_tokens": True}
    await wire.ask("/completion", {**kept, "prompt": case.longer, "n_predict": 0})
    body = {**case.options, **kept, "prompt": case.prompt, "n_cache_reuse": REUSE}
    answer = await wire.ask("/completion", body)
    assert answer["timings"]["cache_n"] > len(case.prompt) // 2, "the server did not shift"
    return list(answer["tokens"])


async def compared(wire: Wire, cases: list[Case], others: dict[str, list[list[int]]]) -> list[Row]:
    """Return every row against cold evaluation on this server, the warm cache first."""
    reference = [await cold(wire, case) for case in cases]
    rows = []
    for name, answers in {WARM: [case.warm for case in cases], **others}.items():
        gaps = []
        for case, ours, theirs in zip(cases, answers, reference, strict=True):
            if apart := parted(ours, theirs):
                gaps.append(await _gap(wire, case.prompt, apart))
        rows.append(Row(name, len(cases), gaps))
    return rows


def parted(ours: list[int], theirs: list[int]) -> Parting | None:
    """Return where two answers first differ, None where they agree as far as both go."""
    for n, (one, other) in enumerate(zip(ours, theirs, strict=False)):
        if one != other:
            return Parting(ours[:n], one, other)
    return None


async def _gap(wire: Wire, asked: list[int], apart: Parting) -> float:
    """Return how much likelier the one token was than the other; at least that, if one is not among the best."""
    body = {"prompt": asked + apart.said, "n_predict": 1, "n_probs": N_BEST, "cache_prompt": False}
    answer = await wire.ask("/completion", {**completion.GREEDY, **body})
    best = completion.next_tokens(read(Completion, answer, "the server"))
    least = min(best.values())
    return abs(best.get(apart.ours, least) - best.get(apart.theirs, least))


def table(rows: list[Row]) -> str:
    """Return a Markdown table."""
    lines = [
        "| against cold evaluation | places | differ | median gap | largest gap | near ties |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, n, gaps in rows:
        median = sorted(gaps)[len(gaps) // 2] if gaps else 0.0
        ties = sum(gap <= NEAR_TIE for gap in gaps)
        lines.append(
            f"| {name} | {n} | {len(gaps)} ({len(gaps) / n:.1%}) | {median:.3f} "
            f"| {max(gaps, default=0.0):.3f} | {ties} of {len(gaps)} |"
        )
    return "\n".join(lines)


def claim(rows: list[Row]) -> str:
    """Return whether the warm cache is as exact as cold evaluation is, in a sentence."""
    warm, other = rows[0].gaps, rows[1].gaps
    chance = ERRORS * math.sqrt(len(warm) + len(other))  # of two counts, each with its own error
    holds = len(warm) <= len(other) + chance and max(warm, default=0.0) <= NEAR_TIE
    return (
        f"{'Holds' if holds else 'DOES NOT HOLD'}: the warm cache differs at {len(warm)} places, by "
        f"{max(warm, default=0.0):.2f} nats at most; {rows[1].name} at {len(other)} (± {chance:.0f} by chance)."
    )


async def _all(
    wire: Wire, cases: list[Case], said: Callable[[Wire, Case], Awaitable[list[int]]]
) -> list[list[int]]:
    return [await said(wire, case) for case in cases]


def _on(model: Path, work: Callable[[Wire], Awaitable[Any]], **flags: Any) -> Any:
    """Return *work* on a server of its own."""

    async def run(url: str) -> Any:
        wire = Wire(url)
        try:
            return await work(wire)
        finally:
            await wire.aclose()

    with serving(model, **flags) as url:
        return asyncio.run(run(url))


def _options() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("folders", nargs="*", type=Path, help="folders with *.py files; the standard library")
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add("--places", type=int, default=N_PLACES, help="at most so many")
    add("--chunks", type=int, default=N_CHUNKS, help="chunks of 64 lines before the file")
    add("--out", type=Path, default=Path("benchmarks/results"), help="where to write the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
