"""Imports in Python: `from a.b import C`, absolute or relative as the file's others are, in isort's order. Pure."""

from __future__ import annotations

import builtins
import re
from collections.abc import Collection, Sequence

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
    place,
    runs,
    stand_in_code,
    with_name,
)

LINE_CHARS = 88  # black's and ruff's; a file with longer lines shows its own

_IMPORT = re.compile(r"(?:from\s+([.\w]+)\s+import\b|import\s+([.\w]+))")
_DEFINED = re.compile(r"(?:async\s+def|def|class|type)\s+(\w+)|(\w+)\s*[:=](?!=)")
_PLAIN = re.compile(r"from [.\w]+ import (\w+(?:, \w+)*)")  # a line that another name can join
_ONE = re.compile(r"[ \t]+(\w+),")  # a name with a line of its own
# A docstring of one line.
_SHORT_TEXT = re.compile(r"""[rRuU]?(?:"(?!"")[^"\n]*"|'(?!'')[^'\n]*')\s*(?:#.*)?""")
_TEXTS = {'"""': '"""', "'''": "'''"}
_OF_THE_FILE = re.compile(
    r"#!|#.*coding[:=]|#.*(?:licen[cs]e|copyright|©|\(c\)|spdx)"
    r"|#\s*(?:flake8|isort|mypy|pylint|pyright|ruff|type|vim?):|#\s*(?:-\*-|///)",
    re.IGNORECASE,
)
_DEFINITIONS = ("def ", "class ", "@", "async ")
_BEGINS = re.compile(rf"""\"{{3}}|'{{3}}|#.*|{QUOTED}""")


def statements(lines: Lines) -> list[Statement]:
    """Return those at the left margin."""
    found, at, n_lines = list[Statement](), 0, min(len(lines), LINES)
    in_code = stand_in_code(lines[:LINES], _BEGINS, _TEXTS)
    while at < n_lines:
        match = _IMPORT.match(lines[at]) if in_code[at] else None
        end, text = at + 1, lines[at].partition("#")[0]
        if match is None:
            at += 1
            continue
        while end < n_lines and (text.count("(") > text.count(")") or text.endswith("\\")):
            text = text.removesuffix("\\") + " " + lines[end].partition("#")[0]
            end += 1
        is_from = match[1] is not None
        listed = text[match.end() :].strip(" ()").split(",") if is_from else []
        names = (each.strip() for each in listed)
        found.append(
            Statement(at, end, match[1] or match[2], tuple(filter(None, names)), "from" * is_from)
        )
        at = end
    return found


def defines(file: File, name: str) -> bool:
    """Return whether *name* is defined at the left margin, once."""
    found = (
        _DEFINED.match(line)
        for line in file.lines
        if line.startswith(("def", "class", "async", "type", name))
    )
    return sum(match is not None and name in match.groups() for match in found) == 1


def module_of(file: File, site: Site) -> str:
    """
    Return the full name of a module, "" for one that imports the site: neither could be loaded first.

    One in no package is only sure to end like its path, and gets a `?`.
    """
    own = _full_name(site.here.path, site.paths)
    for each in statements(file.lines) if own else ():
        module = absolute(each, file.path, site.paths)
        if own in (module, *(f"{module}.{name}" for name in each.names)):
            return ""
    return (
        _full_name(file.path, site.paths) or f"?{file.path.removesuffix('.py').replace('/', '.')}"
    )


def _full_name(path: str, paths: Collection[str]) -> str:
    """Return the full name of the module in a file, "" for one in no package."""
    package, stem = _package(path, paths), _stem(path)
    return package if stem == "__init__" or not package else f"{package}.{stem}"


def absolute(statement: Statement, path: str, paths: Collection[str]) -> str:
    """Return the full name of the module that the file *path* imports from."""
    module = statement.module
    if not module.startswith("."):
        return module
    rest, package = module.lstrip("."), _package(path, paths).split(".")
    kept = package[: len(package) - (len(module) - len(rest)) + 1]
    return ".".join([*kept, rest] if rest else kept)


def is_of(home: str, module: str, _: Site) -> bool:
    """A package may hand on what its modules define."""
    if home.startswith("?"):
        return f".{home[1:]}".endswith(f".{module}")
    return f"{home}.".startswith(f"{module}.")


def hands_on(_: Statement, file: File, site: Site) -> str:
    """Return the package whose `__init__` imports the names; "" where the site is in it: its modules do not ask that."""
    package = _package(file.path, site.paths)
    is_inside = f"{_package(site.here.path, site.paths)}.".startswith(f"{package}.")
    return package if _stem(file.path) == "__init__" and not is_inside else ""


def insert(
    site: Site, module: str, name: FreeName, others: Sequence[Statement]
) -> Insertion | None:
    """Into the statement of the same module, or as a statement of its own."""
    lines = site.here.lines
    # One below would come too late: for what is read while the module is loaded.
    site = site._replace(found=[each for each in site.found if each.end <= name.line])
    if module.startswith("?") or _is_private(site, module):
        return None
    written = _spell_module(site, module, others)
    for each in site.found:
        is_same = module == absolute(each, site.here.path, site.paths)
        if each.style and is_same and not lines[each.start].endswith("\\"):
            return _join(lines, each, name.name)
    fresh = Statement(0, 0, written, (name.name,), "from")
    line = f"from {written} import {name.name}"
    if not site.found:
        return _first(lines, line)
    alike = [
        each
        for each in site.found
        if each.style and _section(each, module) == _section(fresh, module)
    ]
    if alike:
        block = next(run for run in reversed([*runs(site.found, lines)]) if alike[-1] in run)
        group = [each for each in block if each.style]
        return Insertion(place(group, _key, fresh), (), (line,))
    last = site.found[-1]
    if not written.startswith(".") and last.module.startswith("."):
        block = next(run for run in runs(site.found, lines) if run[-1] == last)
        first = next(each for each in block if each.module.startswith("."))
        return Insertion(first.start, (), (line, "") if first == block[0] else (line,))
    return Insertion(last.end, (), ("", line))


def _is_private(site: Site, module: str) -> bool:
    """Return whether a part of the *module* begins with `_`, and the file is not beside it."""
    own, parts = _package(site.here.path, site.paths).split("."), module.split(".")
    n_shared = n_common(own, parts)
    kept = parts[n_shared + (n_shared == len(own)) :]
    return any(part.startswith("_") for part in kept)


def _section(statement: Statement, module: str) -> str:
    """Relative imports stand together, and those of the same package."""
    top = statement.module.partition(".")[0]
    return top if top in ("", module.partition(".")[0]) else "other"


def _spell_module(site: Site, module: str, others: Sequence[Statement]) -> str:
    """Return the *module* as the file writes it: relative if its others are, or else if those of other files are."""
    package = _package(site.here.path, site.paths)
    top = package.partition(".")[0]
    if not top or module.partition(".")[0] != top:
        return module
    for found in (site.found, others):
        n_relative = sum(each.module.startswith(".") for each in found)
        n_absolute = sum(each.module.partition(".")[0] == top for each in found)
        if n_relative != n_absolute:
            break
    if n_relative <= n_absolute:
        return module
    own, other = package.split("."), module.split(".")
    n_shared = n_common(own, other)
    return "." * (len(own) - n_shared + 1) + ".".join(other[n_shared:])


def _join(lines: Lines, statement: Statement, name: str) -> Insertion | None:
    """*name* among the names of a statement."""
    start, end = statement.start, statement.end
    head, old = lines[start], lines[start:end]
    if match := _PLAIN.fullmatch(head):
        names = with_name(match[1].split(", "), name, _order, str)
        before, after = head[: match.start(1)], ", ".join(names)
        if len(before) + len(after) <= max(LINE_CHARS, len(head)):
            return Insertion(start, old, (before + after,))
        return Insertion(start, old, (f"{before}(", *(f"    {each}," for each in names), ")"))
    rows = [_ONE.fullmatch(line) for line in old[1:-1]]
    names = with_name([row[1] for row in rows if row], name, _order, str)
    if not head.endswith("(") or old[-1].strip() != ")" or not all(rows):
        return None
    at = names.index(name)
    indent = old[1][: len(old[1]) - len(old[1].lstrip())]
    return Insertion(start + 1 + at, (), (f"{indent}{name},",))


def _first(lines: Lines, line: str) -> Insertion:
    """Return the first import of a text: behind its docstring and comments, but for a comment on what follows."""
    text = _skip(lines, 0)  # where code begins, or the docstring
    end = _end_of_docstring(lines, text)
    at = end if end > text else _end_of_header(lines, text)
    above = ("",) if at == end > text else ()  # right behind a docstring
    while at < len(lines) and not lines[at].strip():
        at, above = at + 1, ()
    code = _skip(lines, at)
    is_definition = code < len(lines) and lines[code].startswith(_DEFINITIONS)
    return Insertion(at, (), (*above, line, "", *[""] * is_definition))


def _skip(lines: Lines, at: int) -> int:
    """Return the line of the next code or text: behind comments and empty lines."""
    while at < len(lines) and (lines[at].startswith("#") or not lines[at].strip()):
        at += 1
    return at


def _end_of_docstring(lines: Lines, at: int) -> int:
    """Return the line behind the docstring that begins at *at*, or *at* where none does."""
    quote = lines[at].lstrip("rRuU")[:3] if at < len(lines) else ""
    if quote not in _TEXTS:
        return at + bool(quote and _SHORT_TEXT.fullmatch(lines[at]))
    if lines[at].count(quote) == 1:
        at = next((n for n in range(at + 1, len(lines)) if quote in lines[n]), at)
    return at + 1


def _end_of_header(lines: Lines, code: int) -> int:
    """Return the line behind the comments on the file, which stand above *code*; others right above it are on the code."""
    block = code
    while block and lines[block - 1].startswith("#"):
        block -= 1
    return code if any(_OF_THE_FILE.match(line) for line in lines[block:code]) else block


def _package(path: str, paths: Collection[str]) -> str:
    """Return the package that a file is in, "" for none."""
    folder, names = path.rpartition("/")[0], list[str]()
    while folder and f"{folder}/__init__.py" in paths:
        folder, _, name = folder.rpartition("/")
        names.insert(0, name)
    return ".".join(names)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _order(name: str) -> tuple[int, str]:
    """Sort as isort and ruff do: constants, classes, functions."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name)


def _key(statement: Statement) -> tuple[int, str]:
    """Relative imports of a farther package come first."""
    n_dots = len(statement.module) - len(statement.module.lstrip("."))
    return (-n_dots, statement.module.lower())


PYTHON = Language(
    statements,
    defines,
    module_of,
    absolute,
    is_of,
    insert,
    frozenset({*dir(builtins), "__file__"}),
    hands_on,
)
