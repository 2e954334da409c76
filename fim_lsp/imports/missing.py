"""
A name that was just used into the change that imports it. Pure.

`find_candidates` names what may be missing: words of finished edits that one file of the workspace defines, and no other.
Once it is known which of them are free (`context.free_names`), and what the files say, `missing_import` decides. Files
that import the name already show how; without one the place of the file that defines it does. All else is silence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fim_lsp.context.free_names import FreeName
from fim_lsp.context.grammars import ALIASES
from fim_lsp.context.index import Index, importable
from fim_lsp.imports.ecmascript import ECMASCRIPT
from fim_lsp.imports.go import GO
from fim_lsp.imports.java import JAVA
from fim_lsp.imports.python import PYTHON
from fim_lsp.imports.rust import RUST
from fim_lsp.imports.statement import ALL, File, Insertion, Language, Lines, Site, Statement

WANTED = 20  # names of one document that are looked into
SHORTEST = 3  # characters of a name: shorter ones are locals

_SCRIPTS = ("javascript", "javascriptreact", "typescript", "typescriptreact")
_LANGUAGES = {
    "python": PYTHON,
    "go": GO,
    "java": JAVA,
    "rust": RUST,
    **dict.fromkeys(_SCRIPTS, ECMASCRIPT),
}
_WORD = re.compile(r"[^\W\d][\w$]*")
_QUALIFIED = re.compile(r"\b([^\W\d]\w*)\.([A-Z]\w*)")
_TESTS = re.compile(
    r"(?:^|[/_.-])(?:tests?|specs?|__tests__|testdata|testing|fixtures|examples?|benchmarks?)(?:[/_.-]|$)"
)


class Origin(NamedTuple):
    """A *name* that may be missing, and the file *home* that defines it."""

    name: str
    home: str

    @property
    def word(self) -> str:
        """Return what an import brings: the name, or the package in front of it."""
        return self.name.partition(".")[0]


class Known(NamedTuple):
    """
    What the workspace says: the file *home* that defines a name, and *others* that may import it.

    *more* are the files that the language needs, by path, as far as they exist; *paths* are those of all files.
    """

    home: File
    others: Sequence[File]
    more: Mapping[str, File]
    paths: Collection[str]


def language_row(language: str) -> Language | None:
    """Return what is known of the imports of a language."""
    return _LANGUAGES.get(ALIASES.get(language, language))


def find_candidates(
    index: Index, here: str, language: str, came: Iterable[str], gone: Iterable[str]
) -> list[Origin]:
    """
    Return what may be missing of the names in the lines that *came* into the file *here*.

    Names in the lines that are *gone* were there before.
    """
    row = language_row(language)
    if row is None:
        return []
    names = _find_qualified if row is GO else _words
    old = {name for line in gone for name in names(line)}
    fresh = dict.fromkeys(name for line in came for name in names(line) if name not in old)
    origins = (_origin(index, here, language, name) for name in fresh if name not in row.known)
    return [each for each in origins if each][:WANTED]


def find_typed_word(before: Lines, after: Lines) -> str:
    """Return the word that an edit ends with: it may be typed on."""
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    if not after:
        return ""
    old, new = before[-1] if before else "", after[-1]
    n_same = 0
    while n_same < min(len(old), len(new)) and old[-1 - n_same] == new[-1 - n_same]:
        n_same += 1
    typed = [*_WORD.finditer(new[: len(new) - n_same])]
    return typed[-1][0] if typed and typed[-1].end() == len(new) - n_same else ""


def missing_import(
    language: str,
    here: File,
    origin: Origin,
    free: FreeName,
    known: Known,
) -> Insertion | None:
    """Return what imports *origin*, which is *free* in the text *here*; None where that is not sure."""
    row = language_row(language)
    if row is None or not row.defines(known.home, origin.name):
        return None
    site = Site(here, row.statements(here.lines), known.paths, known.more)
    if any(origin.word in each.names or ALL in each.names for each in site.found):
        return None
    own = row.module_of(known.home, site)
    texts = [(each, row.statements(each.lines)) for each in known.others if each.path != here.path]
    alike = [(file, each) for file, found in texts for each in found if origin.word in each.names]
    if not own or not all(
        row.is_of(own, row.absolute(each, file.path, known.paths), site) for file, each in alike
    ):
        return None  # not to be imported here, or another thing of that name
    like = [each for _, found in texts for each in found]
    for module in _modules(row, site, own, alike):
        if insertion := row.insert(site, module, free, like):
            return insertion
    return None


def _modules(
    row: Language, site: Site, own: str, alike: Sequence[tuple[File, Statement]]
) -> list[str]:
    """Return the modules that a name may come from: as others have it, from a module that hands it on, its *own*."""
    handed = {file.path: row.hands_on(each, file, site) for file, each in alike}
    used = Counter(
        row.absolute(each, file.path, site.paths) for file, each in alike if not handed[file.path]
    )
    if used:
        return [module for module, _ in used.most_common()]
    return [max(filter(None, handed.values()), key=len, default=own)]


def _words(line: str) -> Iterator[str]:
    return (word for word in _WORD.findall(line) if len(word) >= SHORTEST)


def _find_qualified(line: str) -> Iterator[str]:
    return (f"{package}.{name}" for package, name in _QUALIFIED.findall(line))


def _origin(index: Index, here: str, language: str, name: str) -> Origin | None:
    """Return the one file that defines *name*; a test may not be imported but by tests."""
    language = ALIASES.get(language, language)
    family = _SCRIPTS if language in _SCRIPTS else (language,)
    package, _, member = name.rpartition(".")
    homes = [each for one in family for each in importable(index, member, one)]
    if package:
        homes = [each for each in homes if f"/{each}".split("/")[-2] == package]
    if len(homes) != 1 or homes[0] == here or (_is_test(homes[0]) and not _is_test(here)):
        return None
    return Origin(name, homes[0])


def _is_test(path: str) -> bool:
    return _TESTS.search(path) is not None
