"""Archives of each registry into files, and the list of names itself."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from training import sources

CODE = "def f():\r\n    return 1\r\n"
COPYRIGHT = "Format: 1.0\n\nFiles: *\nCopyright: 1\nLicense: Expat\n\nFiles: gpl/*\nCopyright: 1\nLicense: GPL-2\n"


def wheel(folder: Path) -> None:
    with zipfile.ZipFile(folder / "thing-1.2-py3-none-any.whl", "w") as archive:
        archive.writestr("thing/a.py", CODE)
        archive.writestr("thing/data.bin", "x")
        archive.writestr("thing/latin.py", b"# \xe9\n")
        archive.writestr("thing-1.2.dist-info/METADATA", "License-Expression: MIT\n\n")


def tarred(path: Path, files: dict[str, str]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))


def npm(folder: Path) -> None:
    package = '{"license": "MIT", "version": "1.2"}'
    tarred(folder / "thing-1.2.tgz", {"package/thing/a.py": CODE, "package/package.json": package})


def debian(folder: Path) -> None:
    (folder / "thing_1.2.dsc").write_text("Source: thing\nVersion: 1.2\n")
    code = {"thing-1/thing/a.py": CODE, "thing-1/gpl/b.py": CODE}
    tarred(folder / "thing_1.2.orig.tar.gz", code)
    tarred(folder / "thing_1.2.debian.tar.gz", {"debian/copyright": COPYRIGHT, "debian/c.py": CODE})


@pytest.mark.parametrize(("registry", "pack"), [("pip", wheel), ("npm", npm), ("apt", debian)])
def test_an_archive_has_a_version_and_source_files_we_may_use(registry, pack, tmp_path) -> None:
    """Paths within the package, line ends of one kind, nothing that is no UTF-8 or under another licence."""
    home = sources.home(tmp_path, f"{registry}:thing")
    home.mkdir(parents=True)
    pack(home)
    package = sources.opened(tmp_path, f"{registry}:thing")
    assert package.version == "1.2"
    licence = "Expat" if registry == "apt" else "MIT"
    assert list(package.files()) == [
        sources.File("thing/a.py", "python", licence, "def f():\n    return 1\n")
    ]


def test_what_is_held_out_is_not_trained_on() -> None:
    """Four packages of Python and two of every other language, none of them among the others."""
    train, held_out = sources.named()
    assert len(set(train)) == len(train)
    assert {len(specs) for specs in held_out.values()} == {2, 4}
    names = {
        spec.partition(":")[2].partition("==")[0] for specs in held_out.values() for spec in specs
    }
    assert names.isdisjoint(spec.partition(":")[2] for spec in train)
