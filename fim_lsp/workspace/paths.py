"""
URIs into files, and into the names a model may see: a repository and a path within it. Pure.
"""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from fim_lsp.context.privacy import IGNORE_FILES
from server_bridge.machine.addresses import is_loopback

_DRIVE = re.compile(r"/?(?=[A-Za-z]:([\\/]|$))")
# Begins the URIs of texts of which a client does not say the file. They have a workspace of their
# own, and go to a model of this machine only: the file may be private.
UNNAMED = "untitled://client/"
SCHEMES = ("file", "untitled", "vscode-notebook-cell")  # others are output panes, old revisions, …

# JupyterLab names its notebooks in this folder, which holds copies and is ignored by git, beside
# their own, and takes it for the root where a notebook is opened first.
_VIRTUAL = re.compile(r"/\.virtual_documents(?=/|$)")

_RULES = (*IGNORE_FILES, ".fim-lsp.toml", ".git", ".gitconfig")
_RULES_AT = (("info", "exclude"), ("git", "ignore"), ("git", "config"), (".git", "config"))
_IN_RULES = ("ignore", ".fim-lsp", ".git", "exclude", "config")  # one is in each of these names


# Where links lead, and what tells a folder from another one in its place, which may have its number
# (inode): there the file is another one, too, and was changed at another time.
PlaceId = tuple[str, int, int, int, int]


class FileLocation(NamedTuple):
    """
    The location of a document: *root* is the URI of its workspace folder, "" outside of all.

    *folder* tells files outside of all roots apart; no model sees it.
    """

    root: str
    repo: str
    path: str
    folder: str = ""

    @property
    def key(self) -> str:
        """The workspace it belongs to: its root, or outside of all the file's own folder."""
        return self.root or f"outside: {self.folder or self.repo}"


def local_path(uri: str) -> PurePath | None:
    """
    Return the file a `file:` URI names; None for other schemes (untitled buffers, notebook cells).
    """
    scheme, path = _split_uri(uri)
    return path if scheme == "file" else None


def on_disk(roots: tuple[str, ...]) -> tuple[str, ...]:
    """Return the roots that are folders of this machine."""
    return tuple(root for root in roots if file_of(root))


def file_of(uri: str) -> PurePath | None:
    """Return the file that a URI names, None where it names no file."""
    try:
        return local_path(uri)
    except ValueError:  # no URI at all
        return None


def path_to_judge(uri: str) -> PurePath | None:
    """
    Return the path that says whether a document is private; None for what is no document.

    A text that is to be saved as a file, and a cell of a notebook, are as private as that file.
    """
    scheme, path = _split_uri(uri)
    return path if scheme in SCHEMES else None


@lru_cache(maxsize=256)
def identity(uri: str) -> tuple[object, ...]:
    """
    Return what all spellings of a URI have in common, whatever is percent-encoded, and how, and
    whatever steps up and down are in its path.
    """
    if uri[:5].lower() == "file:":  # its name may hold these signs, which should have been encoded
        parts = _split(uri.replace("#", "%23").replace("?", "%3F"))._replace(scheme="file")
        others: tuple[str, ...] = ()
    else:
        parts = _split(uri)
        others = (parts.scheme, parts.netloc.lower(), *map(unquote, parts[3:]))
    path = _path(parts)
    if isinstance(path, PureWindowsPath):
        return PureWindowsPath(ntpath.normpath(path)), *others
    return path.is_absolute(), posixpath.normpath(path).lstrip("/"), *others


@lru_cache(maxsize=1 << 14)
def locate(uri: str, roots: tuple[str, ...]) -> FileLocation:
    """
    Return the innermost of *roots* that holds *uri*; outside of all, the file's own folder lends
    its name.
    """
    file = local_path(uri)
    if file is None:
        name = _split_uri(uri)[1].name or "untitled"
        folder = UNNAMED if uri.startswith(UNNAMED) else ""
        return FileLocation("", "untitled", _replace_surrogates(name), folder)
    root = root_of(file, roots)
    holding = local_path(root)
    if holding is None:
        names = _replace_surrogates(file.parent.name) or "files", _replace_surrogates(file.name)
        return FileLocation("", *names, folder=str(file.parent))
    inside = file.as_posix()[len(holding.as_posix().rstrip("/")) + 1 :] or "."
    repo = _replace_surrogates(holding.name) or "files"
    return FileLocation(root, repo, _replace_surrogates(inside))


def root_of(file: PurePath, roots: tuple[str, ...]) -> str:
    """Return the innermost of *roots* that holds a file, "" when none does."""
    folders = _folders(roots)
    place = _key(file)
    while place and place not in folders:
        place = place.rpartition("/")[0]
    return folders.get(place, "") if place or file.root == "/" else ""


def list_places(name: PurePath, roots: tuple[str, ...]) -> list[tuple[PurePath, PurePath]]:
    """
    Return the paths at which a text that has only a *name* would be saved: in any of the *roots*,
    each beside its root.

    An editor writes no folder for a new text of which it is not known yet where it goes.
    """
    folders = {} if name.is_absolute() else dict.fromkeys(filter(None, map(local_path, roots)))
    return [(folder / name, folder) for folder in folders]


def changes_rules(uri: str, excludes_files: Collection[PurePath] = ()) -> bool:
    """
    Return whether a change of this file changes which files are private.

    *excludes_files* are the files of rules that the user's configuration of git names.
    """
    text = unquote(uri, errors="surrogateescape").casefold()  # a checkout changes thousands
    names = *_IN_RULES, *(at.name.casefold() for at in excludes_files)
    path = local_path(uri) if any(name in text for name in names) else None
    if path is None:
        return False
    *_, folder, name = ("", "", *(part.casefold() for part in path.parts))
    return name in _RULES or (folder, name) in _RULES_AT or path in excludes_files


@lru_cache(maxsize=8)
def _folders(roots: tuple[str, ...]) -> dict[str, str]:
    """Return the root by the key of its folder, the first where there are several."""
    return {_key(path): root for root in reversed(roots) if (path := local_path(root))}


def _key(path: PurePath) -> str:
    """Return *path* as it is compared, "" for `/`. Thousands are located where folders change."""
    text = path.as_posix().rstrip("/")
    return f"\\{text.lower()}" if isinstance(path, PureWindowsPath) else text


@lru_cache(maxsize=1 << 14)
def _split_uri(uri: str) -> tuple[str, PurePath]:
    """Return the scheme of a URI, and its path."""
    parts = _split(uri)
    return parts.scheme, _path(parts)


def _split(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError:  # brackets that hold no address
        return SplitResult("", "", "", "", "")


def _path(parts: SplitResult) -> PurePath:
    """Return the path in a URI. Bytes that are not UTF-8 become what `os.fsencode` takes back."""
    path = _VIRTUAL.sub("", unquote(parts.path, errors="surrogateescape"))
    if parts.scheme == "untitled" and parts.netloc:  # see `UNNAMED`
        return PurePosixPath(path.lstrip("/"))
    if parts.scheme == "file" and parts.netloc and not is_loopback(f"file://{parts.netloc}"):
        return PureWindowsPath(f"//{parts.netloc}{path}")
    drive = _DRIVE.match(path)
    return PureWindowsPath(path[drive.end() :]) if drive else PurePosixPath(path)


def _replace_surrogates(name: str) -> str:
    """Return a name as a model can be told it."""
    return name.encode("utf-8", "replace").decode("utf-8")
