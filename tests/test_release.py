"""A release is refused where tag, version and changelog do not agree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_tidy import ROOT

CHANGELOG = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n\n### Added\n\n- A thing.\n\n## [1.2.2] - 2026-11-01\n\n- Old.\n"


def checked(tmp_path: Path, tag: str, **changed: str) -> subprocess.CompletedProcess[str]:
    """What the script of a checkout says that has these files."""
    given = {"version": "1.2.3", "extension": "1.2.3", "changelog": CHANGELOG, **changed}
    files = {
        "scripts/check-release": (ROOT / "scripts/check-release").read_text("utf-8"),
        "fim_lsp/__init__.py": f'__version__ = "{given["version"]}"\n',
        "editors/vscode/package.json": json.dumps({"version": given["extension"]}),
        "CHANGELOG.md": given["changelog"],
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    command = [sys.executable, str(tmp_path / "scripts/check-release"), tag]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_version_is_cut_everywhere_at_once(tmp_path: Path) -> None:
    """The program, both files of the extension and the changelog have it, so that the check passes; nothing else changed."""
    names = ("scripts/cut-release", "scripts/check-release", "fim_lsp/__init__.py", "CHANGELOG.md")
    extension = ("editors/vscode/package.json", "editors/vscode/package-lock.json")
    for name in (*names, *extension):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    cut = [sys.executable, str(tmp_path / "scripts/cut-release")]
    subprocess.run([*cut, "9.8.7"], check=True)
    check = [sys.executable, str(tmp_path / "scripts/check-release"), "v9.8.7"]
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
