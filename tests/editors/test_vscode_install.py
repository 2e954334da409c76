"""The extension's installer in a cloned repository: the real sources in Node, the real Python and pip."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.editors.extension import CAN_RUN, make_wheel, run
from tests.editors.programs import REPOSITORY

pytestmark = [
    pytest.mark.editors,
    pytest.mark.skipif(not CAN_RUN, reason="no node, or run scripts/tools/build-vscode first"),
    pytest.mark.skipif(sys.platform == "win32", reason="scripts with a mode"),
    pytest.mark.promise("no-code-of-a-repository-runs"),
]

INSTALL = """
import { installServer, ownProgram } from "./install";
const folder = process.env.FOLDER;
const context = {
  extensionPath: `${folder}/extension`,
  extension: { packageJSON: { version: "0" } },
  globalStorageUri: { fsPath: `${folder}/storage` },
};
await installServer(context);
console.log(ownProgram(context));
"""
# What `-m`, an import of theirs, or a relative folder of the PATH would take from the current folder.
MODULES = ("venv", "pip", "ensurepip", "sitecustomize", "argparse", "logging")
PROGRAMS = ("python3", "python", "py")


def hostile(repository: Path) -> Path:
    """Return a cloned repository with modules and programs that leave the file `ran` when they run."""
    repository.mkdir()
    for name in MODULES:
        (repository / f"{name}.py").write_text(f"open({str(repository / 'ran')!r}, 'w').close()\n")
    for name in PROGRAMS:
        (repository / name).write_text(f"#!/bin/sh\ntouch '{repository}/ran'\n")
        (repository / name).chmod(0o755)
    return repository


def environment(folder: Path, path: str) -> dict[str, str]:
    return {"FOLDER": str(folder), "PATH": os.pathsep.join((path, os.environ["PATH"]))}


def test_nothing_of_a_repository_is_run(tmp_path: Path) -> None:
    """The server is installed from a repository's folder, whose modules and programs do not run."""
    repository = hostile(tmp_path / "repository")
    make_wheel(tmp_path / "extension/server")
    (tmp_path / "extension/dist").mkdir()
    path = os.pathsep.join(("/nowhere", ".", "./", ""))
    shown = run(INSTALL, repository, tmp_path, **environment(tmp_path, path)).splitlines()
    assert len(shown) == 1  # no error
    assert (tmp_path / "extension/dist/program").read_text() == shown[0]  # for the uninstallation
    assert not (repository / "ran").exists()
    assert subprocess.check_output([shown[0]], text=True) == "the server\n"


FIND = """
import { findServer } from "./server";
const { FOLDER: folder } = process.env;
const context = { extension: { packageJSON: { version: "0" } }, globalStorageUri: { fsPath: `${folder}/storage` } };
console.log(await findServer(context));
"""


def test_a_program_of_the_repository_is_no_server(tmp_path: Path) -> None:
    """Neither by a relative folder of the PATH, nor by a relative path in the settings."""
    repository = hostile(tmp_path / "repository")
    for name in ("fim-lsp", "bin/fim-lsp"):
        (repository / name).parent.mkdir(exist_ok=True)
        (repository / name).write_text("#!/bin/sh\n")
        (repository / name).chmod(0o755)
    for path in (".", "./bin", "bin", ""):
        env = {"FOLDER": str(tmp_path), "HOME": str(tmp_path), "PATH": path}
        for chosen in ("", "./fim-lsp", "bin/fim-lsp"):
            assert run(FIND, repository, tmp_path, FIM_SERVER_PATH=chosen, **env) == "undefined\n"
    env["PATH"] = os.pathsep.join((".", str(repository / "bin")))  # which the user has chosen
    assert run(FIND, repository, tmp_path, **env) == f"{repository}/bin/fim-lsp\n"


def test_the_program_is_looked_for_where_the_page_says(tmp_path: Path) -> None:
    """In the settings, on the PATH, in ~/.local/bin, in this order; where it is not, that is said."""
    page = (REPOSITORY / "docs/editors/vscode.md").read_text("utf-8")
    said = "named in the settings, nor on the `PATH`, nor in `~/.local/bin`, the extension installs"
    assert f"If `fim-lsp` is neither {said} its own" in page
    programs = [tmp_path / name / "fim-lsp" for name in ("chosen", "bin", ".local/bin")]
    for program in programs:
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    env = {"FOLDER": str(tmp_path), "HOME": str(tmp_path), "PATH": str(programs[1].parent)}
    chosen = str(programs[0])
    for program in programs:
        assert run(FIND, tmp_path, tmp_path, FIM_SERVER_PATH=chosen, **env) == f"{program}\n"
        program.unlink()
        chosen = ""
    assert run(FIND, tmp_path, tmp_path, FIM_SERVER_PATH="", **env) == "undefined\n"
    shown = run(OFFER, tmp_path, tmp_path, FIM_SERVER_PATH="", **env)
    assert "was not found on the PATH or in ~/.local/bin" in shown


OFFER = """
import { offerInstallation } from "./server";
await offerInstallation({ extensionPath: `${process.env.FOLDER}/extension` });
"""


@pytest.mark.parametrize(
    ("trusted", "chosen", "ways"),
    [
        ("no", "", ["Manage Workspace Trust"]),
        ("yes", "", ["Install It", "Set Its Path"]),
        ("no", "/nowhere/fim-lsp", ["Clear the Setting", "Set Its Path"]),
    ],
)
def test_a_missing_server_is_told_with_what_is_to_be_done_first(
    trusted: str, chosen: str, ways: list[str], tmp_path: Path
) -> None:
    """Before an installation, trust: *Install It* would say only that it may not."""
    make_wheel(tmp_path / "extension/server")
    env = {"FIM_TRUSTED": trusted, "FIM_SERVER_PATH": chosen, "FOLDER": str(tmp_path)}
    shown = run(OFFER, tmp_path, tmp_path, **env).strip()
    assert shown.endswith(". " + " ".join(ways))


def test_nothing_is_installed_in_a_workspace_that_is_not_trusted(tmp_path: Path) -> None:
    """The user reads why, and is shown the way."""
    make_wheel(tmp_path / "extension/server")
    env = environment(tmp_path, "/nowhere")
    shown = run(INSTALL, tmp_path, tmp_path, FIM_TRUSTED="no", **env)
    assert "not trusted" in shown
    assert "Manage Workspace Trust" in shown
    assert not (tmp_path / "storage").exists()
