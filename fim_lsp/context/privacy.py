"""
Which files may be completed in and may inform others: one answer for a path. Pure.

A file is refused when it matches a rule of `.gitignore` or `.fimignore` (at any level, as git reads
them) or the user's excludes, or when it lies outside the workspace and outside what package managers
install. A symbolic link is judged twice, by its own path and by where it leads: the caller resolves
it (the only question to the disk) and hands over both. What is *in* a file is `secrets`' business.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePosixPath
from typing import Any

Patterns = Any  # pathspec.GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".fimignore")
"""Files of rules, read in this order: what .fimignore says counts over .gitignore."""

DEPENDENCIES = (
    "site-packages", "dist-packages", "node_modules", ".cargo/registry", "pkg/mod", "gems",
    "lib/python3*", ".rustup/toolchains", "usr/include", ".m2/repository", "vendor/bundle",
)  # fmt: skip
"""Folders of installed packages, where an editor goes for a definition: public code by nature."""


@dataclass(frozen=True)
class Rules:
    """What one workspace root refuses. *ignores* are (folder, patterns), outer folders first."""

    root: str  # absolute, symbolic links resolved, without a slash at the end
    ignores: tuple[tuple[str, Patterns], ...]
    excludes: Patterns


def rules(root: str, ignore_files: Mapping[str, str], excludes: Iterable[str]) -> Rules:
    """
    The rules of the workspace at *root*.

    *ignore_files* maps relative paths of `.gitignore` and `.fimignore` files to their contents;
    *excludes* are patterns in the same language that nothing re-includes.
    """
    ordered = sorted(ignore_files, key=lambda path: (path.count("/"), _rank(path)))
    folders = ((path.rpartition("/")[0], ignore_files[path]) for path in ordered)
    ignores = tuple((folder, _spec(text.splitlines())) for folder, text in folders)
    return Rules(root.rstrip("/"), ignores, _spec(excludes))


def deeper(above: Rules, ignore_files: Mapping[str, str]) -> Rules:
    """The rules with more ignore files, of a folder below those that are known."""
    return replace(above, ignores=above.ignores + rules("", ignore_files, ()).ignores)


def installed(relative: str) -> bool:
    """Is this a folder, or in one, that package managers fill?"""
    return bool(_dependencies().match_file(relative))


def refused(rules: Rules, path: str, real_path: str | None = None) -> str:
    """
    Why the file at the absolute *path* must stay private, "" when it need not.

    *real_path* is where it leads with all symbolic links resolved.
    """
    for each in dict.fromkeys((path, real_path or path)):
        relative = relative_path(rules.root, each)
        reason = _refused_outside(rules, each) if relative is None else _refused(rules, relative)
        if reason:
            return reason if each == path else f"it leads to a file that is private: {reason}"
    return ""


def relative_path(root: str, path: str) -> str | None:
    """*path* below *root* with slashes, None when it is not below it."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    base = PurePosixPath(root.replace("\\", "/")).parts
    if parts[: len(base)] != base or ".." in parts or len(parts) == len(base):
        return None
    return "/".join(parts[len(base) :])


def ignored(rules: Rules, relative: str) -> bool:
    """Do the ignore files match this path or a folder above it? A folder ends with a slash."""
    parts = relative.rstrip("/").split("/")
    folders = ["/".join(parts[: n + 1]) + "/" for n in range(len(parts) - 1)]
    return any(_verdict(rules, path) for path in (*folders, relative))


def _refused(rules: Rules, relative: str) -> str:
    if rules.excludes.match_file(relative):
        return "it matches fim.privacy.exclude"
    return "it matches .gitignore or .fimignore" if ignored(rules, relative) else ""


def _refused_outside(rules: Rules, path: str) -> str:
    if rules.excludes.match_file(path.lstrip("/")):
        return "it matches fim.privacy.exclude"
    return "" if _dependencies().match_file(path.lstrip("/")) else "it lies outside the workspace"


def _verdict(rules: Rules, path: str) -> bool:
    """What the innermost rule file that knows the path says; no rule means not ignored."""
    verdict = False
    for folder, spec in rules.ignores:
        if folder and not path.startswith(folder + "/"):
            continue
        included = spec.check_file(path[len(folder) + 1 :] if folder else path).include
        verdict = verdict if included is None else included
    return verdict


def _rank(path: str) -> int:
    return IGNORE_FILES.index(path.rpartition("/")[2])


def _spec(lines: Iterable[str]) -> Patterns:
    """A pattern that cannot be read is left out: an odd line must not void the others."""
    # Imported when the first file is judged: it costs 30 ms, and an editor waits for our start.
    patterns = importlib.import_module("pathspec").GitIgnoreSpec
    good = []
    for line in lines:
        try:
            patterns.from_lines([line])
        except ValueError:
            continue
        good.append(line)
    return patterns.from_lines(good)


@cache
def _dependencies() -> Patterns:
    return _spec(f"**/{folder}/**" for folder in DEPENDENCIES)
