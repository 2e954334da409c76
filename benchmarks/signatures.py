"""
What the ring, signatures and git's history do for a real model: the same places with four prompts.

    python -m benchmarks.signatures --model GGUF ~/src/mlx-lm ~/src/pygls

Places are lines committed since 2025 (`recent_code`): at the beginning of the line, and in front of the first name that
another file of the project defines and the window does not show, else behind 60 % of it. All files but the one at work
are closed. Exact is what the model says up to the line end, as it stands there; greedy, no filters. The intervals are
95 % bootstrap over lines.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import git, objects
from benchmarks.recall.history import History
from benchmarks.recent_code import SEED, SHORTEST, recent_lines
from benchmarks.serve import serving
from fim_lsp.context.chunks import Source
from fim_lsp.context.definitions import read_syntax
from fim_lsp.context.grammars import language_of
from fim_lsp.context.index import Entry, Index, names, read_unopened, update_index
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import Limits
from fim_lsp.context.signatures import signatures
from fim_lsp.context.similarity import WORD
from fim_lsp.context.update import Viewport, update_ring
from fim_lsp.documents import split
from fim_lsp.prompt.healing import heal
from fim_lsp.suggest.lines import indent
from fim_lsp.workspace.borrowed_git import Checkout
from fim_lsp.workspace.git_history import list_commits
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Chunk, Prompt, Request

ABOVE, LEAD, BELOW = 24, 5, 8  # lines: frozen above, then with the middle, frozen below
WAYS = ("window only", "ring", "ring with signatures", "the same with git's history")
KINDS = ("beginning of a line", "inside a line")
N_TOKENS = 32
PATIENCE_S = 600.0
TYPED = 0.6
PER_FILE = 3
DRAWS = 2_000


class Line(NamedTuple):
    """A line of a project, *column* where its second place is, *is_far* if another file defines what comes there."""

    project: str
    path: str
    number: int
    column: int
    is_far: bool


class Project:
    """The files of a repository at its newest commit, and the index of what they define."""

    def __init__(self, repository: Path) -> None:
        self.repository = repository
        self.name = repository.resolve().parent.name.rpartition("+")[2] or repository.name
        self.texts = History(repository, 1).files("HEAD")
        entries = {path: _entry(path, text) for path, text in self.texts.items()}
        self.index = update_index(Index(), entries)

    def lines(self, rng: random.Random) -> Iterator[Line]:
        """Yield lines that were committed lately, of files in a random order."""
        paths = [path for path, text in sorted(self.texts.items()) if 600 < len(text) < 150_000]
        rng.shuffle(paths)
        for path in paths:
            text, recent = self.texts[path].split("\n"), recent_lines(self.repository, path)
            rng.shuffle(recent)
            long = [n for n in recent if n < len(text) and len(text[n].strip()) >= SHORTEST]
            yield from (self._line(path, text, n) for n in long[:PER_FILE])

    def _line(self, path: str, text: list[str], n: int) -> Line:
        around = text[max(0, n - ABOVE - LEAD) : n] + text[n + 1 : n + 1 + BELOW]
        seen, start = set(WORD.findall("\n".join(around))), len(indent(text[n]))
        for match in WORD.finditer(text[n]):
            homes = self.index.homes.get(match[0], ())
            if match.start() > start and homes and path not in homes and match[0] not in seen:
                return Line(self.name, path, n, match.start(), is_far=True)
        column = start + round(TYPED * len(text[n].strip()))
        return Line(self.name, path, n, column, is_far=False)

    def chunks(self, line: Line, way: str, n_chars: int) -> tuple[Chunk, ...]:
        """Return the ring when the user has typed up to the place inside the line."""
        if way == WAYS[0]:
            return ()
        index = self.index if way != WAYS[3] else replace(self.index, commits=self._commits(line))
        text = self.texts[line.path].split("\n")
        text[line.number] = text[line.number][: line.column]
        memory = Memory(Limits(16, 64, n_chars))
        memory.note_open(_source(line.path, "\n".join(text)))
        first, last = max(0, line.number - ABOVE - LEAD), line.number + 1 + BELOW
        view = Viewport(line.path, line.number, first, last)
        snapshot = memory.snapshot(view)
        others = [*read_unopened(index, snapshot, self._closed)]
        if way in WAYS[2:]:
            others = [*signatures(index, snapshot, self._closed), *others]
        memory.accept(update_ring(replace(snapshot, others=tuple(others))))
        return tuple(Chunk(each.name, each.text) for each in memory.visible(view))

    def prompt(self, line: Line, column: int, chunks: tuple[Chunk, ...]) -> Prompt:
        """Return what the model is asked with the cursor in *column*."""
        lines = split(self.texts[line.path])
        anchor = max(0, line.number - LEAD)
        middle, forced = heal("".join(lines[anchor : line.number]) + lines[line.number][:column])
        prefix = "".join(lines[max(0, anchor - ABOVE) : anchor])
        suffix = "\n" + "".join(lines[line.number + 1 : line.number + 1 + BELOW])
        return Prompt(self.name, chunks, line.path, prefix, suffix, middle, forced=forced)

    def _commits(self, line: Line) -> tuple[frozenset[str], ...]:
        """Return the files of the commits that came before the one that wrote *line*."""
        only = f"{line.number + 1},{line.number + 1}"
        blamed = git(self.repository, "blame", "--porcelain", "-L", only, "HEAD", "--", line.path)
        commits = list_commits(Checkout(f"{blamed.split()[0]}^", objects(self.repository)))
        return tuple(frozenset(filter(self.texts.__contains__, each)) for each in commits)

    def _closed(self, path: str) -> Source | None:
        return _source(path, self.texts[path])


def main() -> None:
    """Ask, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1])
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="a GGUF file")
    parser.add_argument("--lines", type=int, default=150, help="two places each")
    parser.add_argument("--chars", type=int, default=2_000, help="of the ring")
    parser.add_argument(
        "--far", action="store_true", help="only lines that name what another file defines"
    )
    parser.add_argument(
        "--json",
        type=Path,
        help="the answers, written after every line; what is in it already is not asked again",
    )
    options = parser.parse_args()
    projects = [Project(path) for path in options.histories]
    rng, found = random.Random(SEED), list[tuple[Project, Line]]()
    each = [(project, project.lines(rng)) for project in projects]
    while each and len(found) < options.lines:
        for project, lines in tuple(each):
            line = next((one for one in lines if one.is_far or not options.far), None)
            if line is None:
                each.remove((project, lines))
            else:
                found.append((project, line))
    with serving(options.model, n_threads=1) as url:
        asyncio.run(_ask(url, found[: options.lines], options))


async def _ask(
    url: str, found: Sequence[tuple[Project, Line]], options: argparse.Namespace
) -> None:
    server, rows = LlamaServer(Http(url, patience_s=PATIENCE_S)), list[dict[str, object]]()
    if options.json and options.json.exists():
        rows += json.loads(options.json.read_text("utf-8"))
    n_known = len(rows) // (len(WAYS) * len(KINDS))
    replies: dict[Prompt, str] = {}  # of one line: two ways may find the same chunks
    for n, (project, line) in islice(enumerate(found), n_known, None):
        text = project.texts[line.path].split("\n")[line.number]
        replies.clear()
        for way in WAYS:
            chunks = project.chunks(line, way, options.chars)
            columns = (len(indent(text)), line.column)
            for kind, column in zip(KINDS, columns, strict=True):
                prompt = project.prompt(line, column, chunks)
                if prompt not in replies:
                    reply = await server.complete(Request(prompt, N_TOKENS, stop=("\n",)))
                    replies[prompt] = reply.text[len(prompt.forced) :]
                said = replies[prompt].split("\n")[0].rstrip()
                rows.append({
                    "line": n, "far": line.is_far, "way": way, "kind": kind, "where": f"{line.path}:{line.number + 1}",
                    "rest": text[column:], "said": said, "exact": said == text[column:].rstrip(),
                    "chars": sum(len(chunk.text) for chunk in chunks),
                })  # fmt: skip
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1), "utf-8")
    print(table(rows))
    await server.aclose()


def table(rows: Sequence[dict[str, object]]) -> str:
    """Return the shares by kind of place and way in Markdown."""
    lines = ["| place | prompt | places | exact | 95 % |", "| --- | --- | ---: | ---: | ---: |"]
    for is_far in (True, False):
        for kind in KINDS:
            for way in WAYS:
                mine = [r for r in rows if (r["far"], r["kind"], r["way"]) == (is_far, kind, way)]
                if mine:
                    exact = [bool(row["exact"]) for row in mine]
                    low, high = _interval(exact)
                    what = f"{kind}, " + ("a name of another file" if is_far else "others")
                    share = f"{sum(exact) / len(exact):.1%}"
                    lines.append(
                        f"| {what} | {way} | {len(exact)} | {share} | {low:.0%}–{high:.0%} |"
                    )
    return "\n".join(lines)


def _interval(exact: Sequence[bool]) -> tuple[float, float]:
    rng = random.Random(SEED)
    means = sorted(sum(rng.choices(exact, k=len(exact))) / len(exact) for _ in range(DRAWS))
    return means[DRAWS // 40], means[-DRAWS // 40]


def _entry(path: str, text: str) -> Entry:
    language = language_of(path)
    return Entry(language, (0, 0), names(read_syntax(language, text).definitions))


def _source(path: str, text: str) -> Source:
    return Source(path, path, language_of(path), 1, tuple(split(text)))


if __name__ == "__main__":
    main()
