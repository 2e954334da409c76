"""Modules in JavaScript and TypeScript: which package a file belongs to, and how an import writes a file's path. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from posixpath import dirname, normpath, relpath
from typing import Any

from fim_lsp.documents import n_common
from fim_lsp.imports.statement import Site, Statement, above

_MANIFEST = "package.json"
_SOURCES = "src"
_INDEXES = ("index.ts", "index.js")

_LISTED = re.compile(r"""export\s+(?:type\s+)?\{([^{}]*)\}\s*from\s*["']([^"'\n]+)["']""")
_ALL = re.compile(r"""export\s*\*\s*from\s*["']([^"'\n]+)["']""")

EXTENSION = re.compile(r"\.(?:[cm]?[jt]s|[jt]sx)$")
_OTHER = re.compile(r"\.(?:css|html|json|less|md|png|sass|scss|svelte|svg|txt|vue|wasm)$")
_ALIAS = re.compile(
    r"(@|~|#|\$lib)/(.+)"
)  # for a folder, by the paths of `tsconfig.json` or of a bundler

# What a file is called once it is compiled: TypeScript is imported so, where its imports have an extension.
_COMPILED = {"ts": "js", "tsx": "js", "mts": "mjs", "cts": "cjs"}


def needs(home: str, here: str) -> Iterator[str]:
    """Yield the manifests above either file, and the indexes above *home*."""
    yield from above(home, _MANIFEST)
    yield from above(here, _MANIFEST)
    for name in _INDEXES:
        yield from above(home, name)


def is_one_package(home: str, site: Site) -> bool:
    """Return whether a file and the site are in one package, and in one folder of sources, if both are in such a folder."""
    here = site.here.path
    sources, own = _sources(home), _sources(here)
    return _package(home, site) == _package(here, site) and (
        not sources or not own or sources == own
    )


def _sources(path: str) -> str:
    """Return the outermost folder `src` above *path*, "" for none."""
    before, found, _ = f"/{path}".partition(f"/{_SOURCES}/")
    return found and before + found


def _package(path: str, site: Site) -> str:
    """Return the manifest of the package that *path* is in: the nearest with a name; others only set options."""
    return next((at for at in above(path, _MANIFEST) if "name" in _read(at, site)), "")


def is_of_modules(site: Site) -> bool:
    """Return whether the runtime takes the site for a module, where nothing in it says so: extensions are needed."""
    if site.here.path.endswith((".mjs", ".mts")):
        return True
    nearest = next((at for at in above(site.here.path, _MANIFEST) if at in site.more), "")
    return bool(_read(nearest, site).get("type") == "module")


def _read(path: str, site: Site) -> dict[str, Any]:
    """Return what a manifest says; nothing where it is none."""
    file = site.more.get(path)
    try:
        said = json.loads("\n".join(file.lines)) if file else {}
    except (ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def resolve(module: str, path: str, paths: Collection[str]) -> str:
    """Return the path, without its extension, that the file *path* means by a *module*; a package's name as it is."""
    if module.startswith("."):
        return EXTENSION.sub("", normpath(f"{dirname(path) or '.'}/{module}"))
    alias = _ALIAS.fullmatch(module)
    if alias is None:
        return module
    tail = EXTENSION.sub("", alias[2])
    ends = (f"/{tail}", f"/{tail}/index")
    found = (EXTENSION.sub("", each) for each in paths if tail in each)
    same = [each for each in found if f"/{each}".endswith(ends)]
    same.sort(key=lambda each: -n_common(each.split("/"), path.split("/")))
    return same[0] if same else module


def hands_on(folder: str, module: str, name: str, site: Site) -> bool:
    """Return whether the index of a *folder* exports the *name* of a *module*."""
    folder = folder.removesuffix("/index")
    for file in filter(None, (site.more.get(f"{folder}/{each}") for each in _INDEXES)):
        text = "\n".join(file.lines)
        listed = [(each[1].split(","), each[2]) for each in _LISTED.finditer(text)]
        homes = [home for names, home in listed if name in map(_unmark, names)]
        homes += [each[1] for each in _ALL.finditer(text)]
        if module in (resolve(each, file.path, site.paths) for each in homes):
            return True
    return False


def _unmark(name: str) -> str:
    return name.strip().removeprefix("type ")


def kind(module: str) -> str:
    """Return how a module is named: by a path `.`, by an alias such as `@`, or as a package, ""."""
    alias = _ALIAS.fullmatch(module)
    return "." if module.startswith(".") else alias[1] if alias else ""


def spell(module: str, site: Site, others: Sequence[Statement]) -> str:
    """Return the *module* as the file writes it: by a path or an alias, with an extension where its others have one; "" where that is not known."""
    file = next((at for at in _files(module) if at in site.paths), "")
    if not file:
        return module
    like = _name_files(site.found) or _name_files(others)
    path = relpath(module, dirname(site.here.path) or ".")
    path = path if path.startswith(".") else f"./{path}"
    alias = next((each for each in like if kind(each) != "."), "")
    if alias and not any(each.startswith(path.partition("/")[0] + "/") for each in like):
        path = _under(alias, module, site)
    ending = _ending(file, like)
    if not path or (not like and is_of_modules(site) and not site.here.path.endswith("x")):
        return ""
    return path + ending if ending else path.removesuffix("/index")


def _files(module: str) -> Iterator[str]:
    for end in ("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"):
        yield f"{module}.{end}"
    if not module.endswith("/index"):
        yield from _files(f"{module}/index")


def _name_files(statements: Sequence[Statement]) -> list[str]:
    """Return the modules that are files of code in the workspace."""
    modules = (each.module for each in statements)
    return [each for each in modules if kind(each) and not _OTHER.search(each)]


def _under(alias: str, module: str, site: Site) -> str:
    """Return *module* below the folder that an alias stands for, "" where it is not there."""
    prefix, _, tail = alias.partition("/")
    found = resolve(alias, site.here.path, site.paths)
    found, tail = found.removesuffix("/index"), EXTENSION.sub("", tail).removesuffix("/index")
    root = found.removesuffix(tail)
    is_below = root != found and module.startswith(root)
    return f"{prefix}/{module.removeprefix(root)}" if is_below else ""


def _ending(file: str, like: Sequence[str]) -> str:
    """Return the extension that most imports alike have, as it is for *file*; "" for none."""
    counted = Counter(match[0] if (match := EXTENSION.search(each)) else "" for each in like)
    usual = counted.most_common(1)[0][0] if counted else ""
    own = file.rpartition(".")[2]
    compiled = own if usual.strip(".") in _COMPILED else _COMPILED.get(own, own)
    return usual and f".{compiled}"
