"""
Text that a client shows without a name, into the file that it is from. Blocking: call it in a thread.

Looked at are all files of a folder, also those that are private: a text must be known as private to be kept out of
prompts. What is read here is compared, and goes nowhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from fim_lsp.http_server.excerpt import Excerpt
from fim_lsp.workspace.regular_files import read

FILES = 4000
FILE_BYTES = 1_000_000  # of one file
BYTES = 50_000_000  # of all: half a second of reading
LINES = 5  # the longest lines of an excerpt tell it from others; the cursor's may be new
LEAST = 2  # of these stand in the file, where more than one is there at all
SKIPPED = {".git", "node_modules", ".venv", "venv", "__pycache__", "target", ".tox"}


def file_of(excerpt: Excerpt, root: Path) -> str:
    """The path below *root* of the file in which most of the excerpt's lines stand, "" for none."""
    lines = {line.strip() for line in (excerpt.before + excerpt.after).split("\n")}
    telling = sorted((line.encode() for line in lines if line), key=len)[-LINES:]
    least = min(LEAST, len(telling))
    best, n_best = "", 0
    for path, text in _texts(root) if telling else ():
        if (n := sum(line in text for line in telling)) >= least and n > n_best:
            best, n_best = path.relative_to(root).as_posix(), n
    return best


def text_of(path: Path) -> str:
    """What a file says now, "" where it cannot be read."""
    return (read(path, FILE_BYTES, follow=False) or b"").decode("utf-8", "replace")


def _texts(root: Path) -> Iterator[tuple[Path, bytes]]:
    n_bytes = 0
    for n, path in enumerate(_files(root)):
        text = read(path, FILE_BYTES, follow=False)
        n_bytes += len(text or b"")
        if n >= FILES or n_bytes > BYTES:
            return
        if text:
            yield path, text


def _files(root: Path) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in SKIPPED)
        yield from (Path(folder, name) for name in sorted(files))
