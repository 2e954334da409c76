"""
URIs into the names a model may see: a repository and a path within it, never an absolute path. Pure.
"""

from __future__ import annotations

import re
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

DRIVE = re.compile(r"^/[A-Za-z]:")


class Place(NamedTuple):
    """Where a document stands: *root* is the URI of its workspace folder, "" outside of all."""

    root: str
    repo: str
    path: str


def local_path(uri: str) -> PurePath | None:
    """The file a `file:` URI names; None for other schemes (untitled buffers, notebook cells)."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    path = unquote(parts.path)
    if parts.netloc:
        return PureWindowsPath(f"//{parts.netloc}{path}")
    if DRIVE.match(path):
        return PureWindowsPath(path[1:])
    return PurePosixPath(path)


def place(uri: str, roots: tuple[str, ...]) -> Place:
    """The innermost of *roots* that holds *uri*; outside of all, the file's own folder lends its name."""
    file = local_path(uri)
    if file is None:
        return Place("", "untitled", unquote(urlsplit(uri).path).rsplit("/", 1)[-1] or "untitled")
    holding = [(root, path) for root in roots if (path := local_path(root)) and _holds(path, file)]
    if not holding:
        return Place("", file.parent.name or "files", file.name)
    root, path = max(holding, key=lambda pair: len(pair[1].parts))
    return Place(root, path.name or "files", file.relative_to(path).as_posix())


def _holds(folder: PurePath, file: PurePath) -> bool:
    return type(folder) is type(file) and file.is_relative_to(folder)
