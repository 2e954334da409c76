"""What is published: packages filled for a release, checked by their own checkers; and no promise before it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fim_lsp import __version__
from tests.test_tidy import ROOT, files_of_git

ADDRESS = "https://example.org/fim-lsp"
CHECKERS = {
    "nvim-lspconfig/fim_lsp.lua": [["luac", "-p"], ["luac5.4", "-p"]],
    "homebrew/fim-lsp.rb": [["ruby", "-c"]],
    "aur/PKGBUILD": [
        ["bash", "-n"],
        [str(Path(sys.executable).with_name("shellcheck")), "-s", "bash", "-e", "SC2034,SC2154"],
    ],
    "docker/Dockerfile": [["hadolint"]],
    "nix/flake.nix": [["nix-instantiate", "--parse"]],
}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the packages, filled for this version."""
    folder = tmp_path_factory.mktemp("packages")
    sdist = folder / f"fim_lsp-{__version__}.tar.gz"
    sdist.write_bytes(b"an sdist")
    make = [
        sys.executable,
        str(ROOT / "scripts/tools/make-packages"),
        ADDRESS,
        str(folder),
        str(folder),
    ]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    return folder


def test_no_gap_is_left(packages: Path) -> None:
    """Every file of packaging/ is filled, with this version and the sdist's sum."""
    for source in (ROOT / "packaging").glob("*/*"):
        text = (packages / source.relative_to(ROOT / "packaging")).read_text("utf-8")
        assert "{{" not in text
    formula = (packages / "homebrew/fim-lsp.rb").read_text("utf-8")
    assert f"{ADDRESS}/releases/download/v{__version__}/fim_lsp-{__version__}.tar.gz" in formula


@pytest.mark.parametrize(
    ("name", "command"), [(name, each) for name, all_ in CHECKERS.items() for each in all_]
)
def test_its_own_checker_takes_it(packages: Path, name: str, command: list[str]) -> None:
    """Where the checker is here."""
    if not shutil.which(command[0]):
        pytest.skip(f"needs {command[0]}")
    done = subprocess.run(
        [*command, str(packages / name)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_arch_package_says_what_it_is(packages: Path) -> None:
    """Name, version and sum, as bash reads them."""
    command = ["bash", "-c", '. ./PKGBUILD; echo "$pkgname $pkgver ${#sha256sums}"']
    done = subprocess.run(command, cwd=packages / "aur", capture_output=True, text=True, check=True)
    assert done.stdout == f"fim-lsp {__version__} 64\n"


# An installation by name is advised nowhere before the name is ours: another owner could take it.
BY_NAME = re.compile(
    r"\b(pipx?|uv|brew|yay|paru|nix profile)( tool| pip)? (install|add|-S)( -\S+)* fim-lsp\b"
    r"|\buvx (--from )?fim-lsp\b|\bMasonInstall fim-lsp\b|\bext install fim-lsp"
)
# They say what is to be done once it is ours, or that it is not.
AFTER = ("packaging/", "scripts/tests/test_packages.py", ".github/workflows/")


def test_no_installation_is_named_that_does_not_exist() -> None:
    """Docs, messages and code name an installation from a checkout only."""
    found = [
        f"{name}:{number}: {line.strip()}"
        for name in files_of_git()
        if not name.startswith(AFTER) and (ROOT / name).exists()
        for number, line in enumerate((ROOT / name).read_text("utf-8").splitlines(), 1)
        if BY_NAME.search(line)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "is_named"),
    [
        ("pipx install fim-lsp", True),
        ("pip install --force-reinstall fim-lsp", True),
        ("uvx fim-lsp demo", True),
        ("uv tool install fim-lsp", True),
        ("brew install llama.cpp", False),
        ("pipx install .", False),
        ("uv tool install .  # then fim-lsp is on your PATH", False),
    ],
)
def test_what_counts_as_naming_one(line: str, is_named: bool) -> None:
    """The package's own name, as what is to be installed."""
    assert bool(BY_NAME.search(line)) == is_named
