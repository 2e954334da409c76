"""A release is refused where tag, version and changelog do not agree; version and address are written by scripts."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.test_tidy import ROOT, files_of_git

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n### Added\n\n- A thing.\n\n## [1.2.2] - 2026-11-01\n\n- Old.\n"


ADDRESS = "https://example.org/fim/fim-lsp"
URLS = f'\n[project.urls]\nRepository = "{ADDRESS}"\n'
MANIFEST = "editors/vscode/package.json"


def checked(tmp_path: Path, tag: str, **changed: str) -> subprocess.CompletedProcess[str]:
    """Return what the script of a checkout says that has these files."""
    given = {
        "version": "1.2.3",
        "extension": "1.2.3",
        "changelog": CHANGELOG,
        "urls": URLS,
        **changed,
    }
    files = {
        "scripts/tools/check-release": (ROOT / "scripts/tools/check-release").read_text("utf-8"),
        "pyproject.toml": given["urls"],
        "fim_lsp/__init__.py": f'__version__ = "{given["version"]}"\n',
        "editors/vscode/package.json": json.dumps({"version": given["extension"]}),
        "CHANGELOG.md": given["changelog"],
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    command = [sys.executable, str(tmp_path / "scripts/tools/check-release"), tag]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_version_is_cut_everywhere_at_once(tmp_path: Path) -> None:
    """The program, both files of the extension and the changelog have it, so that the check passes; nothing else changed."""
    names = (
        "scripts/tools/cut-release",
        "scripts/tools/check-release",
        "fim_lsp/__init__.py",
        "CHANGELOG.md",
    )
    extension = ("editors/vscode/package.json", "editors/vscode/package-lock.json")
    for name in (*names, *extension):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    cut = [sys.executable, str(tmp_path / "scripts/tools/cut-release")]
    subprocess.run([*cut, "9.8.7"], check=True)
    (tmp_path / "pyproject.toml").write_text(URLS, "utf-8")
    check = [sys.executable, str(tmp_path / "scripts/tools/check-release"), "v9.8.7"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for name in extension:
        before, after = ((root / name).read_text("utf-8") for root in (ROOT, tmp_path))
        differing = [
            b for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b
        ]
        assert len(differing) == (1 if name.endswith("package.json") else 2)
        assert all(re.fullmatch(r' +"version": "9.8.7",', line) for line in differing)
    again = subprocess.run([*cut, "9.8.7"], capture_output=True, text=True, check=False)
    assert (again.returncode, "has a section" in again.stderr) == (1, True)


def test_a_release_that_agrees_gets_its_notes(tmp_path: Path) -> None:
    """The changelog's section is the release's text."""
    done = checked(tmp_path, "v1.2.3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "### Added\n\n- A thing.\n", "")


@pytest.mark.parametrize(
    ("tag", "changed", "says"),
    [
        ("1.2.3", {}, "is no tag of a release"),
        ("v1.2.3-rc1", {}, "is no tag of a release"),
        ("v1.2.4", {}, "fim_lsp/__init__.py says 1.2.3, the tag 1.2.4"),
        ("v1.2.3", {"extension": "1.2.2"}, "the extension says 1.2.2"),
        ("v1.2.3", {"urls": ""}, "no [project.urls]"),
        ("v1.2.3", {"changelog": CHANGELOG.replace(" - 2026-12-01", "")}, "no section"),
        (
            "v1.2.3",
            {"changelog": CHANGELOG.replace("### Added\n\n- A thing.\n\n", "")},
            "no section",
        ),
        (
            "v1.2.3",
            {"changelog": CHANGELOG.replace("ed]\n", "ed]\n\n- A new thing.\n")},
            "not released",
        ),
    ],
)
def test_a_release_that_does_not_agree_is_refused(
    tmp_path: Path, tag: str, changed: dict[str, str], says: str
) -> None:
    """With what is in the way, and no notes."""
    done = checked(tmp_path, tag, **changed)
    assert (done.returncode, done.stdout) == (1, "")
    assert says in done.stderr


def address(root: Path) -> str:
    """Return the source of the project's address, or what stands for it until there is one."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return str(project.get("urls", {}).get("Repository", "ADDRESS"))


def repeated(root: Path) -> dict[str, str | None]:
    """Return the address where it is repeated, as a user or an editor reads it."""
    readme = (root / "README.md").read_text("utf-8")
    clone = re.search(r"^(?:git clone (\S+) fim-lsp && )?cd fim-lsp\b", readme, re.MULTILINE)
    lazy = re.search(
        r"url = '(.*)', -- that of", (root / "docs/editors/neovim.md").read_text("utf-8")
    )
    manifest = json.loads((root / MANIFEST).read_text("utf-8"))
    url = manifest.get("repository", {}).get("url", "ADDRESS").removesuffix(".git")
    bugs = manifest.get("bugs", {}).get("url", "ADDRESS").removesuffix("/issues")
    return {
        "clone": clone and (clone[1] or "ADDRESS"),
        "lazy": lazy and lazy[1],
        "url": url,
        "bugs": bugs,
    }


def test_the_address_is_the_same_everywhere() -> None:
    """`[project.urls]` is the source; `scripts/tools/set-address` writes the rest."""
    assert {*repeated(ROOT).values()} == {address(ROOT)}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return the files of this repository that could name its address, and the script that writes it."""
    for name in (*files_of_git(), "scripts/tools/set-address"):
        if name.endswith((".md", ".toml")) or name in (MANIFEST, "scripts/tools/set-address"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    return tmp_path


def set_address(root: Path, new: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "scripts/tools/set-address"), new]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_address_is_set_everywhere_at_once(copy: Path) -> None:
    """In the source and wherever it is repeated, again after a move; no page has a place for it left."""
    for new in ("https://example.org/somewhere/else", ADDRESS):
        done = set_address(copy, f"{new}/")
        assert (done.returncode, done.stderr) == (0, "")
        assert {address(copy), *repeated(copy).values()} == {new}
        assert not [path for path in copy.rglob("*.md") if "ADDRESS" in path.read_text("utf-8")]
    section = r"\[project\.urls\]\n(.+\n)*\n"
    before, after = ((root / "pyproject.toml").read_text("utf-8") for root in (ROOT, copy))
    assert re.sub(section, "", before) == re.sub(section, "", after, count=1)


@pytest.mark.parametrize("new", ["", "example.org/a/b", "http://example.org/a/b", 'https://a/"b'])
def test_an_address_that_is_none_is_refused(copy: Path, new: str) -> None:
    """With an example of one, before a file is written."""
    done = set_address(copy, new)
    assert done.returncode == 1
    assert "https://example.org/owner/name is" in done.stderr
    assert address(copy) == address(ROOT)
    assert repeated(copy) == repeated(ROOT)


def test_a_page_without_a_place_for_the_address_is_an_error(copy: Path) -> None:
    """The script names it, and writes none of the others."""
    page = copy / "docs/editors/neovim.md"
    page.write_text(page.read_text("utf-8").replace("url = ", "dir = "), "utf-8")
    done = set_address(copy, ADDRESS)
    assert (done.returncode, "neovim.md has 0 places" in done.stderr) == (1, True)
    assert address(copy) == address(ROOT)
