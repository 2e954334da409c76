"""
How long until the first line of a suggestion of several lines is on screen, against all of it.

    python -m benchmarks.first_line

At the headers of methods of the standard library, the session is asked for what comes below, by a client
that shows lines before all of the text is there (`partialResultToken`). Tokens decoded are exact; milliseconds are this machine's.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks import arguments
from benchmarks.serve import BUNDLED, serving
from fim_lsp import events
from fim_lsp.documents import Edit, Position
from fim_lsp.session.session import Session
from fim_lsp.settings.config import CompletionConfig, Config
from fim_lsp.suggest.request import Requester, Suggestion
from server_bridge.bridge import BackendSettings, open_backend

LIBRARY = Path(argparse.__file__).parent
ABOVE = 25  # lines of the file before the header
SLIP = "qz"  # typed in place of the colon at first: what is known there says nothing of what comes
# All of a text is shown, however unsure the model is, and waited for.
ALL = CompletionConfig(debounce_ms=0, min_confidence=0.0, deadline_ms=20_000)


class Shown(NamedTuple):
    """What there was when something was shown: tokens decoded, milliseconds, lines."""

    n_tokens: int
    ms: float
    n_lines: int


def headers() -> Iterator[list[str]]:
    """Lines of files that end with a method's header, one of each file."""
    for path in sorted(LIBRARY.glob("*.py")):
        lines = path.read_text("utf-8", "replace").splitlines(keepends=True)
        for n, line in enumerate(lines):
            if n > ABOVE and line.startswith("    def ") and line.endswith(":\n"):
                yield [*lines[n - ABOVE : n], line[:-1]]
                break


async def shown(session: Session, number: int, lines: list[str]) -> list[Shown]:
    """Return what is shown below a header, line by line and then all, its colon just typed."""
    uri, colon = f"untitled:{number}.py", Position(ABOVE, len(lines[-1]) - 1)
    end = colon._replace(column=colon.column + len(SLIP))
    session.handle(events.Opened(uri, "python", 1, "".join(lines)[:-1] + SLIP))
    await session.complete(uri, end, invoked=True)  # the prompt is evaluated
    await session.wait_idle()
    session.handle(events.Changed(uri, 2, (Edit(colon, end, ":"),)))
    found: list[Shown] = []
    began, before = time.perf_counter(), session.counters.predicted

    def hear(suggestion: Suggestion) -> None:
        n_tokens = session.counters.predicted - before
        ms = 1e3 * (time.perf_counter() - began)
        found.append(Shown(n_tokens, ms, len(suggestion.text.strip().splitlines())))

    place = colon._replace(column=colon.column + 1)
    answer = await session.complete(uri, place, invoked=False, client=Requester(on_progress=hear))
    for all_of_it in answer.suggestions:
        hear(all_of_it)
    await session.wait_idle()
    session.handle(events.Closed(uri))
    return found


async def measure(url: str, n_places: int) -> None:
    """Ask at *n_places* headers, and print the medians where there were several lines."""
    backend = BackendSettings(kind="llama-server", url=url)
    session = Session(Config(completion=ALL), lambda _: open_backend(backend))
    await session.connection.wait_ready()
    found = []
    for number, lines in zip(range(n_places), headers(), strict=False):
        each = await shown(session, number, lines)
        if each and each[-1].n_lines > 1:
            found.append((each[0], each[-1]))
    await session.aclose()
    print(f"{len(found)} of {n_places} places with several lines; medians\n")
    print("| shown | lines | tokens decoded | ms |\n| --- | ---: | ---: | ---: |")
    for name, column in (("first", 0), ("all", 1)):
        of_all = [each[column] for each in found]
        n_lines, n_tokens, ms = (
            statistics.median(getattr(each, what) for each in of_all)
            for what in ("n_lines", "n_tokens", "ms")
        )
        print(f"| {name} | {n_lines:g} | {n_tokens:g} | {ms:.0f} |")


def main() -> None:
    """Measure on a server of its own."""
    parser = arguments.parser("first_line", __doc__)
    parser.add_argument("--model", type=Path, default=BUNDLED)
    parser.add_argument("--places", type=int, default=60)
    options = parser.parse_args()
    with serving(options.model) as url:
        asyncio.run(measure(url, options.places))


if __name__ == "__main__":
    main()
