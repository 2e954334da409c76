"""
Whether a real model writes subjects of commits in the form of their repository.

    python -m benchmarks.commit_messages --model qwen2.5-coder-1.5b-instruct-q4_k_m.gguf REPOSITORY…

Of each git repository some commits of the main branch are taken; the model is shown the diff of each and the ten subjects
before it, as a user who commits it would have them. A subject has the form of its repository where it begins as three or
more of these ten do (`fix(scope): `, `Area: `, or neither), has at most 72 characters, and is none of the ten.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from pathlib import Path
from typing import NamedTuple

from benchmarks.git import git
from benchmarks.serve import BUNDLED
from fim_lsp.prompt.commit_message import SUBJECT_CHARS, file_diffs
from fim_lsp.session.commit_messages import CommitMessages
from fim_lsp.session.connection import Connection
from fim_lsp.session.scheduler import Scheduler
from fim_lsp.settings.config import Config
from fim_lsp.workspace.git_commit import Staged
from server_bridge.bridge import BackendSettings, open_backend

EVERY = 7  # commits: neighbours are alike
SUBJECTS = 10
LIKE = 3  # of these begin as the subject does
DIFF_CHARS = range(200, 20_000)
KINDS = {
    "type": re.compile(
        r"(build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(\([^)]+\))?!?: \S"
    ),
    "area": re.compile(r"[^\s:][^:]{0,30}: \S"),
}
WORD = re.compile(r"[A-Za-z]{4,}")


class Commit(NamedTuple):
    """A commit of *repo*: what a user who made it would have had, and the subject that the user wrote."""

    repo: str
    diff: str
    subjects: tuple[str, ...]
    subject: str


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("repositories", type=Path, nargs="+", help="bare clones")
    parser.add_argument("--model", default=str(BUNDLED), help="a GGUF file")
    parser.add_argument("--commits", type=int, default=4, help="of each repository")
    options = parser.parse_args()
    found = [commit for each in options.repositories for commit in commits(each, options.commits)]
    said = asyncio.run(_measured(options.model, found))
    for commit, text in zip(found, said, strict=True):
        mark = "+" if is_in_form(text, commit.subjects) else "-"
        print(f"{mark} {commit.repo}: {text}\n    {commit.subject}")
    n_form = sum(is_in_form(t, c.subjects) for c, t in zip(found, said, strict=True))
    n_copied = sum(t in c.subjects for c, t in zip(found, said, strict=True))
    n_long = sum(len(text) > SUBJECT_CHARS for text in said)
    shared = [_shared(c.subject, t) for c, t in zip(found, said, strict=True)]
    print(
        f"{len(said)} subjects, {n_form} in the form of their repository ({100 * n_form // len(said)} %); {n_long} too long, "
        f"{n_copied} copied; {100 * sum(shared) / len(shared):.0f} % of the words that people wrote"
    )


def commits(repository: Path, n: int) -> list[Commit]:
    """*n* commits that change some text, the newest first."""
    found: list[Commit] = []
    lines = git(
        repository, "log", "--no-merges", "--format=%H %s", f"-{EVERY * n * 6}"
    ).splitlines()
    log = [line.partition(" ")[::2] for line in lines]
    for at in range(0, len(log) - SUBJECTS - 1, EVERY):
        (name, subject), before = (
            log[at],
            tuple(each for _, each in log[at + 1 : at + 1 + SUBJECTS]),
        )
        diff = git(
            repository, "show", "--format=", "--no-renames", "--no-ext-diff", "--no-textconv", name
        )
        if len(diff) in DIFF_CHARS and len(found) < n:
            found.append(Commit(repository.parent.name.partition("+")[2], diff, before, subject))
    return found


def is_in_form(subject: str, subjects: tuple[str, ...]) -> bool:
    """See the module."""
    alike = sum(_kind(each) == _kind(subject) for each in subjects)
    return 0 < len(subject) <= SUBJECT_CHARS and alike >= LIKE and subject not in subjects


def _kind(subject: str) -> str:
    return next((name for name, form in KINDS.items() if form.match(subject)), "")


def _shared(wanted: str, said: str) -> float:
    """Return the share of the words of *wanted* that are in *said*."""
    words = {*WORD.findall(wanted.lower())}
    return len(words & {*WORD.findall(said.lower())}) / max(1, len(words))


async def _measured(model: str, found: list[Commit]) -> list[str]:
    settings = BackendSettings(kind="embedded", model=model, n_threads=1)
    connection = Connection(Config(), lambda _: open_backend(settings))
    scheduler = Scheduler(())
    messages = CommitMessages(connection, scheduler, tuple)
    said = []
    try:
        for commit in found:
            staged = Staged(commit.repo, tuple(file_diffs(commit.diff)), commit.subjects)
            text, note = await messages.write_subject(staged, "")
            said.append(text or f"({note})")
    finally:
        await messages.aclose()
        await connection.aclose()
    return said


if __name__ == "__main__":
    main()
