"""
How often the import that is offered for a missing name is the one that was written.

    python -m benchmarks.imports ~/src/mlx-lm ~/src/crush       # clones, by path

Of the commits since 2025 that add the import of a name of the same repository to a file, each such import is taken
out of the file as it is after the commit, and the lines that the commit brought are taken for edits. Counted is how
often one is offered, how often that is the line that was taken out, and whether it goes to the same place, but for blank lines. In the complete files
of the newest commit nothing is missing, so each offer is wrong there, whatever line is taken for an edit.
"""

from __future__ import annotations

import argparse
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import git
from benchmarks.next_edit.commits import MAX_CHARS, PROSE, hunks_of
from fim_lsp.context.definitions import read_syntax
from fim_lsp.context.free_names import FreeName, free_names
from fim_lsp.context.grammars import language_of
from fim_lsp.context.index import Entry, Index, holding, names, update_index
from fim_lsp.context.words import words
from fim_lsp.imports.missing import Known, Origin, find_candidates, language_row, missing_import
from fim_lsp.imports.statement import File, Insertion, Lines, Statement
from fim_lsp.next_edit.log import EDIT_LINES
from fim_lsp.workspace.explorer import HOLDING

SINCE = "2025-01-01"
MANIFESTS = ("go.mod", "package.json", "Cargo.toml", "pom.xml", "build.gradle", "build.gradle.kts")
CASES = 300  # of one history: the newest


class State(NamedTuple):
    """A repository at one commit: its code files and manifests, and the index of them."""

    files: Mapping[str, Lines]
    known: Index


class Case(NamedTuple):
    """A file with an import less: its path, its lines, those the commit brought, all as they were, and the name."""

    path: str
    lines: Lines
    edited: Lines
    whole: Lines
    name: str


class Offer(NamedTuple):
    """What is offered: the name, and the change."""

    origin: Origin
    insertion: Insertion


def offers(state: State, here: str, lines: Lines, edited: Sequence[str]) -> Iterator[Offer]:
    """Yield what is offered in a text, each name once, if the lines *edited* were just typed, some after others."""
    language, seen = language_of(here), set[Origin]()
    for start in range(0, len(edited), EDIT_LINES):
        found = find_candidates(state.known, here, language, edited[start : start + EDIT_LINES], ())
        fresh = [each for each in found if each not in seen]
        seen.update(fresh)
        words_free = free_names(language, "\n".join(lines), [each.word for each in fresh])
        free = {each.name: each for each in words_free}
        for origin in fresh:
            if origin.word in free:
                insertion = _decided(state, File(here, lines), origin, free[origin.word])
                if insertion:
                    yield Offer(origin, insertion)


def _decided(state: State, here: File, origin: Origin, free: FreeName) -> Insertion | None:
    language = language_of(here.path)
    row = language_row(language)
    near = holding(state.known, [origin.name.rpartition(".")[2]], here.path)
    others = [File(path, state.files[path]) for path in islice(near, HOLDING)]
    home = File(origin.home, state.files[origin.home])
    needed = row.needs(origin.home, here.path) if row else ()
    more = {path: File(path, state.files[path]) for path in needed if path in state.files}
    known = Known(home, others, more, state.known.entries.keys())
    return missing_import(language, here, origin, free, known)


def applied(lines: Lines, insertion: Insertion) -> Lines:
    """Return *lines* with an insertion."""
    line, before, after = insertion
    return (*lines[:line], *after, *lines[line + len(before) :])


def without(lines: Lines, statement: Statement, name: str, *, is_package: bool) -> Lines | None:
    """Return a text without one imported name; None where that is not simply one word less."""
    start, end = statement.start, statement.end
    if is_package or len(statement.names) == 1:
        return None if statement.style.endswith("nested") else (*lines[:start], *lines[end:])
    rows = [n for n in range(start, end) if lines[n].strip().rstrip(",") == name]
    if len(rows) == 1:
        at = rows[0]
        above = lines[at - 1] if lines[at].endswith(",") else lines[at - 1].removesuffix(",")
        return (*lines[: at - 1], above, *lines[at + 1 :])
    if end != start + 1:
        return None
    for old, new in ((f", {name}", ""), (f"{name}, ", "")):
        if lines[start].count(old) == 1:
            line = lines[start].replace(old, new)
            braces = line.partition("{")[2].partition("}")[0]
            if line.startswith("use ") and braces and "," not in braces:
                line = line.replace("{" + braces + "}", braces)
            return (*lines[:start], line, *lines[end:])
    return None


def main() -> None:
    """Replay, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.imports", description=__doc__)
    parser.add_argument("histories", nargs="+", type=Path)
    parser.add_argument("--cases", type=int, default=CASES, help="of each history, the newest")
    parser.add_argument("--show", action="store_true", help="what is wrong")
    options = parser.parse_args()
    print(
        "| history | language | imports | offered | right line | right place | files | offers there | precision |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    total: dict[str, Counter[str]] = {}
    for path in options.histories:
        name = path.parent.name.rpartition("+")[2] if path.name == "repo" else path.name
        for language, found in sorted(_measured(path, options.cases, show=options.show).items()):
            if found["imports"] or found["files"] > 20:
                print(_row(name, language, found), flush=True)
                total.setdefault(language, Counter()).update(found)
    for language, found in sorted(total.items()):
        print(_row("**all**", language, found))


def _row(name: str, language: str, found: Counter[str]) -> str:
    n_offers = found["offered"] + found["false"]
    precision = f"{found['line'] / n_offers:.2f}" if n_offers else "–"
    keys = ("imports", "offered", "line", "place", "files", "false")
    return f"| {name} | {language} | {' | '.join(str(found[key]) for key in keys)} | {precision} |"


def _measured(path: Path, n_cases: int, *, show: bool) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    repository = Repository(path)
    head = repository.state("HEAD")
    for name, lines in head.files.items():
        if language_row(language := language_of(name)) and name in head.known.entries:
            count = found.setdefault(_family(language), Counter())
            count["files"] += 1
            for wrong in offers(head, name, lines, lines):
                count["false"] += 1
                if show:
                    print(f"    {name}: {wrong}")
    for state, case in repository.cases(n_cases):
        count = found.setdefault(_family(language_of(case.path)), Counter())
        count["imports"] += 1
        got = next(offers(state, case.path, case.lines, case.edited), None)
        if got is None:
            continue
        count["offered"] += 1
        result = applied(case.lines, got.insertion)
        made, whole = _lines(result), _lines(case.whole)
        is_right = sorted(made) == sorted(whole)
        count["line"] += is_right
        count["place"] += made == whole
        if show and made != whole:
            gone = [line for line in case.whole if line not in case.lines]
            print(f"    {case.path} {case.name} {'place' if is_right else 'LINE'}: {got} – {gone}")
    return found


def _lines(lines: Lines) -> list[str]:
    """Return all but blank ones: where an import was taken out, two may be left."""
    return [line for line in lines if line.strip()]


def _family(language: str) -> str:
    return {"javascriptreact": "javascript", "typescriptreact": "typescript"}.get(
        language, language
    )


class Repository:
    """A clone: its commits, and what its files define."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._index = Index()
        self._blobs: dict[str, str] = {}
        self._texts: dict[str, Lines] = {}
        self._files: dict[str, Lines] = {}

    def state(self, commit: str) -> State:
        """Return the repository after a commit; the index goes on from that of the one before."""
        blobs = {}
        for row in git(self._path, "ls-tree", "-r", commit).splitlines():
            meta, path = row.split("\t", 1)
            is_code = language_of(path) not in PROSE or path.endswith(MANIFESTS)
            if is_code and meta.split()[1] == "blob" and "vendor/" not in path:
                blobs[path] = meta.split()[2]
        self._read({blob for blob in blobs.values() if blob not in self._texts})
        changed = [path for path, blob in blobs.items() if self._blobs.get(path) != blob]
        gone = [path for path in self._blobs if path not in blobs]
        self._files = {path: self._texts[blob] for path, blob in blobs.items()}
        code = [path for path in changed if language_of(path) not in PROSE]
        fresh = {path: entry(language_of(path), self._files[path]) for path in code}
        self._index = update_index(self._index, {**dict.fromkeys(gone), **fresh})
        self._blobs = blobs
        return State(self._files, self._index)

    def cases(self, limit: int) -> Iterator[tuple[State, Case]]:
        """Yield the imports that commits added, the newest commit first."""
        log = git(self._path,
            "log", "--no-merges", f"--since={SINCE}", "--format=commit %H", "-p", "-U0", "--no-renames",
            "--diff-filter=M", "--no-color", "--no-ext-diff",
        )  # fmt: skip
        n_found = 0
        for commit in hunks_of(log):
            came: dict[str, set[str]] = {}
            for hunk in commit.hunks:
                language = language_of(hunk.path)
                if language_row(language) and hunk.after:
                    came.setdefault(hunk.path, set()).update(hunk.after)
            if not came:
                continue
            state = self.state(commit.id)
            for path, lines in came.items():
                for case in _cases(state, path, lines, self._before(commit.id, path)):
                    yield state, case
                    n_found += 1
                    if n_found >= limit:
                        return

    def _before(self, commit: str, path: str) -> Lines:
        return tuple(git(self._path, "show", f"{commit}^:{path}").split("\n"))

    def _read(self, blobs: set[str]) -> None:
        command = ["git", "-C", str(self._path), "cat-file", "--batch"]
        asked = "".join(f"{blob}\n" for blob in sorted(blobs)).encode()
        done = subprocess.run(command, input=asked, capture_output=True, check=True).stdout
        at = 0
        for blob in sorted(blobs):
            head, _, _ = done[at : at + 200].partition(b"\n")
            start, size = at + len(head) + 1, int(head.split()[2])
            text = done[start : start + size].decode("utf-8", "replace").replace("\r\n", "\n")
            self._texts[blob] = tuple(text.split("\n")) if len(text) <= MAX_CHARS else ()
            at = start + size + 1


def _cases(state: State, path: str, came: set[str], before: Lines) -> Iterator[Case]:
    """Yield the names of this repository that are imported now and were not *before*."""
    language = language_of(path)
    row = language_row(language)
    lines = state.files.get(path, ())
    if row is None or not lines:
        return
    old = {name for each in row.statements(before) for name in each.names}
    is_package = language == "go"
    for each in row.statements(lines):
        came_with = any(line in came for line in lines[each.start : each.end])
        if not came_with or each.style.startswith(("static", "pub")):
            continue
        for name in each.names:
            is_ours = (
                _has_package(state, each.module) if is_package else _defines(state, name, language)
            )
            rest = without(lines, each, name, is_package=is_package)
            if name not in old and is_ours and rest:
                edited = tuple(line for line in rest if line in came)
                yield Case(path, rest, edited, lines, name)


def _has_package(state: State, module: str) -> bool:
    """Return whether a folder of the repository may be that package."""
    folders = {path.rpartition("/")[0] for path in state.known.entries if path.endswith(".go")}
    return any(folder and module.endswith(f"/{folder}") for folder in folders)


def _defines(state: State, name: str, language: str) -> bool:
    """Return whether a file of the language defines the name, or of TypeScript for JavaScript and the other way round."""
    homes = state.known.homes.get(name, ())
    row = language_row(language)
    return any(language_row(state.known.entries[home].language) is row for home in homes)


@lru_cache(maxsize=50_000)
def entry(language: str, lines: Lines) -> Entry:
    """Return what the index knows of a file."""
    text = "\n".join(lines)
    return Entry(language, (0, 0), names(read_syntax(language, text).definitions), words(text))


if __name__ == "__main__":
    main()
