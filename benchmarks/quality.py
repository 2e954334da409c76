"""
How good suggestions are, on code the bundled model never saw, through the whole session.

    python -m benchmarks.quality                        # 340 places, the bundled model; some minutes
    python -m benchmarks.quality --limit 40 --typing 10
    python -m benchmarks.quality --url http://127.0.0.1:8012      # your own server
    python -m benchmarks.quality --off heal             # without token healing; or: ring, greedy

At each place the file is open with the line missing and its neighbours open beside it, the rest of the
package lies on disk; the editor pauses, the first 40 % of the line are typed, and an automatic
suggestion is asked for. Prints what was shown and
how good it was, the same with each filter switched off, how quiet it is where nothing should come, and
what it costs to type whole lines.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import difflib
import itertools
import json
import re
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import tree_sitter_python
from tree_sitter import Language, Parser

from benchmarks.heldout import Files, Hole, fetched, holes
from benchmarks.serve import BUNDLED, serving
from fim_lsp import engine, events, session
from fim_lsp.documents import Edit, Position, after
from fim_lsp.schema import made
from fim_lsp.session import Session
from fim_lsp.suggest.filters import FILTERS, polish
from fim_lsp.suggest.known import Known
from fim_lsp.suggest.place import Draft, Place
from fim_lsp.tower import Tower
from server_bridge import completion
from server_bridge.llama import LlamaServer

ROOT = Path(tempfile.gettempdir()) / "fim-lsp-quality"  # where the packages lie meanwhile
# What editors accept at a time, and what of a suggestion that is.
ACCEPTED: dict[str, Callable[[str], str]] = {
    "all": str,
    "line": lambda text: text.split("\n")[0],
    "word": lambda text: (re.match(r"\s*(?:\w+|\W)", text) or [""])[0],
}
NEIGHBOURS = 6  # other files of the package that are open: a morning's work
PARSER = Parser(Language(tree_sitter_python.language()))


@dataclass(frozen=True, slots=True)
class Shown:
    """What was shown at a hole of a file, "" for nothing, and how much it replaces on the right."""

    hole: Hole
    place: Place
    file: str
    text: str
    replaces: int = 0


@dataclass(frozen=True, slots=True)
class Quality:
    """Shares of all places, but *similarity* and *right_chars*, which are of what was shown."""

    n: int
    shown: float
    exact: float
    exact_of_shown: float
    similarity: float  # of the first line to the rest of the line
    right_chars: float  # share of the first line's characters before the first wrong one
    repeated_lines: int  # suggestions that say the next line of the file
    parse_errors: int  # suggestions that add syntax errors


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
    """The packages as folders, for the session to find what nobody opened."""
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
    config = made({**given, **options.settings})
    bench = Session(config, lambda _: server)
    await bench.link.wait_ready()
    shown, drafts, ms = [], [], []
    with _recorded(drafts):
        for hole in wanted:
            one, took = await _suggested(bench, hole, packages[hole.package])
            shown.append(one)
            ms.append(took)
    stats = bench.stats()
    figures: dict[str, object] = {"all": asdict(quality(shown)), "latency": _percentiles(ms)}
    _print("all filters", quality(shown))
    print("latency ms", figures["latency"], "outcomes", stats.get("outcomes"))
    figures["without"] = _ablations(shown, drafts)
    figures["quiet"] = await _quiet(bench, wanted, packages)
    lines = wanted[:: max(1, len(wanted) // options.typing)][: options.typing]
    figures["typing"] = await _typing(bench, lines, packages)
    with _forgetful():
        figures["typing, one completion per key"] = await _typing(bench, lines, packages)
    figures["accepting"] = await _accepting(bench, wanted, packages)
    figures["stats"] = stats
    await bench.aclose()
    return figures


def quality(shown: list[Shown]) -> Quality:
    """The figures of a list of suggestions."""
    visible = [one for one in shown if one.text]
    firsts = [(one.text.split("\n")[0].rstrip(), one.hole.rest) for one in visible]
    n_exact = sum(first == rest for first, rest in firsts)
    ratio = [difflib.SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in firsts]
    n_right = sum(_n_common(*pair) for pair in firsts)
    n_said = sum(len(first) for first, _ in firsts)
    return Quality(
        n=len(shown),
        shown=len(visible) / len(shown),
        exact=n_exact / len(shown),
        exact_of_shown=n_exact / max(1, len(visible)),
        similarity=statistics.fmean(ratio) if ratio else 0.0,
        right_chars=n_right / max(1, n_said),
        repeated_lines=sum(map(_repeats, visible)),
        parse_errors=sum(map(_breaks, visible)),
    )


# -- one place ---------------------------------------------------------------------------------------


async def _suggested(bench: Session, hole: Hole, files: Files) -> tuple[Shown, float]:
    """What is shown at *hole* and how many milliseconds it took."""
    uri, position = open_at(bench, hole, files)
    await bench.complete(uri, Position(hole.line, 0), invoked=True)
    await bench.wait_idle()
    await bench._desk.spaces.wait_explored()  # noqa: SLF001 (once per package)
    typed = Edit(Position(hole.line, 0), Position(hole.line, 0), hole.typed)
    bench.handle(events.Changed(uri, 2, (typed,)))
    began = time.perf_counter()
    found = await bench.complete(uri, position, invoked=False)
    took = (time.perf_counter() - began) * 1e3
    place = engine.asked(
        bench.documents[uri], position, hole.path, invoked=False, selected=None
    ).place
    close(bench, files, hole)
    text = found[0].text if found else ""
    replaces = found[0].end.column - position.column if found else 0
    return Shown(hole, place, files[hole.path], text, replaces), took


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
    """The files next to this one in the package, most similar in name first."""
    others = sorted(path for path in files if path != hole.path)
    at = sum(path < hole.path for path in others)
    return sorted(others, key=lambda path: abs(others.index(path) - at))[:NEIGHBOURS]


def _uri(hole: Hole, path: str) -> str:
    return (ROOT / hole.package / path).as_uri()


# -- figures -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def _recorded(drafts: list[tuple[Draft, Place]]) -> Iterator[None]:
    """Note every draft before it is polished, to polish it in other ways later."""

    def noting(draft: Draft, place: Place) -> Draft:
        drafts.append((draft, place))
        return polish(draft, place)

    session.polish = noting  # type: ignore[attr-defined]
    try:
        yield
    finally:
        session.polish = polish  # type: ignore[attr-defined]


@contextlib.contextmanager
def _forgetful() -> Iterator[None]:
    """Nothing that was said is known any more: every key that asks gets a completion of its own."""
    find, on_screen, joinable = Known.find, Session._on_screen, Tower._joinable  # noqa: SLF001
    Known.find = lambda *_: []  # type: ignore[method-assign, assignment]
    Session._on_screen = Tower._joinable = lambda *_: None  # type: ignore[method-assign, assignment]  # noqa: SLF001
    try:
        yield
    finally:
        Known.find, Session._on_screen, Tower._joinable = find, on_screen, joinable  # type: ignore[method-assign]  # noqa: SLF001


def _ablations(shown: list[Shown], drafts: list[tuple[Draft, Place]]) -> dict[str, object]:
    """The same drafts with one filter left out at a time, and with none."""
    drafted = {_key(place): (draft, place) for draft, place in drafts}
    known = [(one, *drafted[_key(one.place)]) for one in shown if _key(one.place) in drafted]
    names = [each.__name__ for each in FILTERS]
    figures: dict[str, object] = {}
    for label, off in [("none left out", []), *((name, [name]) for name in names), ("all", names)]:
        again = []
        for one, draft, place in known:
            done = polish(draft, place, off)
            again.append(Shown(one.hole, place, one.file, done.text, done.replaces))
        figures[label] = asdict(quality(again))
        _print(f"without {label}", quality(again))
    return figures


def _key(place: Place) -> tuple[str, ...]:
    return (place.path, place.before, *place.above[-3:])


async def _quiet(
    bench: Session, wanted: list[Hole], packages: dict[str, Files]
) -> dict[str, float]:
    """How often nothing is shown inside an existing word and behind a complete line."""
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
            found = await bench.complete(uri, Position(hole.line, column), invoked=False)
            n_asked[name] += 1
            n_quiet[name] += not found
        bench.handle(events.Closed(uri))
    rates = {name: n_quiet[name] / max(1, n_asked[name]) for name in n_quiet}
    print("quiet", {name: f"{rate:.0%}" for name, rate in rates.items()})
    return rates


async def _typing(
    bench: Session, wanted: list[Hole], packages: dict[str, Files]
) -> dict[str, float]:
    """Type whole lines key by key: what is asked of the model, and which keys were on screen already."""
    n_keys = n_foretold = 0
    n_before, asked_ms, local_ms = _n_flights(bench), [], []
    for hole in wanted:
        uri, _ = open_at(bench, hole, packages[hole.package])
        line, ahead = hole.typed + hole.rest, ""
        for column, char in enumerate(line):
            at = Position(hole.line, column)
            n_keys += 1
            n_foretold += ahead[:1] == char
            bench.handle(events.Changed(uri, column + 2, (Edit(at, at, char),)))
            n_flights, began = _n_flights(bench), time.perf_counter()
            found = await bench.complete(uri, Position(hole.line, column + 1), invoked=False)
            took = (time.perf_counter() - began) * 1e3
            (local_ms if n_flights == _n_flights(bench) else asked_ms).append(took)
            ahead = found[0].text if found else ""
        close(bench, packages[hole.package], hole)
    figures = {
        "keys": float(n_keys),
        "foretold": n_foretold / max(1, n_keys),
        "completions_per_key": (_n_flights(bench) - n_before) / max(1, n_keys),
        "answered_locally": len(local_ms) / max(1, n_keys),
        **{f"local_{name}": value for name, value in _percentiles(local_ms).items()},
        **{f"asked_{name}": value for name, value in _percentiles(asked_ms).items()},
    }
    print("typing", {name: round(value, 2) for name, value in figures.items()})
    return figures


async def _accepting(
    bench: Session, wanted: list[Hole], packages: dict[str, Files]
) -> dict[str, float]:
    """How often the request right after accepting needs no model, of those that get to asking one."""
    n_asked, n_known = Counter[str](), Counter[str]()
    for hole, (unit, part) in itertools.product(wanted, ACCEPTED.items()):
        uri, position = open_at(bench, hole, packages[hole.package])
        typed = Edit(Position(hole.line, 0), Position(hole.line, 0), hole.typed)
        bench.handle(events.Changed(uri, 2, (typed,)))
        found = await bench.complete(uri, position, invoked=True)
        await bench.wait_idle()  # somebody reads it
        if found and (taken := part(found[0].text)):
            edit = Edit(found[0].start, found[0].end if unit == "all" else found[0].start, taken)
            bench.handle(events.Changed(uri, 3, (edit,)))
            before, outcomes = _n_flights(bench), _outcomes(bench)
            await bench.complete(uri, after(found[0].start, taken), invoked=False)
            known = (_outcomes(bench) - outcomes)["cache"] + (_outcomes(bench) - outcomes)["local"]
            n_known[unit] += known
            n_asked[unit] += known or _n_flights(bench) != before
        await bench.wait_idle()
        close(bench, packages[hole.package], hole)
    shares = {unit: n_known[unit] / max(1, n_asked[unit]) for unit in ACCEPTED}
    print("known after accepting", {unit: f"{n_known[unit]}/{n_asked[unit]}" for unit in ACCEPTED})
    return shares


def _outcomes(bench: Session) -> Counter[str]:
    return Counter(bench.stats()["outcomes"])  # type: ignore[arg-type]


def _n_flights(bench: Session) -> int:
    return bench._stats.flights  # noqa: SLF001


def _n_common(said: str, truth: str) -> int:
    pairs = zip(said, truth, strict=False)
    return next((idx for idx, (a, b) in enumerate(pairs) if a != b), min(len(said), len(truth)))


def _repeats(one: Shown) -> bool:
    """Whether a line of the suggestion is the next line of the file."""
    following = next((line for line in one.place.below if line.strip()), "")
    said = (one.place.before + one.text).split("\n")
    return bool(following) and any(line.rstrip() == following.rstrip() for line in said)


def _breaks(one: Shown) -> bool:
    """Whether the file has more syntax errors with the suggestion accepted than without."""
    return _n_errors(one, one.text, one.replaces) > _n_errors(one, "", 0)


def _n_errors(one: Shown, text: str, replaces: int) -> int:
    lines = one.file.split("\n")
    lines[one.hole.line] = one.place.before + text + one.place.after[replaces:]
    n_errors, nodes = 0, [PARSER.parse("\n".join(lines).encode()).root_node]
    while nodes:
        node = nodes.pop()
        n_errors += node.is_error or node.is_missing
        nodes.extend(child for child in node.children if child.has_error)
    return n_errors


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
    add("--packages", type=Path, default=Path("benchmarks/heldout"), help="where the wheels are")
    add("--out", type=Path, default=Path("benchmarks/results"), help="where to write the results")
    options = parser.parse_args()
    options.settings = {}
    if options.off:
        OFF[options.off](options)
    return options


def _no_healing(_: argparse.Namespace) -> None:
    engine.heal = lambda text: (text, "")  # type: ignore[attr-defined]


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
