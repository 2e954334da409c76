"""
A file on disk into a verdict: may it be completed in and inform others? Reads ignore files.
Blocking.

The rules themselves are `context.privacy`'s. This asks the disk for what they need: the ignore
files from the top of the repository down to the file, and where symbolic links lead. Call it in a
worker thread.
"""

from __future__ import annotations

import errno
import logging
import os
import sys
import tempfile
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePath

from fim_lsp.context.ignore_rules import LONGEST, beyond
from fim_lsp.context.privacy import (
    IGNORE_FILES,
    OUTSIDE,
    Folder,
    FolderRules,
    Repository,
    enter,
    is_installed,
    outermost,
    why_refused,
)
from fim_lsp.regular_files import Wrong, is_folder, look, read_rules
from fim_lsp.settings.config import PrivacyConfig
from fim_lsp.workspace.git_files import excludes_files, no_repository, repository

UNSURE = "it cannot be judged"  # begins the reasons that may end without a change of the rules

log = logging.getLogger(__name__)


def why_private(path: PurePath, root: PurePath | None, privacy: PrivacyConfig) -> str:
    """
    Return why the file at *path* must stay private, "" when it need not.

    *root* is its workspace folder. Without one the file lies outside of all, and the user opened
    it: then the rules of its repository count, or else those of its folder. A path that is not
    absolute is judged by its names; where systems know no paths of other machines, one is judged as
    this machine's: some programs name their own machine in a URI. Where a folder is not there, or a
    file of rules or settings cannot be read, nothing is known, and so it is private (`UNSURE`).
    """
    try:
        if why := privacy.why_unknown(path):
            return f"{UNSURE}: {why}"
        if not path.is_absolute():
            return _by_names(path, privacy)
        if not isinstance(path, type(PurePath())):
            return _by_host(path, privacy)
        return _by_disk(path, root, privacy)
    except OSError as error:
        if isinstance(error, Wrong):
            _warn(error.filename, error.strerror)
        return f"{UNSURE}: {error.filename}: {error.strerror}"
    except ValueError:  # a NUL, half of a character
        return "no file can have its name"


def list_rule_files() -> tuple[Path, ...]:
    """
    Return the files of rules that the user's configuration of git names; none where it cannot be
    read: then all files are private, and judged again when asked for.
    """
    with suppress(OSError):
        return tuple(excludes_files())
    return ()


def rules_down(folder: Path, root: Path, privacy: PrivacyConfig) -> Iterator[tuple[Path, Folder]]:
    """
    Yield the folders from *root* down to *folder* with the rules for each; both have their links
    resolved. Raises OSError where one cannot be read.
    """
    for here, rules in _descend(folder, root, privacy, *_top(root)):
        if here.is_relative_to(root):
            yield here, rules


def read_folder(folder: Path, privacy: PrivacyConfig) -> FolderRules:
    """
    Read the ignore files and the repository of a folder below a workspace's root. Raises OSError.
    """
    excludes = _excludes_of(folder, privacy)
    return FolderRules(_ignore_files(folder), repository(folder), excludes=excludes)


def encode_name(name: str) -> bytes:
    """
    Return a name as git compares it; on macOS letters and their accents are one
    (core.precomposeUnicode).
    """
    return os.fsencode(unicodedata.normalize("NFC", name) if sys.platform == "darwin" else name)


def _by_disk(path: PurePath, root: PurePath | None, privacy: PrivacyConfig) -> str:
    """Return why the file must stay private, by its path and by where links lead."""
    real_root = Path(os.path.realpath(root)) if root else None
    own = Path(real_root, os.path.relpath(path, root)) if real_root else path
    own = Path(os.path.normpath(own))
    for place in dict.fromkeys((own, Path(os.path.realpath(path)))):
        look(place, follow=False)  # what cannot be looked at may be a link
        if reason := _why(place, real_root, privacy):
            return reason if place == own else f"it leads to a file that is private: {reason}"
        if not is_folder(place.parent):
            return f"{UNSURE}: {place.parent} is not there"
    return ""


def _why(file: Path, root: Path | None, privacy: PrivacyConfig) -> str:
    """Return why a file must stay private, by this path."""
    folder = file.parent
    top: tuple[Path | None, Repository | None] = (None, None)
    if root is not None and file != root and file.is_relative_to(root):
        top = _top(root)
    elif is_installed(encode_name(file.as_posix())):
        root = None
    elif root is not None:
        return OUTSIDE
    else:
        top = _top(folder)
    *_, (_, rules) = _descend(folder, root, privacy, *top)
    return why_refused(rules, encode_name(file.name))


def _descend(
    folder: Path,
    root: Path | None,
    privacy: PrivacyConfig,
    top: Path | None,
    around: Repository | None,
) -> Iterator[tuple[Path, Folder]]:
    """
    Yield each folder from the root of the file system down to *folder*, and the rules for it.

    Ignore files count from *top* down, whose repository is *around*. Raises OSError.
    """
    here = outermost(privacy.exclude)
    counts = False
    within: list[tuple[Path, Repository]] = []  # the repositories that *folder* lies in
    for directory in (*reversed(folder.parents), folder):
        starts = directory == top
        counts = counts or starts
        found = around if starts else repository(directory) if counts else None
        if found is not None:
            within.append((directory, found))
        on_disk = FolderRules(
            _ignore_files(directory, within) if counts else {},
            found,
            is_root=directory == root,
            is_temporary=str(directory) in _temporary(tempfile.gettempdir()),
            excludes=_excludes_of(directory, privacy),
        )
        name = encode_name(directory.name or directory.drive)
        here = enter(here, name, on_disk) if name else outermost(privacy.exclude, on_disk)
        yield directory, here


def _excludes_of(folder: Path, privacy: PrivacyConfig) -> tuple[str, ...]:
    """Return the patterns of the project whose folder it is. Raises OSError if none are known."""
    if why := privacy.why_unknown(folder):
        raise OSError(errno.EINVAL, why, str(folder))
    return privacy.of_project(folder)


def _top(folder: Path) -> tuple[Path, Repository]:
    """
    Return the top of the repository that *folder* lies in; if it lies in none, the outermost folder
    with a `.fimignore`, else the folder itself.
    """
    upwards = (folder, *folder.parents)
    for directory in upwards:
        if around := repository(directory):
            return directory, around
    ours = [directory for directory in upwards if look(directory / IGNORE_FILES[-1], follow=False)]
    return [folder, *ours][-1], no_repository()


def _ignore_files(folder: Path, within: Sequence[tuple[Path, Repository]] = ()) -> dict[str, bytes]:
    """
    Return the ignore files of a folder that lies *within* repositories, by their tops. Raises
    OSError where what one says is not known.
    """
    files = {}
    for name in IGNORE_FILES:
        # git follows no link of its own name; ours may lead to the user's rules
        data = read_rules(folder / name, LONGEST, follow=name == IGNORE_FILES[-1])
        if data:
            files[name] = data
            if why := beyond(data):
                raise Wrong(folder / name, why, "shorten it")
        if data is None and name == IGNORE_FILES[0] and _is_left_out(folder, within):
            mend = "check it out, as by git sparse-checkout disable"
            raise Wrong(folder / name, "is left out of the work tree by git", mend)
    return files


def _is_left_out(folder: Path, within: Sequence[tuple[Path, Repository]]) -> bool:
    """Return whether git has rules for *folder* that are not on the disk."""
    for top, found in within:
        name = "" if folder == top else folder.relative_to(top).as_posix()
        if encode_name(name) in found.left_out:
            return True
    return False


@lru_cache(maxsize=1024)
def _warn(file: str, why: str) -> None:
    """Say it once."""
    log.warning("%s: %s; until then, all files that it is about are private", file, why)


@lru_cache(maxsize=1)
def _temporary(own: str) -> frozenset[str]:
    """
    Return the folders of temporary files, of this process and of the system, also where links lead.
    """
    folders = (own, "/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108 (nothing is written there)
    return frozenset((*folders, *map(os.path.realpath, folders)))


def _by_names(path: PurePath, privacy: PrivacyConfig) -> str:
    """Return why a file that the disk does not have must stay private."""
    here = outermost(privacy.exclude)
    *folders, name = [encode_name(part) for part in path.as_posix().split("/") if part] or [b""]
    for folder in folders:
        here = enter(here, folder)
    return why_refused(here, name)


def _by_host(path: PurePath, privacy: PrivacyConfig) -> str:
    """
    Return why a file must stay private whose path is none here: in `file://HOST/…`, HOST may be
    this machine; of another system's files no rules can be read.
    """
    if not path.drive.startswith("\\\\"):
        return f"{UNSURE}: it is on another system"
    return why_private(Path("/", *path.as_posix().split("/", 3)[3:]), None, privacy)
