"""What git prints of a repository, bare ones too; its code files at a commit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Set as AbstractSet
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
    """The code files of a repository. State: the texts that were read."""

    def __init__(self, repository: Path, most_chars: int = sys.maxsize) -> None:
        self._repository = repository
        self._most_chars = most_chars
        self._texts: dict[str, Lines] = {}

    def at(self, tree: str, *paths: str) -> dict[str, Lines]:
        """Return the files of a tree, or those of *paths*, but for those with too many characters."""
        blobs = {}
        for row in git(self._repository, "ls-tree", "-r", tree, "--", *paths).splitlines():
            meta, path = row.split("\t", 1)
            _, kind, blob = meta.split()
            if is_code(path) and kind == "blob":
                blobs[path] = blob
        self._read({*blobs.values()} - self._texts.keys())
        return {path: lines for path, blob in blobs.items() if (lines := self._texts[blob])}

    def _read(self, blobs: AbstractSet[str]) -> None:
        """Read these blobs, all at once."""
        command = ["git", "-C", str(self._repository), "cat-file", "--batch"]
        names = "".join(f"{blob}\n" for blob in blobs).encode()
        data = subprocess.run(command, input=names, capture_output=True, check=True).stdout
        at = 0
        for blob in blobs:
            begin = data.index(b"\n", at) + 1
            size = int(data[at:begin].split()[2])
            text = data[begin : begin + size].decode("utf-8", "replace").replace("\r\n", "\n")
            self._texts[blob] = tuple(text.split("\n")) if len(text) <= self._most_chars else ()
            at = begin + size + 1
