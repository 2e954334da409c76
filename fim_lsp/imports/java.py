"""Imports in Java: `import a.b.C;` by the package of the file that defines the class, in order. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from posixpath import basename

from fim_lsp.context.free_names import FreeName
from fim_lsp.documents import n_common
from fim_lsp.imports.statement import (
    ALL,
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
    words,
)

_IMPORT = re.compile(r"import\s+(static\s+)?([\w.]+)\.(\w+|\*)\s*;")
_PACKAGE = re.compile(r"package\s+([\w.]+)\s*;")
_DEFINED = re.compile(
    r"public\s+(?:(?:abstract|final|sealed|non-sealed|strictfp)\s+)*(?:class|interface|enum|record|@interface)\s+(\w+)"
)
_TEXTS = {"/*": "*/", '"""': '"""'}
_BEGINS = re.compile(rf'/\*|"{{3}}|//.*|{QUOTED}')
_BUILDS = ("pom.xml", "build.gradle", "build.gradle.kts")
_SIGNS = re.compile(r"[-_]")
_OPEN = ("java.", "javax.")  # packages of which all names may be imported at once


def statements(lines: Lines) -> list[Statement]:
    """Return the imports; of a static one the names are those of the members."""
    found = list[Statement]()
    in_code = stand_in_code(lines[:LINES], _BEGINS, _TEXTS)
    for at, line in enumerate(lines[:LINES]):
        if in_code[at] and line.startswith("import") and (match := _IMPORT.match(line)):
            is_open = match[3] == "*" and (bool(match[1]) or f"{match[2]}.".startswith(_OPEN))
            names = () if is_open else (ALL if match[3] == "*" else match[3],)
            found.append(Statement(at, at + 1, match[2], names, "static" * bool(match[1])))
    return found


def defines(file: File, name: str) -> bool:
    """Return whether the file is that of the public class *name*."""
    if basename(file.path) != f"{name}.java":
        return False
    found = (_DEFINED.match(line) for line in file.lines if line.startswith("public"))
    return any(match is not None and match[1] == name for match in found)


def needs(_: str, here: str) -> Iterator[str]:
    """Yield the builds of the project that *here* is in, and of those around it."""
    for name in _BUILDS:
        yield from above(here, name)


def module_of(file: File, site: Site) -> str:
    """Return the package of a file; "" for that of the site, for tests where that is none, and in a project it does not use."""
    package, here = _package(file.lines), site.here
    is_test = "/test/" in file.path and "/test/" not in here.path
    project = _project(file.path)
    is_other = project != _project(here.path) and not _uses(site, project)
    return "" if is_test or is_other or package == _package(here.lines) else package


def _project(path: str) -> str:
    """Return the folder with the folder `src` that *path* is in."""
    project, found, _ = f"/{path}".rpartition("/src/")
    return found and project


def _uses(site: Site, project: str) -> bool:
    """Return whether the build of the site names a *project*, which is mostly called as its folder."""
    name = _SIGNS.sub("", project.rpartition("/")[2]).lower()
    folders = zip(*(above(site.here.path, each) for each in _BUILDS), strict=True)
    builds = ([*filter(None, map(site.more.get, paths))] for paths in folders)
    nearest = next(filter(None, builds), [])
    text = "\n".join(line for each in nearest for line in each.lines)
    return not nearest or (bool(name) and name in _SIGNS.sub("", text).lower())


def absolute(statement: Statement, _path: str, _paths: Collection[str]) -> str:
    """Packages are absolute."""
    return statement.module


def is_of(home: str, module: str, _: Site) -> bool:
    """A package hands on nothing."""
    return home == module


def insert(site: Site, module: str, name: FreeName, _: Sequence[Statement]) -> Insertion | None:
    """Among the imports that are the most alike."""
    lines, line = site.here.lines, f"import {module}.{name.name};"
    fresh = Statement(0, 0, module, (name.name,))
    plain = [each for each in site.found if not each.style]
    if not plain:
        at = next((n for n, text in enumerate(lines) if _PACKAGE.match(text)), -1)
        return None if site.found or at < 0 else Insertion(at + 1, (), ("", line))
    groups = [*runs(plain, lines)]
    nearest = max(
        reversed(groups), key=lambda group: max(_nearness(each, module) for each in group)
    )
    if max(_nearness(each, module) for each in nearest):
        return Insertion(place(nearest, _key, fresh), (), (line,))
    return Insertion(plain[-1].end, (), ("", line))


def _nearness(statement: Statement, module: str) -> int:
    return min(2, n_common(statement.module.split("."), module.split(".")))


def _key(statement: Statement) -> str:
    return ".".join((statement.module, *statement.names))


def _package(lines: Lines) -> str:
    found = (_PACKAGE.match(line) for line in lines[:LINES] if line.startswith("package"))
    return next((match[1] for match in found if match), "")


_LANG = words(
    "Boolean Byte Character Class Comparable Deprecated Double Enum Error Exception Float FunctionalInterface Integer "
    "Iterable Long Math Module Number Object Override Package Process Readable Record Runnable Runtime Short String "
    "StringBuilder System Thread Throwable Void"
)

JAVA = Language(statements, defines, module_of, absolute, is_of, insert, _LANG, needs=needs)
