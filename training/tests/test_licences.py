"""Which licences count, and how packages state them."""

from __future__ import annotations

import pytest

from training import licences

ALLOWED = """
MIT | Expat | The MIT License (MIT) | MIT-0 | BSD License | BSD 3-Clause License | BSD-3-google | 0BSD | Apache 2.0
Apache License, Version 2.0 | APACHE-2-LLVM-EXCEPTIONS | Python Software Foundation License | PSF-2.0 | ISC License (ISCL)
zlib/libpng | The Unlicense (Unlicense) | MIT OR GPL-2.0-only | Expat or Apache-2.0 | (MIT OR Apache-2.0) | BSD-3-clause and Expat
"""
REFUSED = """
GPL-2+ | LGPL-2.1 | MPL-2.0 | Proprietary | BSD-4-clause | Apache-2.0 AND GPL-3.0 | public-domain | CC-BY-4.0 | custom-mit
SEE LICENSE IN LICENSE.md | UNLICENSED | GPL-3+ with GCC exception | permissive
"""
COPYRIGHT = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: 2020 An Author
License: Expat

Files: vendor/*
       src/one?.c
Copyright: 2021 Another Author
License: GPL-2+
 The text.
"""


def listed(text: str) -> list[str]:
    return [cell.strip() for line in text.strip().split("\n") for cell in line.split("|")]


def test_permissive_licences_count_however_they_are_spelled() -> None:
    """Also one of them among alternatives; copyleft, unknown and missing licences do not."""
    assert [name for name in listed(ALLOWED) if not licences.allowed(name)] == []
    assert [name for name in ["", *listed(REFUSED)] if licences.allowed(name)] == []


@pytest.mark.parametrize(
    ("read", "statement", "licence"),
    [
        (licences.of_wheel, "License-Expression: MIT OR ISC\nLicense: x\n\nText", "MIT OR ISC"),
        (licences.of_wheel, "Classifier: License :: OSI Approved :: MIT License\nLicense: x", "MIT License"),
        (licences.of_wheel, "License: BSD\n\nLicense: GPL", "BSD"),
        (licences.of_wheel, "Name: a", ""),
        (licences.of_npm, '{"license": "MIT"}', "MIT"),
        (licences.of_npm, '{"license": {"type": "ISC"}}', "ISC"),
        (licences.of_npm, "{}", ""),
    ],
)  # fmt: skip
def test_a_package_states_its_licence(read, statement: str, licence: str) -> None:
    """In a wheel an expression counts before classifiers, those before free text, the description never."""
    assert read(statement) == licence


def test_debian_says_it_per_file() -> None:
    """The last paragraph that matches counts, and a star matches slashes."""
    licence_of = licences.of_debian(COPYRIGHT)
    assert licence_of is not None
    files = ("src/a.c", "vendor/x/y.c", "src/one1.c", "src/one.c")
    assert [licence_of(path) for path in files] == ["Expat", "GPL-2+", "GPL-2+", "Expat"]


def test_prose_is_no_statement() -> None:
    """A copyright file that no program can read leaves its package out."""
    assert licences.of_debian("This package was debianized by an author.\n\nIt is free.") is None
