"""Imports in Java: `import a.b.C;` by the package of the file that defines the class, in order. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
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


def module_of(file: File, site: Site) -> str:
    """Return the package of a file; "" for that of the site, and for tests where that is none."""
    package = _package(file.lines)
    is_test = "/test/" in file.path and "/test/" not in site.here.path
    return "" if is_test or package == _package(site.here.lines) else package


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

JAVA = Language(statements, defines, module_of, absolute, is_of, insert, _LANG)
