"""Where a release comes from: every action, package and tool is one that was looked at."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.tests.test_lock import pins
from tests.test_tidy import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
INSTALLS = re.compile(r"(?:pip\w*\W*|-m pip )install\b[^\n|;&]*")
# Where each file has a known hash, or comes from the release or the checkout itself.
BOUND = re.compile(
    r"--require-hashes\b.*--only-binary|--no-deps .*(?:--no-index|--no-build-isolation)"
)
RELEASING = ("scripts/tools/build-release", "scripts/tools/build-vscode", "scripts/install")


def jobs() -> dict[str, Any]:
    """Return the jobs of the release."""
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    return dict(yaml.safe_load(text)["jobs"])


@pytest.mark.promise("by-hash")
@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_an_action_is_named_by_its_commit(workflow: Path) -> None:
    """A tag or a branch may move; the version stands beside it, for a person."""
    used = re.findall(r"uses: (.+)", workflow.read_text("utf-8"))
    assert used
    for each in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each), each


@pytest.mark.promise("by-hash")
@pytest.mark.parametrize(
    "path", [*WORKFLOWS, *(ROOT / name for name in RELEASING)], ids=lambda path: path.name
)
def test_what_builds_and_publishes_is_pinned_with_hashes(path: Path) -> None:
    """Wheels only, each by its hash; else nothing but files of the release or the checkout, without an index."""
    text = path.read_text("utf-8")
    definitions = re.sub(r"(?m)^(?:pip_install\(\)|\s*#).*$", "", text)
    for line in definitions.splitlines():
        for install in INSTALLS.findall(line):
            wrapper = install.endswith('"$@" ') or '"$@" >' in line  # its callers are looked at
            assert wrapper or BOUND.search(install), line


@pytest.mark.promise("by-hash")
def test_a_job_that_may_sign_or_publish_builds_nothing() -> None:
    """What it has is downloaded from the job that built it, and no tool is installed beside the permission."""
    signing = {
        name: job for name, job in jobs().items() if "id-token" in (job.get("permissions") or {})
    }
    assert {*signing} == {"attest", "index"}
    for job in signing.values():
        for step in job["steps"]:
            assert re.fullmatch(r"(?:mkdir \w+ && mv dist/[\w* ./-]+)?", step.get("run", ""))
    assert [*jobs()] == ["build", "try", "attest", "index", "release"]
    order = [job.get("needs") for job in jobs().values()]
    assert order == [None, "build", "try", "attest", "index"]
    attested = [step.get("with", {}).get("subject-path") for step in jobs()["attest"]["steps"]]
    assert attested == [None, "dist/*"]


def test_the_extension_is_built_where_the_wheel_is() -> None:
    """By the same job, with that wheel; and npm runs no script of a package that it installs."""
    runs = [step.get("run", "") for step in jobs()["build"]["steps"]]
    assert sum("scripts/tools/build-release dist" in run for run in runs) == 1
    release = (ROOT / "scripts/tools/build-release").read_text("utf-8")
    assert 'WHEEL=$wheel sh "$root/scripts/tools/build-vscode"' in release
    assert release.rindex("sha256sum -- * >SHA256SUMS") > release.index(".vsix.cdx.json")
    assert "npm ci --ignore-scripts" in (ROOT / "scripts/tools/build-vscode").read_text("utf-8")


def test_the_list_of_what_is_brought_along_is_whole() -> None:
    """Each package of the lock file with its version and hashes, and the bundled model."""
    lock = (ROOT / "requirements.txt").read_text("utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts/tools/make-sbom")],
        input=lock,
        capture_output=True,
        text=True,
        check=True,
    )
    components = json.loads(done.stdout)["components"]
    libraries = [each for each in components if each["type"] == "library"]
    assert {(each["name"], each["version"]) for each in libraries} == {
        (name, version)
        for name, versions in pins("requirements.txt").items()
        for version in versions
    }
    hashes = [
        file["hashes"][0]["content"] for each in libraries for file in each["externalReferences"]
    ]
    assert sorted(hashes) == sorted(re.findall(r"sha256:(\w+)", lock))
    [model] = [each for each in components if each["type"] == "machine-learning-model"]
    assert model["name"].endswith(".gguf")
