"""
Git's index into the folders whose `.gitignore` is left out of the work tree. Blocking.

Git reads such a file from its objects, where a sparse checkout, or `update-index --skip-worktree`,
keeps it from the disk; fim-lsp reads no objects, so what it says is not known. The format is
gitformat-index(5), versions 2 to 4.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from fim_lsp.regular_files import Wrong, look, read_beginning, stamp

_MOST_BYTES = 1 << 26  # of an index: some 700,000 files
_HEADER_BYTES = 12
_MAGIC = b"DIRC"
# Versions; in the first no entry has more flags.
_PLAIN = 2
_EXTENDED = 3
_COMPRESSED = 4
_MODE = 24  # where an entry has its file's mode
_FIXED_BYTES = 40  # of an entry, before the hash
_HAS_MORE_FLAGS = 0x4000
_SKIPS_WORKTREE = 0x4000  # among these
_RULES = b".gitignore"


class GitEntry(NamedTuple):
    """A file in the index; of a sparse one a folder, too, whose *name* ends with a slash."""

    name: bytes
    is_folder: bool
    is_left_out: bool


def list_left_out(private: Path, hash_bytes: int) -> frozenset[bytes]:
    """
    Return the folders whose `.gitignore` is left out of the work tree, or all of which is, as names
    below its top.

    *private* is the folder of the repository, or of the worktree, with the index; *hash_bytes* is
    the length of its hashes. Raises OSError where the index cannot be read.
    """
    shared = [*private.glob("sharedindex.*")]
    left_out = set[bytes]()
    for path in (private / "index", *shared):
        if (about := look(path)) is not None:
            # Flags of a split index may stand in another of its files than the name.
            left_out |= _list_in(path, stamp(about), hash_bytes, is_split=bool(shared))
    return frozenset(left_out)


@lru_cache(maxsize=64)
def _list_in(
    path: Path,
    _: tuple[int, ...],  # changes with the file
    hash_bytes: int,
    *,
    is_split: bool,
) -> frozenset[bytes]:
    """Return what one file of the index leaves out; where it *is_split*, what it may leave out."""
    header = read_beginning(path, _HEADER_BYTES, follow=False) or b""
    if not is_split and header[4:8] == _PLAIN.to_bytes(4, "big"):
        return frozenset()
    data = read_beginning(path, _MOST_BYTES + 1, follow=False) or b""
    if len(data) > _MOST_BYTES:
        raise Wrong(
            path, f"has more than {_MOST_BYTES} bytes", "git update-index --index-version 2"
        )
    try:
        return frozenset(
            entry.name.removesuffix(_RULES).removesuffix(b"/")
            for entry in _entries(data, hash_bytes)
            if (entry.is_left_out or is_split)
            and (entry.is_folder or entry.name.rpartition(b"/")[2] == _RULES)
        )
    except (IndexError, ValueError) as error:
        raise Wrong(path, "is no index that can be read", "run git status") from error


def _entries(data: bytes, hash_bytes: int) -> Iterator[GitEntry]:
    """Yield the entries of an index. Raises IndexError and ValueError where it is damaged, or no index."""
    version = int.from_bytes(data[4:8], "big")
    n_entries = int.from_bytes(data[8:_HEADER_BYTES], "big")
    if data[:4] != _MAGIC or version not in (_PLAIN, _EXTENDED, _COMPRESSED):
        raise ValueError(data[:8])
    at = _HEADER_BYTES
    name = b""
    for _ in range(n_entries):
        start = at
        at += _FIXED_BYTES + hash_bytes
        flags = int.from_bytes(data[at : at + 2], "big")
        at += 2
        more = 0
        if flags & _HAS_MORE_FLAGS:
            more = int.from_bytes(data[at : at + 2], "big")
            at += 2
        if version == _COMPRESSED:
            n_cut, at = _number(data, at)
            name = name[: len(name) - n_cut]
        else:
            name = b""
        end = data.index(b"\0", at)
        name += data[at:end]
        at = end + 1
        if version != _COMPRESSED:
            at += -(at - start) % 8  # padded with NULs
        mode = int.from_bytes(data[start + _MODE : start + _MODE + 4], "big")
        yield GitEntry(name, stat.S_ISDIR(mode), bool(more & _SKIPS_WORKTREE))


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at *at*, as packs write offsets, and where it ends."""
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
