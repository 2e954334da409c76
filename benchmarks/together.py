"""
Which files belong to the work in one: with git's history and without, on commits that came later.

    python -m benchmarks.together ~/src/attrs ~/src/cobra       # clones, by path

Of the newest commits that change two to eight files of code, each file in turn is the open one, as it was
before the commit, with the cursor at its first change. Counted is how many of the commit's other files are among the
first k that would be looked at (`context.index.rank_files`), by what stood in the files and what was committed before.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from benchmarks.git import objects
from benchmarks.next_edit.commits import History, Lines
from fim_lsp.context.chunks import Source, read
from fim_lsp.context.definitions import read_syntax
from fim_lsp.context.grammars import language_of
from fim_lsp.context.index import Entry, Index, names, rank_files, update_index
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import Limits
from fim_lsp.context.update import Viewport
from fim_lsp.workspace.borrowed_git import Checkout
from fim_lsp.workspace.git_history import list_commits

FIRST = (1, 3, 5, 12)  # 12 files are read for one choice of chunks
FILES = range(2, 9)  # of a commit: more is a renaming, or several works at once


def main() -> None:
    """Replay, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.together", description=__doc__)
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=60, help="how many of the newest")
    options = parser.parse_args()
    head = [f"{how} @{k}" for how in ("without", "with") for k in FIRST]
    print(f"| history | files | {' | '.join(head)} |\n|{' --- |' * (len(head) + 2)}")
    total = Counter[str]()
    for path in options.histories:
        found = Counter[str]()
        for each in played(path, options.commits):
            found.update(each)
        total += found
        name = path.parent.name.rpartition("+")[2] if path.name == "repo" else path.name
        print(_row(name, found, head), flush=True)
    if len(options.histories) > 1:
        print(_row("all", total, head))


def played(path: Path, n_commits: int) -> Iterator[Counter[str]]:
    """Yield how many files there were to find from each open file, and how many of them are among the first k."""
    history = History(path, n_commits)
    index, blobs = Index(), dict[str, str]()
    for commit in history.commits:
        files = history.files(commit)
        fresh = {p: _entry(p, files[p]) for p in files if blobs.get(p) != commit.blobs[p]}
        index = update_index(index, {**{p: None for p in index.entries if p not in files}, **fresh})
        blobs = commit.blobs
        changed = {hunk.path: hunk.start for hunk in reversed(commit.hunks) if hunk.path in files}
        if len(changed) in FILES:
            before = list_commits(Checkout(f"{commit.id}^", objects(path)))
            known = tuple(frozenset(filter(files.__contains__, each)) for each in before)
            for here in changed:
                yield _found(index, known, files, here, changed)


def _found(
    index: Index, commits: tuple[frozenset[str], ...], files: Mapping[str, Lines], here: str, changed: Mapping[str, int]
) -> Counter[str]:  # fmt: skip
    memory, language = Memory(Limits(0, 1, 0)), language_of(here)
    memory.note_open(Source(here, here, language, 0, files[here]))
    snapshot = memory.snapshot(Viewport(here, changed[here], 0, 0))
    assert snapshot.here
    names, others = read(snapshot.here).imported, changed.keys() - {here}
    found = Counter({"files": len(others)})
    for how, known in (("without", ()), ("with", commits)):
        order = rank_files(replace(index, commits=known), here, language, names, snapshot.near)
        found.update({f"{how} @{k}": len(others.intersection(order[:k])) for k in FIRST})
    return found


@lru_cache(maxsize=20_000)
def _entry(path: str, lines: Lines) -> Entry:
    language = language_of(path)
    syntax = read_syntax(language, "\n".join(lines))
    return Entry(language, (0, 0), names(syntax.definitions))


def _row(name: str, found: Counter[str], head: list[str]) -> str:
    cells = [f"{found[each] / max(1, found['files']):.2f}" for each in head]
    return f"| {name} | {found['files']} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
