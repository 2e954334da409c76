"""Modules in Rust: where a file stands in its crate, what may name it, and which crates a crate depends on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fim_lsp.imports.statement import Site

_ROOTS = ("lib", "main")  # each is a crate of its own

_DECLARED = re.compile(r"(pub(?:\([^()]*\))?\s+)?mod\s+(\w+)\s*[;{]")
_IN_CRATE = ("pub", "pub(crate)")
# In a manifest; also those for one kind of system. Those for tests only are none.
_DEPENDENCIES = re.compile(r"\[(?:target\..*\.)?dependencies(?:\.([\w-]+))?\]")
_KEY = re.compile(r'"?([\w-]+)"?\s*[.=]\s*"?([\w-]*)')


def needs(home: str, here: str) -> Iterator[str]:
    """Yield the files that declare the modules around *home*, the roots, and the manifests."""
    (crate, path), (own, _) = module_at(home), module_at(here)
    if not crate or not own:
        return
    yield from (_manifest(crate), _manifest(own))
    yield from (f"{crate}/{root}.rs" for root in _ROOTS)
    parts = path.split("::")
    for n in range(1, len(parts)):
        yield from _files(crate, parts[:n])


def module_at(path: str) -> tuple[str, str]:
    """Return a crate's folder of sources, and the module's path in it; "" for files that are no part of one."""
    crate, _, below = f"/{path}".rpartition("/src/")
    if (
        not below
        or below.startswith("bin/")
        or not path.endswith(".rs")
        or "/src/" not in f"/{path}"
    ):
        return "", ""
    parts = below.removesuffix(".rs").split("/")
    if parts[-1] in ("mod", *_ROOTS):
        parts.pop()
    return f"{crate}/src".lstrip("/"), "::".join(parts)


def crate_name(folder: str, site: Site) -> str:
    """Return the name by which others import the crate with this folder of sources; without a manifest, as the folder is called."""
    found = {section: text for section, key, text in _read_manifest(site, folder) if key == "name"}
    name = (
        found.get("[lib]")
        or found.get("[package]")
        or folder.removesuffix("/src").rpartition("/")[2]
    )
    return name.replace("-", "_")


def is_visible(path: str, site: Site) -> bool:
    """Return whether the site may name the module *path* of its crate: each part is public, or the site is inside of what declares it."""
    crate, here = module_at(site.here.path)
    parts, own = path.split("::") if path else [], here.split("::") if here else []
    if parts and not _shares_root(site, crate, parts[0], own):
        return False
    for n in range(1, len(parts)):
        declared = _find_declarations(site, _files(crate, parts[:n]), parts[n]).values()
        is_inside = own[:n] == parts[:n]
        is_beside = own[: n - 1] == parts[: n - 1]  # of the module in which it is declared
        if not any(
            is_inside or each in _IN_CRATE or (is_beside and each == "pub(super)")
            for each in declared
        ):
            return False
    return True


def _shares_root(site: Site, crate: str, first: str, own: Sequence[str]) -> bool:
    """Return whether a root that declares the module *first* is the one that the site belongs to."""
    roots = [f"{crate}/{root}.rs" for root in _ROOTS]
    mine = {*_find_declarations(site, roots, own[0])} if own else {site.here.path}
    theirs = {*_find_declarations(site, roots, first)}
    return bool(theirs & mine) or (bool(theirs) and not mine)


def _files(crate: str, parts: Sequence[str]) -> tuple[str, str]:
    """Return where a module's text may be."""
    module = "/".join([crate, *parts])
    return f"{module}.rs", f"{module}/mod.rs"


def _find_declarations(site: Site, paths: Sequence[str], name: str) -> dict[str, str]:
    """Return how the files *paths* declare a module, by path, always compiled: `pub`, `pub(crate)`, "" if it is private."""
    found: dict[str, str] = {}
    for file in filter(None, map(site.more.get, paths)):
        for above, line in zip(("", *file.lines), file.lines, strict=False):
            match = _DECLARED.match(line) if name in line else None
            if match and match[2] == name and not above.startswith("#[cfg"):
                found[file.path] = (match[1] or "").strip()
    return found


def is_in_program(site: Site) -> bool:
    """Return whether the site belongs to the program of a crate that has a library, too."""
    crate, here = module_at(site.here.path)
    library, program = (f"{crate}/{root}.rs" for root in _ROOTS)
    is_ours = bool(here) and bool(_find_declarations(site, [program], here.partition("::")[0]))
    return library in site.more and (is_ours or site.here.path == program)


def depends(site: Site, crate: str) -> bool:
    """Return whether the crate of the site depends on another one, by its manifest."""
    found = _read_manifest(site, module_at(site.here.path)[0])
    return any(
        (match[1] or key).replace("-", "_") == crate
        for section, key, _ in found
        if (match := _DEPENDENCIES.fullmatch(section))
    )


def _read_manifest(site: Site, folder: str) -> Iterator[tuple[str, str, str]]:
    """Yield what a crate's manifest says: the section, the key, and the text behind it."""
    file, section = site.more.get(_manifest(folder)), ""
    for line in file.lines if file else ():
        if line.startswith("["):
            section = line.partition("#")[0].strip()
            yield section, "", ""
        elif match := _KEY.match(line):
            yield section, match[1], match[2]


def _manifest(folder: str) -> str:
    return f"{folder.removesuffix('src')}Cargo.toml"
