"""
How much of a suggestion to show: the curve of wrong characters against right ones, by rule and threshold.

    python -m benchmarks.gate --record gate.json      # some minutes; then all rules on what was recorded
    python -m benchmarks.gate --recorded gate.json

Automatic requests are sent at the held-out places of `quality` and while whole lines are typed key by key, without
a gate. What the model said, with the odds of its tokens, is kept; then each rule says what it would have shown of it. A
character is right if it and all before it stand in the file there. `mean` is the rule of the first versions: all of
the text, if the geometric mean of its probabilities is high enough.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.heldout import Files, Hole, fetched, holes
from benchmarks.judgement import _n_common
from benchmarks.quality import _laid_out, _suggested, close, open_at
from benchmarks.serve import BUNDLED, serving
from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.session.completer import Completer
from fim_lsp.session.session import Session
from fim_lsp.settings.schema import make_config
from fim_lsp.suggest.confidence import confidence, likely
from fim_lsp.suggest.cursor import Candidate, Cursor, Odds
from fim_lsp.suggest.filters import polish
from server_bridge.llama.backend import LlamaServer

N_LINES = 60  # typed key by key
THRESHOLDS = (0.0, 0.05, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9)
SETS = ("places", "keys")


@dataclass(frozen=True, slots=True)
class Said:
    """What the session had at a place, and the text that stands there in the file; *kind* is one of `SETS`."""

    kind: str
    cursor: Cursor
    candidate: Candidate
    truth: str


def mean(candidate: Candidate, least: float, cursor: Cursor) -> Candidate:
    """Return all or nothing, by the mean."""
    shown = polish(candidate, cursor)
    sure = confidence(candidate.odds, shown.text)
    return shown if sure >= least else replace(shown, text="")


def words(candidate: Candidate, least: float, cursor: Cursor) -> Candidate:
    """As far as the product allows, cut between words, before the filters."""
    return polish(likely(candidate, least), cursor)


def whole(candidate: Candidate, least: float, cursor: Cursor) -> Candidate:
    """Return all or nothing, by the product over what would be shown."""
    shown = polish(candidate, cursor)
    return shown if likely(shown, least) is shown else replace(shown, text="")


def polish_sure(candidate: Candidate, least: float, cursor: Cursor) -> Candidate:
    """Return what is shown: the filters see all of the text, then it is cut."""
    return polish(candidate, cursor, least)


RULES: dict[str, Callable[[Candidate, float, Cursor], Candidate]] = {
    "mean, all": mean,
    "product, all": whole,
    "product, words, then filters": words,
    "filters, then product": polish_sure,
}


def main() -> None:
    """Record or read, and print the curves."""
    options = _options()
    if options.record:
        packages = fetched(options.packages)
        wanted = holes(packages)[:: max(1, 340 // options.limit)]
        with _laid_out(packages), serving(BUNDLED) as url:
            said = asyncio.run(_recorded(wanted, packages, url))
        options.record.write_text(json.dumps([asdict(each) for each in said]), "utf-8")
    else:
        said = [_read(each) for each in json.loads(options.recorded.read_text("utf-8"))]
    for kind in SETS:
        print(f"\n**{kind}**: {sum(each.kind == kind for each in said)} requests\n")
        print("| rule | threshold | shown | right characters | wrong | wrong per right |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for name, rule in RULES.items():
            for least in THRESHOLDS:
                print(row(name, least, [each for each in said if each.kind == kind], rule))


def row(
    name: str,
    least: float,
    said: list[Said],
    rule: Callable[[Candidate, float, Cursor], Candidate],
) -> str:
    """One point of a curve."""
    n_shown = n_right = n_wrong = 0
    for each in said:
        text = rule(each.candidate, least, each.cursor).text
        right = _n_common(text, each.truth)
        n_shown, n_right, n_wrong = (
            n_shown + bool(text),
            n_right + right,
            n_wrong + len(text) - right,
        )
    ratio = n_wrong / max(1, n_right)
    return f"| {name} | {least} | {n_shown} | {n_right} | {n_wrong} | {ratio:.2f} |"


async def _recorded(wanted: list[Hole], packages: dict[str, Files], url: str) -> list[Said]:
    given = {
        "completion.minConfidence": 0.0,
        "completion.deadlineMs": 5000,
        "completion.debounceMs": 0,
    }
    session = Session(
        make_config({**given, "completion.patienceMs": 5000}), lambda _: LlamaServer(url)
    )
    await session.connection.wait_ready()
    said: list[Said] = []
    for hole in wanted:
        files = packages[hole.package]
        with _noting(said, "places", _truth(hole, files, len(hole.typed))):
            await _suggested(session, hole, files)
    for hole in wanted[:: max(1, len(wanted) // N_LINES)]:
        await _typed(session, hole, packages[hole.package], said)
    await session.aclose()
    return said


async def _typed(session: Session, hole: Hole, files: Files, said: list[Said]) -> None:
    """The line key by key, a request after each."""
    uri, _ = open_at(session, hole, files)
    for column, char in enumerate(hole.typed + hole.rest):
        at = Position(hole.line, column)
        session.handle(events.Changed(uri, column + 2, (Edit(at, at, char),)))
        truth = _truth(hole, files, column + 1)
        with _noting(said, "keys", truth):
            await session.complete(uri, Position(hole.line, column + 1), invoked=False)
    close(session, files, hole)


def _truth(hole: Hole, files: Files, column: int) -> str:
    """Return what stands in the file from there on."""
    return "\n".join(files[hole.path].split("\n")[hole.line :])[column:]


@contextlib.contextmanager
def _noting(said: list[Said], kind: str, truth: str) -> Iterator[None]:
    """Keep what automatic requests have, before anything is left out of it."""
    offered = Completer._polish  # noqa: SLF001

    def noting(self: Completer, request: Any, doc_state: Any, outcome: str, found: Any) -> Any:
        if not request.invoked:
            said.append(Said(kind, request.cursor, found[0], truth))
        return offered(self, request, doc_state, outcome, found)

    with (
        mock.patch.object(Completer, "_polish", noting),
        mock.patch.object(Completer, "_find_displayed_rest", return_value=None),
    ):
        yield


def _read(raw: dict[str, Any]) -> Said:
    candidate = raw["candidate"]
    odds = tuple(Odds(*each) for each in candidate["odds"])
    cursor: dict[str, Any] = raw["cursor"]
    lines = {name: tuple(cursor[name]) for name in ("above", "below")}
    said = Candidate(candidate["text"], candidate["whole"], odds)
    return Said(raw["kind"], Cursor(**{**cursor, **lines}), said, raw["truth"])


def _options() -> argparse.Namespace:
    assert __doc__
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--record", type=Path, help="where to write what is recorded")
    add("--recorded", type=Path, help="what was recorded before")
    add("--limit", type=int, default=340, help="places")
    add("--packages", type=Path, default=Path("benchmarks/wheels"), help="as of `quality`")
    options = parser.parse_args()
    if not (options.record or options.recorded):
        parser.error("name a file with --record or --recorded")
    return options


if __name__ == "__main__":
    main()
