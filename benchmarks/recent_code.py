"""
Places in the recent code of git repositories, where a user would have stopped and looked at a suggestion.

Only lines that were committed since `SINCE` count, so that a model which was released before has not seen them. The rest
of the file stands around the cursor as it is; what is missing there is what a suggestion should say. The kinds:

    start     a line is missing, the cursor stands behind its indentation
    inside    60 % of a line are typed
    paired    the same, and the editor has closed the brackets that it leaves open
    header    behind a line that opens a block, whose body is missing
    body      the same, on the next line
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import git
from fim_lsp.context.grammars import language_of
from fim_lsp.suggest.lines import CLOSER, find_unclosed, indent, opens_block, width

SINCE = datetime(2025, 1, 1, tzinfo=UTC).timestamp()
LANGUAGES = ("python", "lua", "go", "typescript")
TYPED = 0.6
SHORTEST = 8  # visible characters of a line
FILE_CHARS = (600, 150_000)
PER_FILE = 3  # lines of each sort
SEED = 2026


class Place(NamedTuple):
    """A cursor in *text*, which is a file with something missing; *truth* is what is missing behind it."""

    kind: str
    language: str
    path: str
    text: str
    line: int
    column: int
    truth: str


def places(repositories: list[Path], n_plain: int, n_headers: int) -> list[Place]:
    """Of each language two places at *n_plain* lines and at *n_headers* lines that open a block, in turn."""
    rng = random.Random(SEED)
    by_language = {
        language: _of_language(repositories, language, n_plain, n_headers, rng)
        for language in LANGUAGES
    }
    rows = zip_longest(*by_language.values())
    return [place for row in rows for pair in row if pair for place in pair]


def _of_language(
    repositories: list[Path], language: str, n_plain: int, n_headers: int, rng: random.Random
) -> list[tuple[Place, ...]]:
    files = [
        (repository, path)
        for repository in repositories
        for path in git(repository, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
        if language_of(path) == language
    ]
    rng.shuffle(files)
    plain: list[tuple[Place, ...]] = []
    headers: list[tuple[Place, ...]] = []
    for repository, path in files:
        if len(plain) >= n_plain and len(headers) >= n_headers:
            break
        text = git(repository, "show", f"HEAD:{path}")
        if not FILE_CHARS[0] < len(text) < FILE_CHARS[1]:
            continue
        lines, recent = text.split("\n"), recent_lines(repository, path)
        rng.shuffle(recent)
        opening = [n for n in recent if _body(lines, n, language)]
        others = [n for n in recent if n not in opening and len(lines[n].strip()) >= SHORTEST]
        plain += [_plain(lines, n, language, path) for n in others[:PER_FILE]]
        headers += [_header(lines, n, language, path) for n in opening[:PER_FILE]]
    found = [*plain[:n_plain], *headers[:n_headers]]
    rng.shuffle(found)
    return found


def recent_lines(repository: Path, path: str) -> list[int]:
    """Return the lines that were committed since `SINCE`."""
    found: list[int] = []
    times: dict[str, float] = {}
    commit, line = "", 0
    for row in git(repository, "blame", "--porcelain", "HEAD", "--", path).split("\n"):
        if row.startswith("\t"):
            if times[commit] >= SINCE:
                found.append(line)
        elif row.startswith("author-time "):
            times[commit] = float(row.split()[1])
        elif len(row.split(" ", 1)[0]) == 40:
            commit, line = row.split()[0], int(row.split()[2]) - 1
    return found


def _body(lines: list[str], n: int, language: str) -> range:
    """Return the lines of the block that line *n* opens; none where it opens none."""
    if len(lines[n].strip()) < SHORTEST or not opens_block(lines[n], language):
        return range(0)
    end = n + 1
    while end < len(lines) and (not lines[end].strip() or width(lines[end]) > width(lines[n])):
        end += 1
    while end > n + 1 and not lines[end - 1].strip():
        end -= 1
    return range(n + 1, end)


def _plain(lines: list[str], n: int, language: str, path: str) -> tuple[Place, ...]:
    line, n_indent = lines[n], len(indent(lines[n]))
    column = n_indent + round(TYPED * len(line.strip()))
    kind, after = "inside", ""
    if n % 2 and (opened := find_unclosed(line[:column], language)):
        kind, after = "paired", "".join(CLOSER[each.sign] for each in reversed(opened))
    return (
        _place("start", language, path, lines, (n, n + 1), line[:n_indent], ""),
        _place(kind, language, path, lines, (n, n + 1), line[:column], after),
    )


def _header(lines: list[str], n: int, language: str, path: str) -> tuple[Place, ...]:
    body = _body(lines, n, language)
    line, first = lines[n], next(lines[each] for each in body if lines[each].strip())
    column = len(indent(line)) + round(TYPED * len(line.strip()))
    typed, kind = (line + "\n" + indent(first), "body") if n % 2 else (line, "header")
    return (
        _place("inside", language, path, lines, (n, body.stop), line[:column], ""),
        _place(kind, language, path, lines, (n, body.stop), typed, ""),
    )


def _place(  # noqa: PLR0913, PLR0917 (a value of that many parts)
    kind: str,
    language: str,
    path: str,
    lines: list[str],
    missing: tuple[int, int],
    typed: str,
    after: str,
) -> Place:
    """Return the file with *typed* and *after* in place of the lines *missing*."""
    first, end = missing
    text = "\n".join((*lines[:first], typed + after, *lines[end:]))
    line, column = first + typed.count("\n"), len(typed) - typed.rfind("\n") - 1
    return Place(
        kind, language, path, text, line, column, "\n".join(lines[first:end])[len(typed) :]
    )
