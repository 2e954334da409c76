"""What git prints of a repository, bare ones too; its code files at a commit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fim_lsp.context.grammars import language_of

PROSE = {"json", "html", "css", ""}  # no code, or no grammar

Lines = tuple[str, ...]


def git(repository: Path, *arguments: str) -> str:
    """Return what a command prints, with line feeds. Raises `CalledProcessError` where it fails."""
    command = ["git", "-C", str(repository), *arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").replace("\r\n", "\n")


def is_code(path: str) -> bool:
    """Return whether the file of this name is in a programming language that has a grammar."""
    return language_of(path) not in PROSE


def name_of(repository: Path) -> str:
    """Return the last part of its path that says which it is; a mirror ends with `repo`."""
    parts = [part for part in repository.resolve().parts if part != "repo"]
    return parts[-1].removesuffix(".git").rpartition("+")[2]


class CodeFiles:
    """The code files of a repository. State: the texts that were read, and git, which reads them."""

    def __init__(self, repository: Path, most_chars: int = sys.maxsize) -> None:
        self._repository, self._most_chars = repository, most_chars
        self._texts: dict[str, Lines] = {}
        self._cat: subprocess.Popen[bytes] | None = None

    def at(self, tree: str) -> dict[str, Lines]:
        """Return the files of a tree by path, but for those with too many characters."""
        files = {}
        for row in git(self._repository, "ls-tree", "-r", tree).splitlines():
            meta, path = row.split("\t", 1)
            _, kind, blob = meta.split()
            if is_code(path) and kind == "blob" and (lines := self._read(blob)):
                files[path] = lines
        return files

    def _read(self, blob: str) -> Lines:
        if blob not in self._texts:
            if self._cat is None:
                command = ["git", "-C", str(self._repository), "cat-file", "--batch"]
                self._cat = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert self._cat.stdin
            assert self._cat.stdout
            self._cat.stdin.write(blob.encode() + b"\n")
            self._cat.stdin.flush()
            size = int(self._cat.stdout.readline().split()[2])
            data = self._cat.stdout.read(size + 1)[:-1]
            text = data.decode("utf-8", "replace").replace("\r\n", "\n")
            self._texts[blob] = tuple(text.split("\n")) if len(text) <= self._most_chars else ()
        return self._texts[blob]
