"""
Files of a workspace that are not open, into an index of their words, and into documents.

Blocking: everything here runs in a worker thread, in slices. Files are judged before they are
read; symbolic links, hidden folders, installed packages and what a tool writes are left out.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import NamedTuple
from urllib.parse import quote

from fim_lsp.context.chunks import SOURCE_CHARS, Source
from fim_lsp.context.generated import enter as enter_marks
from fim_lsp.context.generated import is_generated, is_marked, outermost
from fim_lsp.context.grammars import language_of
from fim_lsp.context.ignore_rules import LONGEST, Scope
from fim_lsp.context.index import NONE, WORDS, Index, IndexEntry, index_words, update_index
from fim_lsp.context.privacy import DEPENDENCY_NAMES, Folder, enter, is_installed, why_refused
from fim_lsp.documents import HALF, Document, open_document, split
from fim_lsp.regular_files import read
from fim_lsp.settings.config import PrivacyConfig
from fim_lsp.workspace.ignore_files import encode_name, read_folder, rules_down, why_private

FILES = 20_000  # in an index: those nearest to the file that was opened first
FILE_BYTES = 200_000  # a longer file is made by a machine
KNOWN_BYTES = SOURCE_CHARS  # … unless the user opened it
SLICE_BYTES = 64_000  # of text read at a time: some 10 ms of work between two looks at the queue
_DATA = {"", "json", "html", "css"}  # languages in which no edit is repeated


class Rules(NamedTuple):
    """The rules in a folder: which files are *private*, and which are *written* by a tool."""

    private: Folder
    written: Scope


Stamp = tuple[int, int]  # time of change in ns, size in bytes

log = logging.getLogger(__name__)


def list_files(root: Path, near: str, privacy: PrivacyConfig) -> dict[str, Stamp]:
    """
    Return the code files below *root* that are not private, by relative path, those nearest to
    *near* first.

    *root* is an absolute path, *near* a file's path below it. A name that is not UTF-8 is left out:
    no model could be told where the code is from.
    """
    root = Path(os.path.realpath(root))
    stamps: dict[str, Stamp] = {}
    seen: set[str] = set()
    here = Path(os.path.normpath(root / near))  # a client may name `../../x.py`
    # A name may have a thousand folders that are not there. `os.path`: a long name is no error.
    inside = (parent for parent in here.parents if parent.is_relative_to(root))
    nearest = next((folder for folder in inside if os.path.isdir(folder)), root)  # noqa: PTH112
    folders: list[tuple[Path, Rules]] = []
    try:
        for folder, private in rules_down(nearest, root, privacy):
            outer = folders[-1][1].written if folders else None
            folders.append((folder, Rules(private, _read_marks(folder, outer))))
    except OSError as error:
        log.info("no file of %s is read: %s", nearest, error)
        return stamps
    for folder, rules in reversed(folders):
        for path, stamp in _below(root, folder, rules, privacy, seen):
            stamps[path] = stamp
            if len(stamps) == FILES:
                return stamps
    return stamps


def grow(
    index: Index, root: Path, listing: Mapping[str, Stamp], todo: Sequence[str]
) -> tuple[Index, Sequence[str]]:
    """Return the index with the first of the files *todo* in it, and the rest of those."""
    fresh: dict[str, IndexEntry | None] = {}
    size = 0
    room = WORDS - index.n_words
    for path in todo:
        text = _text(root / path) or ""
        its_words = index_words(text) if room > 0 and not is_generated(text) else NONE
        fresh[path] = IndexEntry(listing[path], its_words)
        room -= len(its_words)
        size += len(text)
        if size > SLICE_BYTES:
            break
    return update_index(index, fresh), todo[len(fresh) :]


def uri_of(root_uri: str, path: str) -> str:
    """Return the URI of a file below a workspace folder."""
    return f"{root_uri.rstrip('/')}/{quote(os.fsencode(path))}"


def on_disk(root: Path, root_uri: str, path: str, privacy: PrivacyConfig) -> Document | None:
    """
    Return a file that is not open, as an editor would open it; None when it is gone, private or
    written by a tool.

    It is judged now: an index is older than the disk.
    """
    text = _read_judged(root / path, root, privacy, is_known=False)
    if text is None or is_generated(text) or _is_marked(root, path):
        return None
    about = uri_of(root_uri, path), language_of(path), 0
    # editors show no byte order mark
    return open_document(*about, text.removeprefix("\ufeff"))


def has_lines(file: PurePath | None, lines: Sequence[str]) -> bool:
    """Return whether there is a file with these lines, which may be an editor's."""
    text = _text(Path(file), KNOWN_BYTES, follow=True) if file else None
    return text is not None and text.removeprefix("\ufeff") == "".join(lines)


def reread(
    file: PurePath, root: PurePath | None, privacy: PrivacyConfig, old: Source
) -> Source | None:
    """
    Return *old* as it is on disk now, the same if nothing happened to it; None when it is gone or
    private.
    """
    stamp = _stamp(Path(file))
    if stamp is not None and stamp[0] == old.version:
        return old
    text = _read_judged(Path(file), root, privacy, is_known=True)
    if stamp is None or text is None:
        return None
    return replace(old, version=stamp[0], lines=tuple(split(text)))


def _read_judged(
    file: Path, root: PurePath | None, privacy: PrivacyConfig, *, is_known: bool
) -> str | None:
    """Return the text of a file that is not private: of the one that was judged, no other."""
    judged = _stamp(file)
    if judged is None or why_private(file, root, privacy):
        return None
    text = _text(file, KNOWN_BYTES if is_known else FILE_BYTES, follow=is_known)
    return text if _stamp(file) == judged else None


def _stamp(file: Path | os.DirEntry[str]) -> Stamp | None:
    try:
        about = file.stat(follow_symlinks=False)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_size


def _below(
    root: Path, folder: Path, here: Rules, privacy: PrivacyConfig, seen: set[str]
) -> Iterator[tuple[str, Stamp]]:
    """
    Yield the files that may be read in *folder*, where *here* holds, and in those below it that
    were not *seen*.
    """
    inside = folder.relative_to(root).as_posix()
    waiting = [("" if inside == "." else f"{inside}/", here)]
    while waiting:
        inside, here = waiting.pop()
        if inside in seen or here.written.closed:
            continue
        seen.add(inside)
        folders: list[tuple[str, Rules]] = []
        for entry in _entries(root / inside):
            path = inside + entry.name
            if entry.is_dir(follow_symlinks=False):
                is_open = _is_open(entry, path, here.private)
                if is_open and (private := _enter(here.private, entry, privacy)):
                    marks = _read_marks(Path(entry.path), here.written)
                    folders.append((f"{path}/", Rules(private, marks)))
            elif entry.is_file(follow_symlinks=False) and language_of(path) not in _DATA:
                stamp = _stamp(entry)
                if stamp is None or stamp[1] > FILE_BYTES:
                    continue
                name = encode_name(entry.name)
                if not why_refused(here.private, name) and not is_marked(here.written, name):
                    yield path, stamp
        waiting += reversed(folders)


def _read_marks(folder: Path, outer: Scope | None) -> Scope:
    """Return what marks the files in *folder* as a tool's; the root of a workspace has no *outer*."""
    attributes = read(folder / ".gitattributes", LONGEST, follow=False) or b""
    return (
        enter_marks(outer, encode_name(folder.name), attributes) if outer else outermost(attributes)
    )


def _is_marked(root: Path, path: str) -> bool:
    """Return whether a tool writes the file *path* below *root*, by its name or a mark."""
    *folders, name = path.split("/")
    folder = root
    marks = _read_marks(root, None)
    for inner in folders:
        folder /= inner
        marks = _read_marks(folder, marks)
    return is_marked(marks, encode_name(name))


def _enter(outer: Folder, entry: os.DirEntry[str], privacy: PrivacyConfig) -> Folder | None:
    """Return a folder with its rules, None where they cannot be read."""
    try:
        return enter(outer, encode_name(entry.name), read_folder(Path(entry.path), privacy))
    except OSError as error:
        log.info("no file of %s is read: %s", entry.path, error)
        return None


def _is_open(entry: os.DirEntry[str], path: str, folder: Folder) -> bool:
    """Return whether what lies in a folder may be read."""
    names = "/".join(path.rsplit("/", DEPENDENCY_NAMES)[-DEPENDENCY_NAMES:])  # it may lie deep
    if entry.name.startswith(".") or is_installed(encode_name(names) + b"/any"):
        return False
    return not why_refused(folder, encode_name(entry.name), folder=True)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder by name, so that the same workspace gives the same index."""
    try:
        with os.scandir(folder) as entries:
            texts = (entry for entry in entries if not HALF.search(entry.name))
            return sorted(texts, key=lambda entry: entry.name)
    except OSError:
        return []


def _text(file: Path, longest: int = FILE_BYTES, *, follow: bool = False) -> str | None:
    """Return the text of a file that is one: of *longest* bytes at most, and UTF-8."""
    data = read(file, longest + 1, follow=follow)
    if data is None or len(data) > longest or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
