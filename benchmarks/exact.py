"""
Whether a warm tape says what a cold prompt says: greedy tokens compared at hundreds of places.

    python -m benchmarks.exact                 # 510 places in the standard library; half an hour
    python -m benchmarks.exact --limit 30      # a quick look

At each place a real session types the end of what is there key by key, so the cache holds what typing
left in it. Then the same token ids go on for 16 greedy tokens: from that cache (*warm*), evaluated anew
(*cold*), and anew with another micro-batch (*cold, other batch*), which changes nothing but the order of
floating-point sums. For contrast, with the first chunk taken out of the ring and the rest of the cache
moved up to close the gap (*shifted*, `--cache-reuse`), against the same prompt cold.

Where two answers part, the *gap* says how sure the cold one was: nats between its two best tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.heldout import PER_PACKAGE, SHORTEST_FILE, Files, Hole, holes
from benchmarks.quality import close, open_at
from benchmarks.serve import BUNDLED, N_BATCH, serving
from benchmarks.wire import Wire
from fim_lsp import events
from fim_lsp.config import made
from fim_lsp.documents import Edit, Position
from fim_lsp.session import Session
from server_bridge.llama import LlamaServer

PACKAGES = ("asyncio", "concurrent", "email", "importlib", "logging", "unittest")  # 85 places each
N_KEYS = 8  # typed one by one; what stands before them comes at once, as by a paste
N_TOKENS = 16
OTHER_BATCH = 96  # tokens; cold prompts are evaluated in portions of N_BATCH otherwise
NEAR_TIE = 0.15  # nats
MIN_REUSE = 64  # tokens; the shortest run that is moved
GREEDY = {"n_predict": N_TOKENS, "temperature": 0, "samplers": ["top_k"], "top_k": 1, "n_probs": 2}
FIELDS = ["tokens", "completion_probabilities", "timings", "id_slot"]


class Said(NamedTuple):
    """16 greedy tokens (fewer where the model stops), and nats between the two best at each."""

    tokens: list[int]
    gaps: list[float]
    evaluated: int


class Case(NamedTuple):
    """What a session sent last at a place, as token ids, and the same without the ring's first chunk."""

    prompt: list[int]
    cut: list[int]


@dataclass(frozen=True, slots=True)
class Compared:
    """*n* answers: how many differ from the others, and how near the tie was where they part."""

    what: str
    n: int
    different: int
    above_near_tie: int
    largest_gap: float
    evaluated: float  # prompt tokens per answer, of the first of the two


def main() -> None:
    """Measure, print, write."""
    options = _options()
    packages = {name: sources(name) for name in PACKAGES}
    wanted = holes(packages)
    wanted = wanted[:: max(1, len(wanted) // options.limit)]
    with serving(options.model) as url:
        cases, warm = asyncio.run(_typed(wanted, packages, url, _progress("warm")))
        cold = asyncio.run(_answers(url, [case.prompt for case in cases], "cold"))
    with serving(options.model, n_ubatch=OTHER_BATCH) as url:
        other = asyncio.run(_answers(url, [case.prompt for case in cases], "cold, other batch"))
    with serving(options.model, n_cache_reuse=MIN_REUSE) as url:
        shifted, anew = asyncio.run(_shifted(url, [case for case in cases if case.cut]))
    rows = [
        compared("warm tape / cold", warm, cold),
        compared(f"cold / cold, micro-batch {OTHER_BATCH} for {N_BATCH}", other, cold),
        compared("first chunk dropped, cache shifted / cold", shifted, anew),
    ]
    print(table(rows))
    options.out.mkdir(parents=True, exist_ok=True)
    raw = json.dumps([asdict(row) for row in rows], indent=1)
    (options.out / "exact.json").write_text(raw + "\n", "utf-8")


def compared(what: str, some: Sequence[Said], others: Sequence[Said]) -> Compared:
    """Where *some* part from *others*, and how sure these were there."""
    pairs = list(zip(some, others, strict=True))
    gaps = [
        other.gaps[_n_common(one.tokens, other.tokens)]
        for one, other in pairs
        if one.tokens != other.tokens
    ]
    return Compared(
        what=what,
        n=len(pairs),
        different=len(gaps),
        above_near_tie=sum(gap > NEAR_TIE for gap in gaps),
        largest_gap=round(max(gaps, default=0.0), 3),
        evaluated=round(sum(one.evaluated for one in some) / max(1, len(some)), 1),
    )


def table(rows: Sequence[Compared]) -> str:
    """Markdown."""
    lines = [
        "| compared | places | differ | of these no near tie | largest gap (nats) | tokens evaluated |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        share = f"{row.different} ({row.different / max(1, row.n):.1%})"
        cells = (row.what, row.n, share, row.above_near_tie, row.largest_gap, row.evaluated)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


# -- the three ways ----------------------------------------------------------------------------------


async def _typed(
    wanted: Sequence[Hole], packages: dict[str, Files], url: str, progress: Callable[[int], None]
) -> tuple[list[Case], list[Said]]:
    """What the session sent at each place, and what the cache it left there says."""
    wire = Wire(url)
    server = LlamaServer(url)
    server._http = wire  # noqa: SLF001 (the instrument goes where the client was)
    bench = Session(made({"completion.debounceMs": 0}), lambda _: server)
    await bench.link.wait_ready()
    mark = server._specials.file  # type: ignore[union-attr]  # noqa: SLF001
    assert mark is not None, "a model without a token for files has no chunks to compare"
    cases, said = [], []
    for n, hole in enumerate(wanted):
        await _type(bench, hole, packages[hole.package])
        last = next(call for call in reversed(wire.calls) if not call.background)
        cases.append(Case(last.prompt, without_first_chunk(last.prompt, mark)))
        said.append(await _say(wire, last.prompt, cache_prompt=True))
        close(bench, packages[hole.package], hole)
        progress(n)
    await bench.aclose()
    return cases, said


async def _type(bench: Session, hole: Hole, files: Files) -> None:
    """Type what stands before the hole, the last keys one by one, until a prompt is evaluated whole."""
    uri, _ = open_at(bench, hole, files)
    await bench.complete(uri, Position(hole.line, 0), invoked=True)
    await bench.wait_idle()
    typed = hole.typed
    parts = [typed[:-N_KEYS], *typed[-N_KEYS:]] if len(typed) > N_KEYS else [*typed]
    column = 0
    for n, part in enumerate(parts):
        at = Position(hole.line, column)
        bench.handle(events.Changed(uri, n + 2, (Edit(at, at, part),)))
        column += len(part)
        await bench.complete(uri, Position(hole.line, column), invoked=n + 1 == len(parts))


async def _answers(url: str, prompts: Sequence[list[int]], label: str) -> list[Said]:
    """What each prompt says when it is evaluated from its first token."""
    wire, progress = Wire(url), _progress(label)
    await wire.get("/health")
    said = []
    for n, prompt in enumerate(prompts):
        said.append(await _say(wire, prompt, cache_prompt=False))
        progress(n)
    await wire.aclose()
    return said


async def _shifted(url: str, cases: Sequence[Case]) -> tuple[list[Said], list[Said]]:
    """What prompts without their first chunk say: from a cache moved up, and cold."""
    wire, progress = Wire(url), _progress("shifted")
    await wire.get("/health")
    shifted, cold = [], []
    for n, case in enumerate(cases):
        await wire.forget()
        whole = _body(case.prompt, cache_prompt=True) | {"n_predict": 0, "id_slot": 0}
        await wire.ask("/completion", whole)
        shifted.append(await _say(wire, case.cut, cache_prompt=True, id_slot=0))
        cold.append(await _say(wire, case.cut, cache_prompt=False))
        progress(n)
    await wire.aclose()
    return shifted, cold


async def _say(wire: Wire, prompt: list[int], *, cache_prompt: bool, id_slot: int = -1) -> Said:
    body = _body(prompt, cache_prompt=cache_prompt) | {"id_slot": id_slot}
    answer = await wire.ask("/completion", body)
    logprobs = [
        [best["logprob"] for best in entry["top_logprobs"]]
        for entry in answer["completion_probabilities"]
    ]
    gaps = [best - second for best, second in logprobs]
    return Said(answer["tokens"], gaps, answer["timings"]["prompt_n"])


def _body(prompt: list[int], *, cache_prompt: bool) -> dict[str, object]:
    common = {"return_tokens": True, "response_fields": FIELDS, "cache_prompt": cache_prompt}
    return {"prompt": prompt, **GREEDY, **common}


# -- small ones ----------------------------------------------------------------------------------------


def without_first_chunk(prompt: list[int], mark: int) -> list[int]:
    """The prompt of a ring that dropped its first chunk, each beginning with *mark*; empty if none did."""
    first, *others = [at for at, token in enumerate(prompt) if token == mark]
    return prompt[:first] + prompt[others[0] :] if others else []  # the last mark is the file's own


def sources(package: str) -> Files:
    """A package of the standard library: its files by path."""
    root = Path(sysconfig.get_path("stdlib"))
    paths = sorted((root / package).rglob("*.py"))
    texts = {str(path.relative_to(root)): path.read_text("utf-8") for path in paths}
    return {name: text for name, text in texts.items() if len(text) > SHORTEST_FILE}


def _progress(label: str) -> Callable[[int], None]:
    def show(n: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{label}: {n + 1} places", end="", file=sys.stderr, flush=True)

    return show


def _n_common(one: Sequence[int], other: Sequence[int]) -> int:
    pairs = zip(one, other, strict=False)
    shorter = min(len(one), len(other))
    return next((n for n, (a, b) in enumerate(pairs) if a != b), shorter)


def _options() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add("--limit", type=int, default=PER_PACKAGE * len(PACKAGES), help="about so many places")
    add("--out", type=Path, default=Path("benchmarks/results"), help="where to write the results")
    return parser.parse_args()


if __name__ == "__main__":
    main()
