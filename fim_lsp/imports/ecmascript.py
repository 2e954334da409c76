"""Imports in JavaScript and TypeScript: `import { A } from './a'`, relative, as the file's others are. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from fim_lsp.context.free_names import FreeName
from fim_lsp.imports.ecmascript_globals import GLOBALS
from fim_lsp.imports.ecmascript_modules import (
    EXTENSION,
    hands_on,
    is_of_modules,
    is_one_package,
    kind,
    needs,
    resolve,
    spell,
)
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

LINE_CHARS = 80  # prettier's; a file with longer lines has another limit, or none

A_PAIR = 2

# Not `import(…)`, `import.meta` or `importScripts(…)`.
_STATEMENT = re.compile(r"""import\s*["'{*]|import\s+[\w$]""")
# In the last line of a statement.
_MODULE = re.compile(r"""(?:^import|\bfrom|\brequire\(|^)\s*["']([^"'\n]+)["']""")
_TEXTS = {"/*": "*/", "`": "`"}
_BEGINS = re.compile(rf"/\*|`|//.*|{QUOTED}")
_DEFINED = re.compile(
    r"export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?:class|function\*?|const\s+enum|const|let|var|interface|type|enum)\s+([\w$]+)"
)
_LISTED = re.compile(r"export\s+(?:type\s+)?\{([^{}]*)\}\s*;?$")
_BRACES = re.compile(r"(import [^{}]*\{ ?)([^{}]*?)( ?\} from .*)")
_ROW = re.compile(r"[ \t]+([\w$]+),?")  # a name with a line of its own
_FOR_THE_NEXT = re.compile(
    r"\s*//.*(?:@ts-ignore|@ts-expect-error|eslint-disable-next-line|prettier-ignore|biome-ignore)"
)
_PLAIN = (".js", ".d.ts")  # what an import or an export makes a module of
_DIRECTIVES = ("#!", "'use ", '"use ')
_OF_THE_FILE = re.compile(
    r"/\*!|///|@(?:file|flow|format|jest|license|ts-)|eslint|licen[cs]e|copyright|©|\(c\)",
    re.IGNORECASE,
)


def statements(lines: Lines) -> list[Statement]:
    """
    Return those at the left margin that name a module.

    The style says `type`, the name of a default import, and `bare` for one that brings no name.
    """
    found, at, n_lines = list[Statement](), 0, min(len(lines), LINES)
    in_code = stand_in_code(lines[:LINES], _BEGINS, _TEXTS)
    while at < n_lines:
        start, at = at, at + 1
        if not in_code[start] or not _STATEMENT.match(lines[start]):
            continue
        while at < n_lines and not _MODULE.search(lines[at - 1]) and lines[at - 1].strip():
            at += 1
        if match := _MODULE.search(lines[at - 1]):
            found.append(_statement(start, at, " ".join(lines[start:at]), match[1]))
    return found


def _statement(start: int, end: int, text: str, module: str) -> Statement:
    head, _, inner = text.removeprefix("import").partition("{")
    listed = inner.partition("}")[0].split(",")
    is_type = head.startswith(" type ")
    default = head.removeprefix(" type ").partition(",")[0].split(" from ")[0].strip(" {")
    named = (each.strip().removeprefix("type ") for each in listed)
    has_types = any(each.strip().startswith("type ") for each in listed)
    names = [each for each in named if each and " as " not in each]
    is_default = default.isidentifier()
    style = "type" * is_type + "inline" * has_types + f" {default}" * is_default
    style += "bare" * head.lstrip().startswith(("'", '"'))
    return Statement(start, end, module, (*names, *[default] * is_default), style)


def defines(file: File, name: str) -> bool:
    """Return whether *name* is exported under this name, once."""
    n_found = 0
    for line in file.lines:
        if line.startswith("export") and name in line:
            match, listed = _DEFINED.match(line), _LISTED.match(line)
            n_found += match is not None and match[1] == name
            n_found += listed is not None and name in map(str.strip, listed[1].split(","))
    return n_found == 1


def module_of(file: File, site: Site) -> str:
    """Return the path without its extension; "" in another package, and for scripts, which import nothing."""
    is_other = file.path.endswith(".d.ts") or not is_one_package(file.path, site)
    return "" if is_other or _is_script(site) else EXTENSION.sub("", file.path)


def _is_script(site: Site) -> bool:
    """Return whether the site is no module, or is not sure to be one."""
    lines = site.here.lines
    if site.found or any(line.startswith("export ") for line in lines):
        return False
    is_plain = site.here.path.endswith(_PLAIN) and not is_of_modules(site)
    return is_plain or any("require(" in line for line in lines)


def absolute(statement: Statement, path: str, paths: Collection[str]) -> str:
    """Return the module that a statement names as `module_of` has it; a package's name as it is."""
    return resolve(statement.module, path, paths)


def is_of(home: str, module: str, _: Site) -> bool:
    """A folder's index may hand on; `@/…` and `~/…` are folders of the workspace."""
    tail = module.partition("/")[2] if module[:1] in "@~#" else ""
    home, module = home.removesuffix("/index"), module.removesuffix("/index")
    return (
        home == module
        or home.startswith(f"{module}/")
        or (bool(tail) and home.endswith(f"/{tail}"))
    )


def insert(
    site: Site, module: str, name: FreeName, others: Sequence[Statement]
) -> Insertion | None:
    """Into the statement of the same module, or as a statement of its own."""
    lines, found = site.here.lines, site.found
    is_type = name.is_type and _wants_type(found, others, name.name)
    if any(name.name in each.style.split() for each in others) or (
        name.is_type and any("inline" in each.style for each in found)
    ):
        return None  # a default import, or a style of which little is known
    same = [each for each in found if _is_open_to(site, each, module)]
    same = same or [each for each in found if _may_take(site, each, module, name.name)]
    same.sort(key=lambda each: _is_type(each) != is_type)
    if same and (is_type or not _is_type(same[0])):
        return _join(lines, same[0], name.name)
    written = spell(module, site, others)
    if not written:
        return None
    line = _line(lines, found, name.name, written, "type " * is_type)
    fresh = Statement(0, 0, written, (name.name,))
    if not found:
        return _first(lines, line)
    alike = [
        each for each in found if kind(each.module) == kind(written) and each.style != "bare"
    ]  # what is imported for its effects only may have to come first
    block = next(run for run in reversed([*runs(found, lines)]) if (alike or found)[-1] in run)
    group = [each for each in block if each in alike]
    at = place(group, _key, fresh) if group else found[-1].end
    return None if at and _FOR_THE_NEXT.match(lines[at - 1]) else Insertion(at, (), (line,))


def _is_open_to(site: Site, statement: Statement, module: str) -> bool:
    """Return whether a statement imports names of *module*."""
    known = absolute(statement, site.here.path, site.paths)
    text = "".join(site.here.lines[statement.start : statement.end])
    return known.removesuffix("/index") == module.removesuffix("/index") and "{" in text


def _may_take(site: Site, statement: Statement, module: str, name: str) -> bool:
    """Return whether a statement imports from the index of a folder that hands *name* on."""
    folder = absolute(statement, site.here.path, site.paths)
    return _is_open_to(site, statement, folder) and hands_on(folder, module, name, site)


def _is_type(statement: Statement) -> bool:
    return statement.style.startswith("type")


def _wants_type(found: Sequence[Statement], others: Sequence[Statement], name: str) -> bool:
    """Return whether types are imported by `import type`: as the file does it, or as all others import the name."""
    same = [each for each in others if name in each.names]
    return any(map(_is_type, found)) or (bool(same) and all(map(_is_type, same)))


def _line(lines: Lines, found: Sequence[Statement], name: str, module: str, kind: str) -> str:
    """Return a statement with the quotes, spaces and semicolons of the file's others, or else of its text."""
    shown = [lines[each.end - 1] for each in found] or [*lines[:LINES]]
    quote = '"' if sum('"' in each for each in shown) > sum("'" in each for each in shown) else "'"
    ends = [each.rstrip()[-1:] for each in shown if not each.lstrip().startswith(("//", "*", "/*"))]
    end = ";" * (ends.count(";") > sum(each.isalnum() or each in "'\"" for each in ends if each))
    braces = [each.startswith("import { ") for each in shown if each.startswith("import {")]
    space = "" if 2 * sum(braces) < len(braces) else " "
    return f"import {kind}{{{space}{name}{space}}} from {quote}{module}{quote}{end}"


def _join(lines: Lines, statement: Statement, name: str) -> Insertion | None:
    """*name* among the names of a statement."""
    if statement.end == statement.start + 1:
        return _join_in_line(lines, statement.start, name)
    start, end = statement.start, statement.end
    old = lines[start:end]
    rows = [_ROW.fullmatch(line) for line in old[1:-1]]
    names = with_name([row[1] for row in rows if row], name, _order, str)
    if not (old[0].endswith("{") and old[-1].startswith("}") and all(rows)):
        return None
    at = names.index(name)
    indent = old[1][: len(old[1]) - len(old[1].lstrip())]
    if at < len(rows) or old[-2].endswith(","):
        return Insertion(start + 1 + at, (), (f"{indent}{name},",))
    is_sorted = names == sorted(names, key=str.lower)
    return Insertion(end - 2, old[-2:-1], (f"{old[-2]},", indent + name)) if is_sorted else None


def _join_in_line(lines: Lines, at: int, name: str) -> Insertion | None:
    old = lines[at]
    match = _BRACES.fullmatch(old)
    listed = [each.strip() for each in match[2].strip(", ").split(",")] if match else []
    if match is None or (len(listed) == A_PAIR and listed != sorted(listed, key=_order)):
        return None  # two names in another order do not say which order that is
    names = with_name(listed, name, _order, str)
    line = match[1] + ", ".join(names) + match[3]
    if len(line) <= LINE_CHARS or any(len(each) > LINE_CHARS for each in lines):
        return Insertion(at, (old,), (line,))
    head, tail = match[1].rstrip(), match[3].lstrip()
    return Insertion(at, (old,), (head, *(f"  {each}," for each in names), tail))


def _order(name: str) -> str:
    return name.removeprefix("type ").lower()


def _first(lines: Lines, line: str) -> Insertion:
    """Return the first import of a text: behind its comments and directives, but for a comment on what follows."""
    at, end, is_open = 0, 0, False  # *end*: of what is followed by an empty line
    while at < len(lines):
        text = lines[at].strip()
        is_comment = is_open or text.startswith(("//", "/*", *_DIRECTIVES))
        if text and not is_comment:
            break
        is_open = is_comment and "*/" not in text and (is_open or text.startswith("/*"))
        at += 1
        if not is_open and (not text or text.startswith(_DIRECTIVES)):
            end = at
    is_of_the_file = any(map(_OF_THE_FILE.search, lines[end:at]))
    return Insertion(at if is_of_the_file else end, (), (line, ""))


def _key(statement: Statement) -> str:
    return statement.module.lower()


ECMASCRIPT = Language(statements, defines, module_of, absolute, is_of, insert, GLOBALS, needs=needs)
