"""Which licences count, and how packages state them."""

from __future__ import annotations

import pytest

from training import licences

ALLOWED = """
MIT | Expat | X11 | MIT License | The MIT License | The MIT License (MIT) | BSD | BSD-3-Clause | BSD-2-clause | BSD License
BSD 3-Clause License | BSD-3-google | New BSD License | 0BSD | Apache-2.0 | Apache 2.0 | Apache License 2.0 | Apache Software License
Apache License, Version 2.0 | Apache-2.0 with LLVM exception | APACHE-2-LLVM-EXCEPTIONS | Python Software Foundation License | PSF-2.0 | ISC
ISC License (ISCL) | Zlib | zlib/libpng | Unlicense | The Unlicense (Unlicense) | MIT OR GPL-2.0-only | Expat or Apache-2.0
Apache-2.0 AND MIT | (MIT OR Apache-2.0) | MIT-0 | BSD-3-clause and Expat
"""
REFUSED = """
GPL-2+ | LGPL-2.1 | MPL-2.0 | AGPL-3.0 | Proprietary | BSD-4-clause | Apache-2.0 AND GPL-3.0 | public-domain | CC-BY-4.0
SEE LICENSE IN LICENSE.md | UNLICENSED | GPL-3+ with GCC exception | Artistic | permissive | custom-mit
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: thing

Files: *
Copyright: 2020 An Author
License: Expat

Files: vendor/*
       src/one?.c
Copyright: 2021 Another Author
License: GPL-2+
 The text.

License: Expat
 The text.
"""


def listed(text: str) -> list[str]:
    return [cell.strip() for line in text.strip().split("\n") for cell in line.split("|")]


@pytest.mark.parametrize("licence", listed(ALLOWED))
def test_permissive_licences_count_however_they_are_spelled(licence: str) -> None:
    """MIT, BSD, Apache, PSF, ISC, Zlib and the Unlicense, and one of them among alternatives."""
    assert licences.allowed(licence)


@pytest.mark.parametrize("licence", ["", *listed(REFUSED)])
def test_all_others_do_not(licence: str) -> None:
    """Copyleft, unknown and missing licences, and a permissive one that comes with another."""
    assert not licences.allowed(licence)


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("Name: a\nLicense-Expression: MIT OR Apache-2.0\nLicense: x\n\nText", "MIT OR Apache-2.0"),
        ("Classifier: License :: OSI Approved :: MIT License\nLicense: see file", "MIT License"),
        ("License: BSD\n\nLicense: GPL", "BSD"),
        ("Name: a", ""),
    ],
)
def test_a_wheel_says_it_in_its_metadata(metadata: str, licence: str) -> None:
    """The expression counts before classifiers, those before free text, the description never."""
    assert licences.of_wheel(metadata) == licence


@pytest.mark.parametrize(
    ("package", "licence"),
    [('{"license": "MIT"}', "MIT"), ('{"license": {"type": "ISC"}}', "ISC"), ("{}", "")],
)
def test_an_npm_package_says_it_in_its_package_json(package: str, licence: str) -> None:
    """Today's field and the older one."""
    assert licences.of_npm(package) == licence


@pytest.mark.parametrize(
    ("path", "licence"),
    [
        ("src/a.c", "Expat"),
        ("vendor/x/y.c", "GPL-2+"),
        ("src/one1.c", "GPL-2+"),
        ("src/one.c", "Expat"),
    ],
)
def test_debian_says_it_per_file(path: str, licence: str) -> None:
    """The last paragraph that matches counts, and a star matches slashes."""
    licence_of = licences.of_debian(COPYRIGHT)
    assert licence_of is not None
    assert licence_of(path) == licence


def test_installed_files_are_under_all_of_them() -> None:
    """A .deb does not say which file came from where; its packaging is not in it."""
    packaging = "\nFiles: debian/*\nCopyright: 2020\nLicense: GPL-3\n"
    assert licences.of_all(COPYRIGHT + packaging) == "Expat AND GPL-2+"


def test_prose_is_no_statement() -> None:
    """A copyright file that no program can read leaves its package out."""
    assert licences.of_debian("This package was debianized by an author.\n\nIt is free.") is None
