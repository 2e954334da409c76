"""
What fim-lsp shows with a real model where time does not count: places in code that people wrote lately.

    python -m benchmarks.real_places --blocks 20 ~/src/mlx-lm ~/src/crush
    python -m benchmarks.real_places --model 1.5b --set held-out --explain ~/src/pygls

The places are of the blocks that `real_sessions` types: inside a line, at the beginning of one, behind the head of a
block. Each is asked about as by an editor while its user types, through the real session, with no editor and a
deadline of a minute. *Said* is the model's text before the filters and the gate, as far as it was decoded.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from benchmarks.real_sessions.arguments import parsed, parser
from benchmarks.real_sessions.choice import PAUSE_LINE, Written, checkout, written
from benchmarks.real_sessions.scores import score
from benchmarks.serve import serving
from fim_lsp import events
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Edit, Position
from fim_lsp.session import completer
from fim_lsp.session.session import Session
from fim_lsp.settings.schema import make_config
from fim_lsp.suggest.cursor import Candidate
from fim_lsp.suggest.filters import polish
from fim_lsp.suggest.lines import indent
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Reply, Request

KINDS = ("inside a line", "at the beginning of a line", "behind the head of a block")
TYPED = 0.6  # of a line
PATIENCE_S = 300.0  # long prompts on slow machines are measured, not given up
PATIENT = {
    "completion.deadlineMs": 60_000,
    "completion.patienceMs": 60_000,
    "completion.debounceMs": 0,
}


class Place(NamedTuple):
    """A cursor in a block: what of it stands before it, and what follows."""

    kind: str
    above: str
    expected: str


class Asked(NamedTuple):
    """What a place came to; *cuts* are the filters that changed the text, and why."""

    where: str
    place: Place
    shown: str
    said: str
    n_prompt: int
    cuts: tuple[str, ...]
    outcome: str


class Heard(LlamaServer):
    """A llama.cpp server; what it said last is kept."""

    said, n_prompt = "", 0

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        """See `LlamaServer`."""
        raw, self.said, self.n_prompt = "", "", 0
        async with aclosing(super().stream(request)) as replies:
            async for reply in replies:
                raw += reply.text
                self.said = raw[len(request.prompt.forced) :]
                self.n_prompt = self.n_prompt or reply.timings.prompt_n + reply.timings.cache_n
                yield reply


def places(block: Written) -> Iterator[Place]:
    """Yield the places of its typed lines: inside each long line, at the beginning of each but the first."""
    whole, at, before = "\n".join(block.block), 0, ""
    for n, line in enumerate(block.typed):
        width = len(indent(line))
        stop = at + width + round((len(line) - width) * TYPED)
        if n and line.strip():
            kind = KINDS[1 + (len(indent(before)) < width)]
            yield Place(kind, whole[: at + width], whole[at + width :])
        if len(line.strip()) >= PAUSE_LINE:
            yield Place(KINDS[0], whole[:stop], whole[stop:])
        at, before = at + len(line) + 1, line if line.strip() else before


def main() -> None:
    """Ask, print, write."""
    known = parser("real_places", __doc__, threads=1)
    known.add_argument("--blocks", type=int, default=10, help="about nine places each")
    options = parsed(known)
    asked = list[Asked]()
    with serving(options.model, n_threads=options.threads) as url:
        for block in written(options.histories, options.blocks, options.set, options.seed):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
                found = asyncio.run(_asked(url, block, checkout(Path(home), block)))
            asked += found
            if options.explain:
                print("\n".join(map(_explained, found)), flush=True)
    print(f"{options.model.name}, {options.blocks} blocks, {options.set}\n\n{table(asked)}")
    if options.json:
        rows = [{**each._asdict(), "place": each.place._asdict()} for each in asked]
        options.json.write_text(json.dumps(rows, indent=1), "utf-8")


async def _asked(url: str, block: Written, folder: Path) -> list[Asked]:
    """Return each place of *block*, in one session."""
    server = Heard(Http(url, patience_s=PATIENCE_S))
    session, found = Session(make_config(PATIENT), lambda _: server), list[Asked]()
    cuts = list[str]()

    def noting(candidate: Candidate, *around: Any) -> Candidate:
        left = polish(candidate, *around)
        cuts[:] = [f"{cut.filter} ({cut.why})" for cut in left.cuts]
        return left

    session.handle(events.FoldersChanged((folder.as_uri(),)))
    text, *others = (_text(folder / path) for path in (block.path, *block.others))
    for path, other in zip(block.others, others, strict=True):
        session.handle(_opened(folder / path, other))
    await session.connection.wait_ready()
    await session.workspaces.wait_explored()
    with patch.object(completer, "polish", noting):
        for place in places(block):
            cuts.clear()
            server.said = ""
            shown = await _shown(session, folder / block.path, text, block.start, place)
            outcome = session.counters.answers[-1].outcome
            found.append(
                Asked(block.name, place, shown, server.said, server.n_prompt, tuple(cuts), outcome)
            )
    await session.aclose()
    return found


async def _shown(session: Session, file: Path, text: str, start: int, place: Place) -> str:
    """Return what is shown at *place* when its last character was typed."""
    lines = text.split("\n")
    *above, line = place.above.split("\n")
    lines[start : start + 1] = [*above, line[:-1]]
    opened = _opened(file, "\n".join(lines))
    session.handle(opened)
    at = Position(start + len(above), len(line))
    before = at._replace(column=max(0, at.column - 1))
    session.handle(events.Changed(opened.uri, 2, (Edit(before, before, line[-1:]),)))
    found = (await session.complete(opened.uri, at, invoked=False)).suggestions
    session.handle(events.Closed(opened.uri))
    return found[0].text if found else ""


def _text(file: Path) -> str:
    return file.read_text("utf-8", "replace")


def _opened(file: Path, text: str) -> events.Opened:
    return events.Opened(file.as_uri(), language_of(file.name), 1, text)


def table(asked: Sequence[Asked]) -> str:
    """Return the figures by kind of place in Markdown, and which filters cut."""
    rows = ["| place | asked | shown | first line exact | right | wrong | said: right | wrong |"]
    rows.append("| --- |" + " ---: |" * 7)
    for kind in (*KINDS, "all"):
        mine = [each for each in asked if kind in (each.place.kind, "all")]
        shown = score((each.shown, each.place.expected) for each in mine)
        said = score((each.said, each.place.expected) for each in mine)
        cells = (len(mine), *shown, said.right, said.wrong)
        rows.append(f"| {kind} | " + " | ".join(map(str, cells)) + " |")
    cuts = Counter(cut.partition(" (")[0] for each in asked for cut in each.cuts)
    for title, found in (("Cut by", cuts), ("Ended", Counter(each.outcome for each in asked))):
        rows += ["", f"{title}: " + ", ".join(f"{name} {n}" for name, n in found.most_common())]
    return "\n".join(rows)


def _explained(asked: Asked) -> str:
    typed = asked.place.above.rpartition("\n")[2]
    return (
        f"\n{asked.where}, {asked.place.kind}: typed {typed!r}\n"
        f"  written  {asked.place.expected[: len(asked.said) + 40]!r}\n"
        f"  said     {asked.said!r}, behind {asked.n_prompt} tokens\n"
        f"  shown    {asked.shown!r} ({asked.outcome}; cut by {', '.join(asked.cuts) or 'nothing'})"
    )


if __name__ == "__main__":
    main()
