r"""
A package's statement of its licence, into: may this file be trained on? Pure.

Wheels say it in METADATA, npm packages in package.json, Debian source packages per file in
debian/copyright (DEP-5, "machine-readable"). A package without such a statement is left out,
and so are files under a licence we do not know.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable

# MIT, BSD (without the advertising clause), Apache-2.0, PSF, ISC, Zlib and Unlicense, as SPDX, trove
# classifiers, Debian and people spell them, without the words that say nothing; Debian calls the
# BSD-3-Clause text of Go's own repository "Go"
_SPELLINGS = (
    "mit|mit 0|expat|expat with embedded exception|x11|mit x11|mit expat|0bsd|bsd|bsd 2|bsd 3"
    "|bsd 3 google|go|apache|apache 2|apache 2 0|asl 2 0|apache 2 0 with llvm exception"
    "|apache 2 0 with llvm exceptions|apache 2 llvm exceptions|psf|psf 2|psf 2 0|python|python 2 0"
    "|isc|isc iscl|zlib|zlib libpng|unlicense"
)
_SILENT = "the license licence software version foundation clause new modified simplified"
_ALLOWED = frozenset(_SPELLINGS.split("|"))
_NOISE = frozenset(_SILENT.split())

Licence = Callable[[str], str]  # a file's path within its package into its licence


def allowed(expression: str) -> bool:
    """Return whether *expression* ("MIT OR GPL-2.0", "Apache-2.0 and Expat") leaves us a way to use it."""
    choices = re.split(r"(?i)\s+or\s+|\|", expression)
    return any(all(map(_known, re.split(r"(?i)\s+and\s+|[;&]", part))) for part in choices)


def of_wheel(metadata: str) -> str:
    """Return the licence a wheel's METADATA states, "" for none."""
    head = metadata.split("\n\n", maxsplit=1)[0]
    if line := re.search(r"(?m)^License-Expression: *(.+)$", head):
        return line[1].strip()
    classes = re.findall(r"(?m)^Classifier: License :: OSI Approved :: (.+)$", head)
    line = re.search(r"(?m)^License: *(.{1,60})$", head)
    return " AND ".join(map(str.strip, classes)) or (line[1].strip() if line else "")


def of_npm(package_json: str) -> str:
    """Return the licence a package.json states, "" for none."""
    stated = json.loads(package_json).get("license", "")
    return str(stated.get("type", "") if isinstance(stated, dict) else stated)


def of_debian(copyright_file: str) -> Licence | None:
    """
    Return the licence of each source file by a debian/copyright; None where it is not machine-readable.

    The last paragraph whose patterns match a path counts (DEP-5, "Files field").
    """
    rules = [
        (re.compile("|".join(map(_as_regex, patterns.split()))), licence)
        for patterns, licence in _paragraphs(copyright_file)
    ]

    @functools.cache
    def licence(path: str) -> str:
        return next((licence for files, licence in reversed(rules) if files.fullmatch(path)), "")

    return licence if rules else None


def _paragraphs(copyright_file: str) -> list[tuple[str, str]]:
    """Patterns and the short name of their licence, by paragraph; none unless it is machine-readable."""
    first, *others = re.split(r"\n\s*\n", copyright_file)
    if not first.startswith("Format:"):
        return []
    fields = (dict(re.findall(r"(?m)^(Files|License):((?:.*)(?:\n[ \t].*)*)", p)) for p in others)
    return [
        (part["Files"].strip(), part["License"].split("\n")[0].strip())
        for part in fields
        if part.keys() == {"Files", "License"}
    ]


def _known(name: str) -> bool:
    words = re.sub(r"[^a-z0-9+]+", " ", name.lower()).split()
    return " ".join(word for word in dict.fromkeys(words) if word not in _NOISE) in _ALLOWED


def _as_regex(pattern: str) -> str:
    """DEP-5's patterns: `*` and `?` match slashes, too."""
    return re.escape(pattern.removeprefix("./")).replace(r"\*", ".*").replace(r"\?", ".")
