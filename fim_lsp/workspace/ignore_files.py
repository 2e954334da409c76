"""
A file on disk into a verdict: may it be completed in and inform others? Reads ignore files.

The rules themselves are `context.privacy`'s. This asks the disk for what they need: the ignore files
from the workspace's root down to the file, and where symbolic links lead. Blocking: call it in a
worker thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePath

from fim_lsp.context.privacy import IGNORE_FILES, refused, rules

LONGEST = 1_000_000  # bytes of an ignore file: more is no list of patterns


def why_private(path: PurePath, root: PurePath | None, excludes: Iterable[str]) -> str:
    """
    Why the file at *path* must stay private, "" when it need not.

    *root* is its workspace folder; without one its own folder counts as that.
    """
    real_root = Path(os.path.realpath(root or path.parent))
    inside = real_root / os.path.relpath(path, root or path.parent)
    known = rules(str(real_root), rule_files(real_root, inside.parent), excludes)
    return refused(known, str(inside), os.path.realpath(path))


def rule_files(root: Path, folder: Path) -> dict[str, str]:
    """The ignore files from *root* down to *folder*, by their relative path."""
    found = {}
    folders = [folder, *folder.parents]
    for each in folders[: folders.index(root) + 1] if root in folders else [root]:
        found.update(rules_in(root, each))
    return found


def rules_in(root: Path, folder: Path) -> dict[str, str]:
    """The ignore files of one *folder*, by their path relative to *root*."""
    texts = {folder / name: _text(folder / name) for name in IGNORE_FILES}
    return {file.relative_to(root).as_posix(): text for file, text in texts.items() if text}


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(LONGEST)
    except OSError:
        return ""
