"""
The verdict on a file in a folder: whether it may get suggestions and inform others. Pure.

A file is refused when a rule of its repository, a `.fimignore` or the user's excludes match it, or
when it lies in a place that is always private. The caller goes down from the root of the file
system with `enter`, says what the disk holds in each folder, and asks `why_refused` of the last: so
the verdict on a folder is found once for all files in it. The text *in* a file is
`secrets`' business.

Stricter than git in five ways: a rule counts for tracked files, too; the rules of a repository
around a submodule or a nested repository count as well; a `!` of one kind of file (.gitignore,
.fimignore) takes back nothing of the other; where versions of git differ, what hides more; and for
our own rules a letter and its accent are one.
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from fim_lsp.context.ignore_rules import RuleList, Scope, below, compile_rules, scope, why_ignored
from fim_lsp.settings.config import SECRETS

_PLACES: dict[str, list[str]] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "private_places.toml") or b"").decode()
)
NEVER, TEMPORARY, DEPENDENCIES = (tuple(names) for names in _PLACES.values())

_COPY = re.compile(
    rb"(?:~|\.~\d{1,9}|#|\.sw[a-z]|\.un|\.kate-swp|___jb_(?:tmp|old)___"
    rb"|\.(?:bak|backup|old|orig|save|tmp|temp|new|rej|part|copy))\Z",
    re.IGNORECASE,
)
_BEFORE = re.compile(rb"\.#|#|~\$|\._|.*[%!]", re.DOTALL)
_ROUNDS = 4  # `.#.env.bak~` takes three


def originals(name: bytes) -> Iterator[bytes]:
    """
    Yield the names that *name* may be a copy of: a backup, a swap or an undo file, or a lock, of an
    editor.

    Text behind a colon, and dots and spaces at the end, are no part of a name on Windows.
    """
    if b":" in name or name[-1:] in (b".", b" "):
        name = name.partition(b":")[0].rstrip(b". ")
        yield name
    for _ in range(_ROUNDS):
        before, n_copies = _COPY.subn(b"", name)
        prefix = _BEFORE.match(before)
        after = before[prefix.end() :] if prefix else before
        if after in (name, b""):
            return
        name = after
        yield name
        if n_copies and name[:1] == b".":
            yield name[1:]  # vim's `.id_rsa.swp`


IGNORE_FILES = (".gitignore", ".fimignore")
OUTSIDE = "it lies outside the workspace"

DEPENDENCY_NAMES = max(name.count("/") + 1 for name in DEPENDENCIES)
_INSTALLED = tuple(f"**/{folder}/" for folder in DEPENDENCIES)
EXCLUDES = "fim.privacy.exclude"

_HOMES = frozenset(name for name in SECRETS if name.endswith("/") and name[0] != "!")
"""Folders such as `.ssh/`: private also where the workspace is one, or lies in one."""


class Repository(NamedTuple):
    """
    The settings of a repository besides its `.gitignore` files.

    *fold* is `core.ignoreCase`; *rules* are names and contents of further files, the most important
    first; what one of *others* ignores is ignored in any case. *left_out* are the folders, by their
    names below its top, whose `.gitignore` git has and the disk has not.
    """

    fold: bool = False
    rules: tuple[tuple[str, bytes], ...] = ()
    others: tuple[tuple[str, bytes], ...] = ()
    left_out: frozenset[bytes] = frozenset()


class FolderRules(NamedTuple):
    """A folder as found on disk: its ignore files by name, and what begins there."""

    files: Mapping[str, bytes] = {}
    repository: Repository | None = None
    is_root: bool = False  # of the workspace
    is_temporary: bool = False  # a folder of temporary files
    excludes: tuple[str, ...] = ()  # of the project whose folder it is


NOTHING = FolderRules()


class _Tree(NamedTuple):
    """Rules of the files called *file*, from one folder down."""

    file: str
    fold: bool
    scope: Scope

    def spell(self, name: bytes) -> bytes:
        """Return a name as these rules mean it: git compares bytes."""
        return compose(name) if self.file == IGNORE_FILES[-1] else name


class Folder(NamedTuple):
    """The rules that hold in a folder."""

    excludes: RuleList
    excluded: Scope
    homes: Scope
    projects: tuple[Scope, ...]
    places: tuple[Scope, ...]
    trees: tuple[_Tree, ...]


def outermost(excludes: Collection[str], on_disk: FolderRules = NOTHING) -> Folder:
    """Return the root of the file system, under the patterns of `fim.privacy.exclude`."""
    ours = _rules(tuple(excludes), EXCLUDES)
    homes = _rules(tuple(name for name in excludes if name.removeprefix("!") in _HOMES), EXCLUDES)
    places = (scope([_rules(NEVER)]),)
    return _begin_folder(Folder(ours, scope([ours]), scope([homes]), (), places, ()), on_disk)


def enter(outer: Folder, name: bytes, on_disk: FolderRules = NOTHING) -> Folder:
    """Return the folder *name* in *outer*, given what the disk says of it."""
    ours = compose(name)
    trees = [
        tree._replace(
            scope=below(tree.scope, tree.spell(name), _own(tree.file, tree.fold, on_disk))
        )
        for tree in outer.trees
    ]
    places = [below(place, name) for place in outer.places]
    alive = tuple(place for place in places if place.lists or place.closed)
    excluded = below(outer.excluded, ours)
    homes = below(outer.homes, ours)
    projects = tuple(below(project, ours) for project in outer.projects)
    inner = Folder(outer.excludes, excluded, homes, projects, alive, tuple(trees))
    return _begin_folder(inner, on_disk)


def why_refused(outer: Folder, name: bytes, *, folder: bool = False) -> str:
    """
    Return why the file, or the folder, *name* in *outer* must stay private, "" when it need not.
    """
    for place in outer.places:
        if why_ignored(place, name, folder=folder):
            return "it lies in a folder of the system, or is a program's temporary file"
    ours = compose(name)
    for spelling in (ours,) if folder else (ours, *originals(ours)):
        for excluded in (outer.excluded, *outer.projects):
            if reason := why_ignored(excluded, spelling, folder=folder):
                return reason
    for tree in outer.trees:
        if reason := why_ignored(tree.scope, tree.spell(name), folder=folder):
            return reason
    return ""


def compose(name: bytes) -> bytes:
    """Return a name with each letter and its accent in one, as keyboards write it in rules."""
    text = name.decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFC", text).encode("utf-8", "surrogateescape")


def is_installed(path: bytes) -> bool:
    """Return whether a file with this path lies in a folder that package managers fill."""
    inside = scope([_rules(_INSTALLED, fold=False)])
    for name in path.split(b"/")[:-1]:
        inside = below(inside, name) if name else inside
    return bool(inside.closed)


def _begin_folder(here: Folder, on_disk: FolderRules) -> Folder:
    """Return the folder with what begins in it."""
    if on_disk.is_temporary:
        here = here._replace(places=(*here.places, scope([_rules(TEMPORARY)])))
    if on_disk.is_root:
        closed = Scope((), here.homes.closed)
        here = here._replace(excluded=closed if closed.closed else scope([here.excludes]))
    if on_disk.excludes:
        own = scope([_rules(on_disk.excludes, EXCLUDES)])
        here = here._replace(projects=(*here.projects, own))
    if on_disk.repository is not None:
        here = here._replace(trees=(*here.trees, *_trees(on_disk, on_disk.repository)))
    return here


def _trees(on_disk: FolderRules, repository: Repository) -> list[_Tree]:
    fold = repository.fold
    git, ours = ([*filter(None, [_own(name, fold, on_disk)])] for name in IGNORE_FILES)
    git += (compile_rules(data, name, fold=fold) for name, data in repository.rules)
    others = ([compile_rules(data, name, fold=fold)] for name, data in repository.others)
    files = *zip(IGNORE_FILES, (git, ours), strict=True), *(("", rules) for rules in others)
    return [_Tree(name, fold, scope(rules)) for name, rules in files]


def _own(name: str, fold: bool, on_disk: FolderRules) -> RuleList | None:
    data = on_disk.files.get(name)
    return compile_rules(data, name, fold=fold) if data else None


@lru_cache(maxsize=32)
def _rules(lines: tuple[str, ...], name: str = "", *, fold: bool = True) -> RuleList:
    return compile_rules("\n".join(lines).encode("utf-8", "surrogatepass"), name, fold=fold)
