"""
Files of a workspace that nobody opened, into an index of what they define, and into sources.

Blocking: everything here runs in a worker thread, in slices. Files are judged before they are
read; symbolic links, hidden folders and installed packages are left out, whatever the rules say.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from urllib.parse import quote

from fim_lsp.context.chunks import Piece, Source
from fim_lsp.context.grammars import language_of
from fim_lsp.context.index import Entry, Index, definitions, strangers, updated
from fim_lsp.context.privacy import Rules, deeper, ignored, installed, refused, rules
from fim_lsp.context.turn import Snapshot
from fim_lsp.documents import split
from fim_lsp.ignore_files import rule_files, rules_in, why_private

FILES = 2000  # in an index: those nearest to the file that was opened first
FILE_BYTES = 200_000  # a longer file is made by a machine
KNOWN_BYTES = 2_000_000  # … unless the user opened it
SLICE_BYTES = 64_000  # of text read at a time: some 10 ms of work between two looks at the queue
_DATA = {"", "json", "html", "css"}  # languages whose definitions nobody imports

Stamp = tuple[int, int]  # time of change in ns, size in bytes


def listed(root: Path, near: str, excludes: Iterable[str]) -> dict[str, Stamp]:
    """
    The code files below *root* that are not private, by relative path, those nearest to *near* first.

    *root* is an absolute path without symbolic links, *near* a file's path below it.
    """
    base = rules(str(root), {}, excludes)
    found: dict[str, Stamp] = {}
    seen: set[Path] = set()
    for folder in (root / near).parents:
        if folder != root and root not in folder.parents:
            break
        above = deeper(base, rule_files(root, folder.parent)) if folder != root else base
        for path, stamp in _below(root, folder, above, seen):
            found[path] = stamp
            if len(found) == FILES:
                return found
    return found


def grown(
    index: Index, root: Path, listing: Mapping[str, Stamp], todo: Sequence[str]
) -> tuple[Index, Sequence[str]]:
    """The index with the first of the files *todo* in it, and the rest of those."""
    fresh: dict[str, Entry | None] = {}
    size = 0
    for path in todo:
        text, language = _text(root / path) or "", language_of(path)
        fresh[path] = Entry(language, listing[path], definitions(language, text))
        size += len(text)
        if size > SLICE_BYTES:
            break
    return updated(index, fresh), todo[len(fresh) :]


def uri_of(root_uri: str, path: str) -> str:
    """The URI of a file below a workspace folder."""
    return f"{root_uri.rstrip('/')}/{quote(path)}"


def strangers_of(index: Index, root: Path, root_uri: str, snapshot: Snapshot) -> list[Piece]:
    """Pieces of files that are worth a look from where the user works and that nobody opened."""
    return list(strangers(index, snapshot, partial(_as_judged, index, root, root_uri)))


def reread(
    file: PurePath, root: PurePath | None, excludes: Iterable[str], old: Source
) -> Source | None:
    """*old* as it is on disk now, the same if nothing happened to it; None when it is gone or private."""
    stamp = _stamp(Path(file))
    if stamp is not None and stamp[0] == old.version:
        return old
    private = stamp is None or why_private(file, root, excludes)
    text = None if private else _text(Path(file), KNOWN_BYTES)
    if stamp is None or text is None:
        return None
    return replace(old, version=stamp[0], lines=tuple(split(text)))


def _as_judged(index: Index, root: Path, root_uri: str, path: str) -> Source | None:
    """An indexed file; None when it is not the one any more that was judged."""
    entry = index.entries[path]
    text = _text(root / path) if entry.stamp == _stamp(root / path) else None
    if text is None:
        return None
    uri = uri_of(root_uri, path)
    return Source(uri, path, entry.language, entry.stamp[0], tuple(split(text)))


def _stamp(file: Path) -> Stamp | None:
    try:
        about = file.lstat()
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


def _below(root: Path, folder: Path, above: Rules, seen: set[Path]) -> Iterator[tuple[str, Stamp]]:
    """What may be read in *folder* and in those below it that were not *seen*."""
    if folder in seen:
        return
    seen.add(folder)
    known = deeper(above, rules_in(root, folder))
    folders = []
    for entry in _entries(folder):
        path = f"{folder.relative_to(root).as_posix()}/{entry.name}".removeprefix("./")
        if entry.is_dir(follow_symlinks=False):
            if not entry.name.startswith(".") and not _closed(known, path):
                folders.append(Path(entry.path))
        elif entry.is_file(follow_symlinks=False) and language_of(path) not in _DATA:
            about = entry.stat(follow_symlinks=False)
            if about.st_size <= FILE_BYTES and not refused(known, f"{root}/{path}"):
                yield path, (about.st_mtime_ns, about.st_size)
    for each in folders:
        yield from _below(root, each, known, seen)


def _closed(known: Rules, folder: str) -> bool:
    return ignored(known, folder + "/") or installed(folder + "/any")


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """What is in a folder by name, so that the same workspace gives the same index."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _text(file: Path, longest: int = FILE_BYTES) -> str | None:
    """The text of a file that is one: of *longest* bytes at most, and UTF-8."""
    try:
        with file.open("rb") as opened:
            data = opened.read(longest + 1)
        return data.decode("utf-8") if len(data) <= longest and b"\0" not in data else None
    except (OSError, UnicodeDecodeError):
        return None
