"""The files of a session that was recorded, read from its history: no text of them is kept in this repository."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from benchmarks.git import git
from benchmarks.real_sessions.choice import Written
from benchmarks.real_sessions.recordings import Recording


class Text(NamedTuple):
    """What is open: other files by path, and the one that is written, without its block."""

    session: Written
    others: tuple[tuple[str, str], ...]
    head: str
    tail: str

    @property
    def block(self) -> str:
        """All of the block, of which the first lines are typed."""
        return "\n".join(self.session.block)


def read_text(session: Written) -> Text:
    """Return the files of *session*, from its history."""
    lines = _lines(session.repo, session.commit, session.path)
    head = "".join(f"{line}\n" for line in lines[: session.start])
    tail = "".join(f"\n{line}" for line in lines[session.start + len(session.block) :])
    others = tuple(
        (path, "\n".join(_lines(session.repo, session.commit, path))) for path in session.others
    )
    return Text(session, others, head, tail)


def find_session(recording: Recording, repo: Path) -> Written:
    """Return the session that was recorded, with its text from the history *repo*."""
    begin = recording.start
    end = recording.start + recording.n_lines
    block = tuple(_lines(repo, recording.commit, recording.path)[begin:end])
    return Written(repo, recording.commit, recording.path, begin, block, recording.others)


def _lines(repo: Path, commit: str, path: str) -> list[str]:
    return git(repo, "show", f"{commit}:{path}").split("\n")
