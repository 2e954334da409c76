"""
Which code is written again: blocks that people wrote in 2025 or later, by the blame of git histories.

A block begins where a paragraph or a deeper indentation does, and ends where that ends; all of it is cut out
of its file and its first lines are typed. The choice is seeded: the same commits give the same sessions. Half
of the files, by the checksum of their paths, are for tuning, the others are held out.
"""

from __future__ import annotations

import random
import subprocess
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import git, is_code, name_of
from fim_lsp.context.grammars import language_of
from fim_lsp.suggest.lines import indent

SINCE = date(2025, 1, 1)  # models that were trained before cannot have read it
SETS = ("tune", "held-out")
SEED = 0
TYPED_LINES = 5  # of a block, blank ones not counted: nine pauses
MOST_LINES = 30  # of a block
FILE_LINES = range(40, 2000)
PAUSE_LINE = 12  # characters; shorter lines are typed without a pause
LINE_CHARS = 100  # at 120 ms a key, longer ones take too long
LONG_ENOUGH = 4  # of the typed lines
N_OTHERS = 2
MADE = ("vendor/", "node_modules/", "dist/", "third_party/", ".min.", "generated", "_pb2", ".pb.")
MADE_BY, MADE_LINES = "generated", 4  # in the first lines


class Written(NamedTuple):
    """A *block* of lines from line *start* (0 is the first) of a file; *others* are files of its language."""

    repo: Path
    commit: str
    path: str
    start: int
    block: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return where it is, in words."""
        return f"{name_of(self.repo)}/{self.path}:{self.start + 1}"

    @property
    def typed(self) -> tuple[str, ...]:
        """The lines that are typed."""
        n_code = 0
        for n, line in enumerate(self.block, 1):
            n_code += bool(line.strip())
            if n_code == TYPED_LINES:
                return self.block[:n]
        return self.block


def choose_blocks(repos: Sequence[Path], n: int, part: str, seed: int = SEED) -> list[Written]:
    """*n* blocks of the set *part*, from each history in turn."""
    by_repo = [_choose(repo, part, seed) for repo in repos]
    in_turn = chain.from_iterable(zip_longest(*by_repo))
    return list(islice((session for session in in_turn if session), n))


def checkout(home: Path, session: Written) -> Path:
    """Return the repository of *session* without its block."""
    folder = home / "code"
    for command in (
        ["clone", "--quiet", "--shared", "--no-checkout", str(session.repo.resolve()), str(folder)],
        ["-C", str(folder), "checkout", "--quiet", "--detach", session.commit],
    ):
        subprocess.run(["git", *command], check=True)
    file = folder / session.path
    lines = file.read_bytes().decode("utf-8", "replace").split("\n")
    lines[session.start : session.start + len(session.block)] = [""]
    file.write_text("\n".join(lines), "utf-8")
    return folder


def in_set(path: str) -> str:
    """Return the set that a file belongs to."""
    return SETS[zlib.crc32(path.encode()) % len(SETS)]


def blocks(lines: Sequence[str], recent: Sequence[bool]) -> list[range]:
    """Return the lines of each block of a file that can be typed, and are *recent* to the last."""
    ranges = []
    for start in range(1, len(lines)):
        before = lines[start - 1]
        line = lines[start]
        begins = not before.strip() or len(indent(before)) < len(indent(line))
        if line.strip() and begins:
            block = range(start, _end(lines, start))
            if _is_typed(lines[block.start : block.stop]) and all(recent[n] for n in block):
                ranges.append(block)
    return ranges


def _end(lines: Sequence[str], start: int) -> int:
    """Behind the last line of the block from *start*: paragraphs go together until there are lines enough."""
    width = len(indent(lines[start]))
    n_code = 0
    end = start
    for n in range(start, len(lines)):
        line = lines[n]
        if not line.strip():
            continue
        if len(indent(line)) < width:
            break
        if n_code >= TYPED_LINES and n > end and len(indent(line)) == width:
            break
        n_code = n_code + 1
        end = n + 1
    return end


def _is_typed(block: Sequence[str]) -> bool:
    """Return whether a block is of a size to be typed, by plain keys."""
    code = [line.strip() for line in block if line.strip()]
    long = [line for line in code[:TYPED_LINES] if len(line) >= PAUSE_LINE]
    is_plain = all(line.isascii() and len(line) <= LINE_CHARS for line in block)
    return is_plain and TYPED_LINES <= len(code) <= MOST_LINES and len(long) >= LONG_ENOUGH


def _choose(repo: Path, part: str, seed: int) -> Iterator[Written]:
    """Yield the blocks of a history, one of each file, in an order that the seed decides."""
    commit = git(repo, "rev-parse", "HEAD").strip()
    paths = sorted(path for path in git(repo, "ls-tree", "-r", "--name-only", commit).split("\n"))
    code = [path for path in paths if is_code(path) and not _is_made(path)]
    log = git(repo, "log", f"--since={SINCE}", "--name-only", "--format=", commit)
    touched = {path for path in log.split("\n") if in_set(path) == part}
    mine = [path for path in code if path in touched]
    random.Random(f"{seed} {part}").shuffle(mine)
    for path in mine:
        lines, recent = _blame(repo, commit, path)
        rng = random.Random(f"{seed} {path}")
        is_made = any(MADE_BY in line.lower() for line in lines[:MADE_LINES])
        recent_blocks = blocks(lines, recent) if len(lines) in FILE_LINES and not is_made else []
        if recent_blocks:
            block = rng.choice(recent_blocks)
            text = tuple(lines[block.start : block.stop])
            yield Written(repo, commit, path, block.start, text, _others(path, code, rng))


def _is_made(path: str) -> bool:
    return any(word in path for word in MADE)


def _others(path: str, code: Sequence[str], rng: random.Random) -> tuple[str, ...]:
    """Return files that were open before: of the same language, of the same folder first."""
    alike = [other for other in code if language_of(other) == language_of(path) and other != path]
    rng.shuffle(alike)
    folder = path.rpartition("/")[0]
    return tuple(sorted(alike, key=lambda other: other.rpartition("/")[0] != folder)[:N_OTHERS])


def _blame(repo: Path, commit: str, path: str) -> tuple[list[str], list[bool]]:
    """
    Return the lines of a file, and which of them were written since `SINCE`; none where the
    history lacks what is needed to tell, as a mirror without its largest files may.
    """
    lines = list[str]()
    recent = list[bool]()
    is_recent = False
    try:
        blame = git(repo, "blame", "--line-porcelain", commit, "--", path)
    except subprocess.CalledProcessError:
        return [], []
    for row in blame.split("\n"):
        if row.startswith("author-time "):
            at = datetime.fromtimestamp(int(row.split()[1]), UTC)
            is_recent = at.date() >= SINCE
        elif row.startswith("\t"):
            lines.append(row[1:].removesuffix("\r"))
            recent.append(is_recent)
    return lines, recent
