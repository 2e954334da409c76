"""
Imports in Go: the package of `pkg.Name`, by the module of the nearest `go.mod` and the folder, in gofmt's order. Pure.

What is missing is the package: the names here are `pkg.Name`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from posixpath import dirname, relpath

from fim_lsp.context.free_names import FreeName
from fim_lsp.documents import n_common
from fim_lsp.imports.statement import (
    LINES,
    QUOTED,
    File,
    Insertion,
    Language,
    Lines,
    Site,
    Statement,
    above,
    place,
    runs,
    stand_in_code,
)

USUAL_GROUPS = 2  # the standard library, and all others; where there are more, each has its own

HOST_PARTS = 3  # of `github.com/user/project`

_SPEC = re.compile(r'(?:import\s+|\s+)(?:([\w.]+)\s+)?"([^"\s]+)"')
_DEFINED = re.compile(r"(?:func|type|var|const)\s+(\w+)|\t(\w+)")
_VERSION = re.compile(r"v[0-9]+")
_TEXTS = {"/*": "*/", "`": "`"}
_BEGINS = re.compile(rf"/\*|`|//.*|{QUOTED}")
_MODULE = re.compile(r"module\s+\S")
_MANIFEST = "go.mod"
_C = "C"  # cgo's: the comment above its import is C code, and must stand right above it


def statements(lines: Lines) -> list[Statement]:
    """Return a statement for each path; the style says `(` for those in a block, and which block."""
    found, block = list[Statement](), ""
    in_code = stand_in_code(lines[:LINES], _BEGINS, _TEXTS)
    for at, line in enumerate(lines[:LINES]):
        if not in_code[at]:
            continue
        if line.startswith("import ("):
            block = f"({at}"
        elif line.startswith(")"):
            block = ""
        elif (block or line.startswith("import ")) and (match := _SPEC.match(line)):
            parts = match[2].split("/")
            is_version = _VERSION.fullmatch(parts[-1]) is not None and len(parts) > 1
            name = "*" if match[1] == "." else match[1] or parts[-2 if is_version else -1]
            found.append(Statement(at, at + 1, match[2], (name,), block))
        elif line.startswith(("func ", "type ", "var ", "const ")):
            break
    return found


def defines(file: File, name: str) -> bool:
    """Return whether *name*, `pkg.Name`, is defined in a file of that package."""
    package, _, name = name.partition(".")
    if not any(line.split() == ["package", package] for line in file.lines) or package == "main":
        return False
    found = (_DEFINED.match(line) for line in file.lines if name in line)
    return any(match is not None and name in match.groups() for match in found)


def needs(home: str, here: str) -> Iterator[str]:
    """Yield the manifests above either file."""
    yield from above(home, _MANIFEST)
    yield from above(here, _MANIFEST)


def module_of(file: File, site: Site) -> str:
    """Return the import path of a file's folder; "" for the one that the site is in, and in a module it does not know."""
    folder, here = dirname(file.path), dirname(site.here.path)
    manifest, own = _nearest(file.path, site), _nearest(site.here.path, site)
    if manifest is None or folder == here or file.path.endswith("_test.go"):
        return ""
    above, is_internal, _ = f"/{folder}/".rpartition("/internal/")
    if is_internal and not f"/{here}/".startswith(f"{above}/"):
        return ""  # for the folders beside it only
    module = next((line.split()[1] for line in manifest.lines if _MODULE.match(line)), "")
    if not module or (own != manifest and (own is None or not _requires(own, module))):
        return ""
    below = relpath(folder or ".", dirname(manifest.path) or ".")
    return module + f"/{below}" * (below != ".")


def _nearest(path: str, site: Site) -> File | None:
    return next(filter(None, map(site.more.get, above(path, _MANIFEST))), None)


def _requires(manifest: File, module: str) -> bool:
    """Return whether a manifest requires *module*: alone in its line, or behind `require`."""
    return any(module in line.split()[:2] for line in manifest.lines)


def absolute(statement: Statement, _path: str, _paths: Collection[str]) -> str:
    """Paths are absolute."""
    return statement.module


def is_of(home: str, module: str, _: Site) -> bool:
    """A package hands on nothing."""
    return home == module


def insert(site: Site, module: str, name: FreeName, _: Sequence[Statement]) -> Insertion | None:
    """Among the imports of the same module, or else behind those of other modules."""
    lines, found = site.here.lines, site.found
    if any(name.name in each.module or name.name in each.names for each in found):
        return None  # a package may be called otherwise than its path ends
    fresh, line = Statement(0, 0, module, ()), f'\t"{module}"'
    blocks = [each for each in found if each.style]
    if not found:
        at = next((n for n, text in enumerate(lines) if text.startswith("package ")), -1)
        return Insertion(at + 1, (), ("", f'import "{module}"')) if at >= 0 else None
    if not blocks:
        return _block(lines, found[0], module) if len(found) == 1 else None
    groups = [*runs([each for each in blocks if each.style == blocks[-1].style], lines)]
    nearest = max(groups, key=lambda group: max(_nearness(each, module) for each in group))
    n_parts = max(_nearness(each, module) for each in nearest)
    if n_parts >= _own(module):
        return Insertion(place(nearest, _key, fresh), (), (line,))
    foreign = [
        group for group in groups if any("." in each.module.partition("/")[0] for each in group)
    ]
    if not foreign or len(groups) > USUAL_GROUPS:
        return Insertion(groups[-1][-1].end, (), ("", line))
    return Insertion(place(foreign[-1], _key, fresh), (), (line,))


def _block(lines: Lines, only: Statement, module: str) -> Insertion | None:
    """Return a single import and another one as a block, or behind cgo's."""
    if only.module == _C:
        return Insertion(only.end, (), ("", f'import "{module}"'))
    old = lines[only.start]
    spec = old.removeprefix("import").strip()
    after = ("import (", f"\t{spec}", "", f'\t"{module}"', ")")
    return None if spec.startswith("_") else Insertion(only.start, (old,), after)


def _nearness(statement: Statement, module: str) -> int:
    return n_common(statement.module.split("/"), module.split("/"))


def _own(module: str) -> int:
    """Return how many parts of a path say whose it is."""
    parts = module.split("/")
    return HOST_PARTS if len(parts) >= HOST_PARTS and "." in parts[0] else 1


def _key(statement: Statement) -> str:
    return statement.module


GO = Language(statements, defines, module_of, absolute, is_of, insert, needs=needs)
