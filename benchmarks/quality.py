"""
How good suggestions are, on code the bundled model never saw, through the whole session.

    python -m benchmarks.quality                        # 340 places, the bundled model; some minutes
    python -m benchmarks.quality --limit 40 --typing 10
    python -m benchmarks.quality --url http://127.0.0.1:8012      # your own server
    python -m benchmarks.quality --off heal             # without token healing; or: ring, greedy

At each place the file is open with the line missing and its neighbours open beside it, the rest of the
package lies on disk; the editor pauses, the first 40 % of the line are typed, and the editor sends an
automatic request. Prints what was shown and how good it was, the same with each filter switched off,
how often nothing is shown where nothing should be, and what it costs to type whole lines.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from unittest import mock

from benchmarks.heldout import Files, Hole, fetched, holes
from benchmarks.judgement import Quality, Shown, quality
from benchmarks.serve import BUNDLED, serving
from fim_lsp import events
from fim_lsp.documents import Edit, Position, after
from fim_lsp.prompt import compose
from fim_lsp.session import completer
from fim_lsp.session.completer import Completer
from fim_lsp.session.open_document import OpenDocument
from fim_lsp.session.session import Session
from fim_lsp.settings.schema import make_config
from fim_lsp.suggest.continuations import Continuations
from fim_lsp.suggest.cursor import Candidate, Cursor, cursor_at
from fim_lsp.suggest.filters import FILTERS, polish
from server_bridge.llama import completion
from server_bridge.llama.backend import LlamaServer

ROOT = Path(tempfile.gettempdir()) / "fim-lsp-quality"  # the packages, during the measurement
# What editors accept at a time, and what of a suggestion that is.
ACCEPTED: dict[str, Callable[[str], str]] = {
    "all": str,
    "line": lambda text: text.split("\n")[0],
    "word": lambda text: (re.match(r"\s*(?:\w+|\W)", text) or [""])[0],
}
NEIGHBOURS = 6  # other files of the package that are open


def main() -> None:
    """Measure, print, write."""
    options = _options()
    packages = fetched(options.packages)
    wanted = holes(packages)[:: max(1, 340 // options.limit)]
    with _laid_out(packages), _server(options) as url:
        figures = asyncio.run(_measure(wanted, packages, url, options))
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "quality.json").write_text(json.dumps(figures, indent=1), "utf-8")


@contextlib.contextmanager
def _laid_out(packages: dict[str, Files]) -> Iterator[None]:
    """The packages as folders, so that the session finds files that are not open."""
    try:
        for package, files in packages.items():
            for path, text in files.items():
                (ROOT / package / path).parent.mkdir(parents=True, exist_ok=True)
                (ROOT / package / path).write_text(text, "utf-8")
        yield
    finally:
        shutil.rmtree(ROOT, ignore_errors=True)


async def _measure(
    wanted: list[Hole], packages: dict[str, Files], url: str, options: argparse.Namespace
) -> dict[str, object]:
    server = LlamaServer(url)
    given = {f"completion.{name}": value for name, value in options.completion.items()}
    config = make_config({**given, **options.settings})
    bench = Session(config, lambda _: server)
    await bench.connection.wait_ready()
    shown, ms = list[Shown](), list[float]()
    candidates: list[tuple[Candidate, Cursor, float]] = []
    with _recorded(candidates):
        for hole in wanted:
            one, took = await _suggested(bench, hole, packages[hole.package])
            shown.append(one)
            ms.append(took)
    stats = bench.stats()
    figures: dict[str, object] = {"all": asdict(quality(shown)), "latency": _percentiles(ms)}
    _print("all filters", quality(shown))
    print("latency ms", figures["latency"], "outcomes", stats.get("outcomes"))
    figures["without"] = _ablations(shown, candidates)
    figures["quiet"] = await _quiet(bench, wanted, packages)
    lines = wanted[:: max(1, len(wanted) // options.typing)][: options.typing]
    figures["typing"] = await _typing(bench, lines, packages)
    with _forgetful():
        figures["typing, one completion per key"] = await _typing(bench, lines, packages)
    figures["accepting"] = await _accepting(bench, wanted, packages)
    figures["stats"] = stats
    await bench.aclose()
    return figures


# -- one place ---------------------------------------------------------------------------------------


async def _suggested(bench: Session, hole: Hole, files: Files) -> tuple[Shown, float]:
    """Return what is shown at *hole* and how many milliseconds it took."""
    uri, position = open_at(bench, hole, files)
    await bench.complete(uri, Position(hole.line, 0), invoked=True)
    await bench.wait_idle()
    await bench.workspaces.wait_explored()  # once per package
    typed = Edit(Position(hole.line, 0), Position(hole.line, 0), hole.typed)
    bench.handle(events.Changed(uri, 2, (typed,)))
    began = time.perf_counter()
    found = (await bench.complete(uri, position, invoked=False)).suggestions
    took = (time.perf_counter() - began) * 1e3
    cursor = cursor_at(bench.documents[uri], position, hole.path)
    close(bench, files, hole)
    text = found[0].text if found else ""
    replaces = found[0].end.column - position.column if found else 0
    return Shown(hole, cursor, files[hole.path], text, replaces), took


def open_at(bench: Session, hole: Hole, files: Files) -> tuple[str, Position]:
    """Open the file without the line, after its neighbours."""
    bench.handle(events.FoldersChanged(((ROOT / hole.package).as_uri(),)))
    for path in _neighbours(hole, files):
        bench.handle(events.Opened(_uri(hole, path), "python", 1, files[path]))
    lines = files[hole.path].split("\n")
    lines[hole.line] = ""
    uri = _uri(hole, hole.path)
    bench.handle(events.Opened(uri, "python", 1, "\n".join(lines)))
    return uri, Position(hole.line, len(hole.typed))


def close(bench: Session, files: Files, hole: Hole) -> None:
    for path in (*_neighbours(hole, files), hole.path):
        bench.handle(events.Closed(_uri(hole, path)))


def _neighbours(hole: Hole, files: Files) -> list[str]:
    """Return the files next to this one in the package, most similar in name first."""
    others = sorted(path for path in files if path != hole.path)
    at = sum(path < hole.path for path in others)
    return sorted(others, key=lambda path: abs(others.index(path) - at))[:NEIGHBOURS]


def _uri(hole: Hole, path: str) -> str:
    return (ROOT / hole.package / path).as_uri()


# -- figures -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _recorded(candidates: list[tuple[Candidate, Cursor, float]]) -> Iterator[None]:
    """Keep every candidate before it is polished, to polish it in other ways later."""

    def noting(candidate: Candidate, cursor: Cursor, sure: float) -> Candidate:
        candidates.append((candidate, cursor, sure))
        return polish(candidate, cursor, sure)

    with mock.patch.object(completer, "polish", noting):
        yield


@contextlib.contextmanager
def _forgetful() -> Iterator[None]:
    """Forget all answers: every request gets a completion of its own."""
    with (
        mock.patch.object(Continuations, "find", return_value=[]),
        mock.patch.object(Completer, "_find_displayed_rest", return_value=None),
        mock.patch.object(OpenDocument, "generation_for", return_value=None),
    ):
        yield


def _ablations(
    shown: list[Shown], candidates: list[tuple[Candidate, Cursor, float]]
) -> dict[str, object]:
    """Return the same candidates with one filter left out at a time, and with none."""
    candidate_of = {_key(each[1]): each for each in candidates}
    known = [
        (one, *candidate_of[_key(one.cursor)]) for one in shown if _key(one.cursor) in candidate_of
    ]
    names = [each.__name__ for each in FILTERS]
    figures: dict[str, object] = {}
    for label, off in [("none left out", []), *((name, [name]) for name in names), ("all", names)]:
        again = []
        for one, candidate, cursor, sure in known:
            done = polish(candidate, cursor, sure, off)
            again.append(Shown(one.hole, cursor, one.file, done.text, done.replaces))
        figures[label] = asdict(quality(again))
        _print(f"without {label}", quality(again))
    return figures


def _key(cursor: Cursor) -> tuple[str, ...]:
    return (cursor.path, cursor.before, *cursor.above[-3:])


async def _quiet(
    bench: Session, wanted: list[Hole], packages: dict[str, Files]
) -> dict[str, float]:
    """Return how often nothing is shown inside an existing word and behind a complete line."""
    n_quiet = {"inside a word": 0, "complete line": 0}
    n_asked = dict(n_quiet)
    for hole in wanted:
        lines = packages[hole.package][hole.path].split("\n")
        uri = _uri(hole, hole.path)
        bench.handle(events.Opened(uri, "python", 1, "\n".join(lines)))
        columns = {"complete line": len(lines[hole.line])}
        if hole.rest[:1].isalnum() and hole.typed[-1:].isalnum():
            columns["inside a word"] = len(hole.typed)
        for name, column in columns.items():
            found = (
                await bench.complete(uri, Position(hole.line, column), invoked=False)
            ).suggestions
            n_asked[name] += 1
            if not found:
                n_quiet[name] += 1
        bench.handle(events.Closed(uri))
    rates = {name: n_quiet[name] / max(1, n_asked[name]) for name in n_quiet}
    print("quiet", {name: f"{rate:.0%}" for name, rate in rates.items()})
    return rates


async def _typing(
    bench: Session, wanted: list[Hole], packages: dict[str, Files]
) -> dict[str, float]:
    """Type whole lines key by key: requests to the model, and which keys were on screen already."""
    n_keys = n_foretold = 0
    n_before = _n_generations(bench)
    asked_ms, local_ms = list[float](), list[float]()
    for hole in wanted:
        uri, _ = open_at(bench, hole, packages[hole.package])
        line, ahead = hole.typed + hole.rest, ""
        for column, char in enumerate(line):
            at = Position(hole.line, column)
            n_keys += 1
            if ahead[:1] == char:
                n_foretold += 1
            bench.handle(events.Changed(uri, column + 2, (Edit(at, at, char),)))
            n_generations, began = _n_generations(bench), time.perf_counter()
            found = (
                await bench.complete(uri, Position(hole.line, column + 1), invoked=False)
            ).suggestions
            took = (time.perf_counter() - began) * 1e3
            times = local_ms if n_generations == _n_generations(bench) else asked_ms
            times.append(took)
            ahead = found[0].text if found else ""
        close(bench, packages[hole.package], hole)
    figures = {
        "keys": float(n_keys),
        "foretold": n_foretold / max(1, n_keys),
        "completions_per_key": (_n_generations(bench) - n_before) / max(1, n_keys),
        "answered_locally": len(local_ms) / max(1, n_keys),
        **{f"local_{name}": value for name, value in _percentiles(local_ms).items()},
        **{f"asked_{name}": value for name, value in _percentiles(asked_ms).items()},
    }
    print("typing", {name: round(value, 2) for name, value in figures.items()})
    return figures


async def _accepting(
    bench: Session, wanted: list[Hole], packages: dict[str, Files]
) -> dict[str, float]:
    """Return how often the request right after accepting needs no model, of those that would need an answer."""
    n_asked, n_known = Counter[str](), Counter[str]()
    for hole, (unit, part) in itertools.product(wanted, ACCEPTED.items()):
        uri, position = open_at(bench, hole, packages[hole.package])
        typed = Edit(Position(hole.line, 0), Position(hole.line, 0), hole.typed)
        bench.handle(events.Changed(uri, 2, (typed,)))
        found = (await bench.complete(uri, position, invoked=True)).suggestions
        await bench.wait_idle()  # as while the user reads it
        if found and (taken := part(found[0].text)):
            edit = Edit(found[0].start, found[0].end if unit == "all" else found[0].start, taken)
            bench.handle(events.Changed(uri, 3, (edit,)))
            before, outcomes = _n_generations(bench), _outcomes(bench)
            await bench.complete(uri, after(found[0].start, taken), invoked=False)
            known = (_outcomes(bench) - outcomes)["cache"] + (_outcomes(bench) - outcomes)["local"]
            n_known[unit] += known
            if known or _n_generations(bench) != before:
                n_asked[unit] += max(1, known)
        await bench.wait_idle()
        close(bench, packages[hole.package], hole)
    shares = {unit: n_known[unit] / max(1, n_asked[unit]) for unit in ACCEPTED}
    print("known after accepting", {unit: f"{n_known[unit]}/{n_asked[unit]}" for unit in ACCEPTED})
    return shares


def _outcomes(bench: Session) -> Counter[str]:
    outcomes = bench.stats()["outcomes"]
    assert isinstance(outcomes, dict)
    return Counter(outcomes)


def _n_generations(bench: Session) -> int:
    return bench._stats.generations  # noqa: SLF001


def _percentiles(ms: Iterable[float]) -> dict[str, float]:
    ordered = sorted(ms) or [0.0]
    return {"p50": ordered[len(ordered) // 2], "p95": ordered[int(len(ordered) * 0.95)]}


def _print(label: str, one: Quality) -> None:
    print(
        f"{label:28} n {one.n} shown {one.shown:.1%} exact {one.exact:.1%} of shown {one.exact_of_shown:.1%}"
        f" similarity {one.similarity:.3f} right chars {one.right_chars:.2f}"
        f" repeated lines {one.repeated_lines} parse errors {one.parse_errors}",
        flush=True,
    )


def _server(options: argparse.Namespace) -> contextlib.AbstractContextManager[str]:
    return contextlib.nullcontext(options.url) if options.url else serving(options.model)


def _options() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--model", type=Path, default=BUNDLED, help="a GGUF file with FIM tokens")
    add("--url", help="measure on a server that runs already")
    add("--limit", type=int, default=340, help="about so many places")
    add("--typing", type=int, default=20, help="so many lines are typed whole")
    add(
        "--off", choices=list(OFF), help="without token healing, the ring, or a greedy first choice"
    )
    add("--completion", type=json.loads, default={}, help="settings, as JSON")
    add("--packages", type=Path, default=Path("benchmarks/wheels"), help="where the wheels are")
    add("--out", type=Path, default=Path("benchmarks/results"), help="where to write the results")
    options = parser.parse_args()
    options.settings = {}
    if options.off:
        OFF[options.off](options)
    return options


def _no_healing(_: argparse.Namespace) -> None:
    compose.heal = lambda text: (text, "")  # type: ignore[attr-defined]


def _no_ring(options: argparse.Namespace) -> None:
    options.settings = {"ring.chunks": 0}


def _not_greedy(_: argparse.Namespace) -> None:
    """llama.cpp's sampler for infill instead: it ends the text where ending is likely enough."""
    completion.GREEDY = {"temperature": 0, "samplers": ["top_k", "infill"], "top_k": 40}


OFF: dict[str, Callable[[argparse.Namespace], None]] = {
    "heal": _no_healing,
    "ring": _no_ring,
    "greedy": _not_greedy,
}


if __name__ == "__main__":
    main()
