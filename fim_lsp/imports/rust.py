"""Imports in Rust: `use crate::a::B;` by the file's place in its crate, or as other files of the crate do. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from fim_lsp.context.free_names import FreeName
from fim_lsp.imports.rust_modules import (
    crate_name,
    depends,
    is_in_program,
    is_visible,
    module_at,
    needs,
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
    words,
)

LINE_CHARS = 100  # rustfmt's

_USE = re.compile(r"(pub(?:\([^()]*\))? )?use ([^;]*);")
_DEFINED = re.compile(
    r"pub(?:\(crate\))?\s+(?:(?:async|const|unsafe)\s+)*"
    r"(?:fn|struct|enum|union|trait|type|const|static)\s+(\w+)"
)
_TEXTS = {"/*": "*/", 'r"': '"', 'r#"': '"#', 'r##"': '"##'}
_BEGINS = re.compile(rf'/\*|r#{{0,2}}"|//.*|{QUOTED}')
_WORD = re.compile(r"[{},]|[^{},\s](?:[^{},]*[^{},\s])?")


def statements(lines: Lines) -> list[Statement]:
    """
    Return those at the left margin, one for each module that a statement names.

    The style says `pub`, `nested` where a statement names several modules, and `if` where an attribute stands above it.
    """
    found, at, n_lines = list[Statement](), 0, min(len(lines), LINES)
    in_code = stand_in_code(lines[:LINES], _BEGINS, _TEXTS)
    while at < n_lines:
        start, at = at, at + 1
        if not in_code[start] or not lines[start].startswith(("use ", "pub use ", "pub(")):
            continue
        while at < n_lines and ";" not in lines[at - 1] and lines[at - 1].strip():
            at += 1
        match = _USE.match(" ".join(line.strip() for line in lines[start:at]))
        if match is None:
            continue
        modules: dict[str, list[str]] = {}
        for path in _paths(match[2]):
            module, _, name = path.rpartition("::")
            if name == "self":
                module, _, name = module.rpartition("::")
            modules.setdefault(module, []).append(name)
        style = "pub" * bool(match[1]) + "nested" * (
            len(modules) > 1 or match[2].count("{") > 1 or " as " in match[2]
        )
        style += "if" * (start > 0 and lines[start - 1].startswith(("#[", ")]")))
        found += (
            Statement(start, at, module, tuple(names), style) for module, names in modules.items()
        )
    return found


def _paths(tree: str) -> Iterator[str]:
    """Yield the paths of `a::{b, c::{d, e}}`."""
    outer, last = [""], ""
    for word in _WORD.findall(tree):
        if word == "{":
            outer.append(outer[-1] + last)
            last = ""
            continue
        if word in ",}":
            if last:
                yield outer[-1] + last
            last = ""
            if word == "}" and len(outer) > 1:
                outer.pop()
            continue
        last = word
    if last:
        yield outer[-1] + last


def defines(file: File, name: str) -> bool:
    """
    Return whether *name* is public in the crate at least, and defined at the left margin, once.

    Functions are called by their module's name, mostly, and modules have the names of functions.
    """
    if not name[:1].isupper():
        return False
    found = (_DEFINED.match(line) for line in file.lines if line.startswith("pub") and name in line)
    return sum(match is not None and name == match[1] for match in found) == 1


def module_of(file: File, site: Site) -> str:
    """Return the crate's folder and the path in it: `shop/src|cart::item`; "" for a module below, of which names differ."""
    (crate, path), (own, above) = module_at(file.path), module_at(site.here.path)
    is_below = crate == own and bool(above) and path.startswith(f"{above}::")
    return f"{crate}|{path}" if crate and not is_below else ""


def absolute(statement: Statement, path: str, paths: Collection[str]) -> str:
    """Return the module that a statement names as `module_of` has it; another crate's as it is."""
    first, _, rest = statement.module.partition("::")
    crate, own = module_at(path)
    parts = own.split("::") if own else []
    folder = "/".join([crate, *parts, first])
    if f"{folder}.rs" in paths or f"{folder}/mod.rs" in paths:
        first, rest = "self", statement.module  # `use item::Cart` beside `mod item;`
    if first not in ("crate", "self", "super"):
        return statement.module
    if first == "super":
        parts.pop()
        while rest.startswith("super") and parts:
            rest = rest.removeprefix("super").removeprefix("::")
            parts.pop()
    kept = [] if first == "crate" else parts
    return f"{crate}|{'::'.join([*kept, rest] if rest else kept)}"


def is_of(home: str, module: str, site: Site) -> bool:
    """A module may hand on what those below it define; another crate's is taken at its word, by its name."""
    crate = crate_name(home.partition("|")[0], site)
    is_below = home.startswith((f"{module}::", f"{module}|")) or module.endswith("|")
    if "|" in module:
        return home == module or (is_below and home.startswith(module))
    return module.partition("::")[0] == crate


def hands_on(statement: Statement, file: File, site: Site) -> str:
    """Return the module in which a `pub use` makes its names known; "" where the site is in it, or may not name it."""
    crate, path = module_at(file.path)
    is_inside = module_at(site.here.path)[1].startswith(path)
    if is_inside or not statement.style.startswith("pub") or not is_visible(path, site):
        return ""
    return f"{crate}|{path}"


def insert(site: Site, module: str, name: FreeName, _: Sequence[Statement]) -> Insertion | None:
    """Into the statement of the same module, or as a statement of its own."""
    lines, crate = site.here.lines, module_at(site.here.path)[0]
    written = _spell_module(site, module)
    if not crate or not written:
        return None
    first = written.partition("::")[0]
    found = [each for each in site.found if not each.style.startswith("pub")]
    found = [each for each in found if not each.style.endswith("if")]
    for each in found:
        known = _spell_module(site, absolute(each, site.here.path, site.paths))
        if known == written and not each.style:
            return _join(lines, each, name.name)
    if any("nested" in each.style and each.module.startswith((first, "super")) for each in found):
        return None
    line, fresh = f"use {written}::{name.name};", Statement(0, 0, written, (name.name,))
    alike = [each for each in found if each.module.partition("::")[0] == first]
    blocks = [*runs(found, lines)]
    if alike:
        block = next(run for run in reversed(blocks) if alike[-1] in run)
        return Insertion(place(block, _key, fresh), (), (line,))
    if len(blocks) == 1:
        return Insertion(place(blocks[0], _key, fresh), (), (line,))
    return Insertion(found[-1].end, (), ("", line)) if found else None


def _spell_module(site: Site, module: str) -> str:
    """Return the *module* as the site writes it; "" for a private one, and one of a crate that this one does not know."""
    crate = module_at(site.here.path)[0]
    home, has_crate, path = module.rpartition("|")
    name, _, rest = module.partition("::")
    if not has_crate and name == crate_name(crate, site) and not is_in_program(site):
        home, has_crate, path = (
            crate,
            "|",
            rest,
        )  # a program names its library so; the library does not
    if not has_crate:
        return module if depends(site, name) or name == crate_name(crate, site) else ""
    is_known = home == crate and is_visible(path, site)
    return f"crate::{path}".removesuffix("::") if is_known else ""


def _join(lines: Lines, statement: Statement, name: str) -> Insertion | None:
    """*name* among the names of a statement of one line."""
    old = lines[statement.start : statement.end]
    names = with_name(statement.names, name, _order, str)
    line = f"use {statement.module}::{{{', '.join(names)}}};"
    is_sure = len(old) == 1 and len(line) <= LINE_CHARS
    return Insertion(statement.start, old, (line,)) if is_sure else None


def _order(name: str) -> tuple[int, str]:
    """Sort as rustfmt does: modules and functions, types, constants."""
    return (2 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 0, name)


def _key(statement: Statement) -> tuple[int, list[str]]:
    """Sort as rustfmt does: this crate comes first."""
    parts = [*statement.module.split("::"), *sorted(statement.names, key=_order)[:1]]
    return ({"self": 0, "super": 1, "crate": 2}.get(parts[0], 3), parts)


_PRELUDE = words(
    "Box Clone Copy Debug Default Drop Err Error Fn FnMut FnOnce From Into Iterator None Ok Option Result Self Send "
    "Sized Some String Sync ToOwned ToString TryFrom TryInto Vec"
)

RUST = Language(statements, defines, module_of, absolute, is_of, insert, _PRELUDE, hands_on, needs)
