"""
Parts of the VS Code extension in Node, without a window: bundled with the stub of VS Code's
interface.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from functools import cache
from pathlib import Path

from tests.editors import programs

FOLDER = programs.REPOSITORY / "editors/vscode"
ESBUILD = FOLDER / "node_modules/.bin/esbuild"
CAN_RUN = ESBUILD.exists() and shutil.which("node") is not None


def run(script: str, cwd: Path, into: Path, **environment: str) -> str:
    """Return what *script*, a module beside the extension's sources, prints in the folder *cwd*."""
    program = into / "script.mjs"
    program.write_bytes(bundle(script))
    env = {**os.environ, **environment}
    node = shutil.which("node")
    assert node is not None
    done = subprocess.run(
        [node, program], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def bundle(script: str) -> bytes:
    """Return *script*, a module beside the extension's sources, with all that it imports."""
    stub = Path(__file__).with_name("vscode_stub.mjs")
    command = ["--bundle", "--platform=node", "--format=esm", "--log-level=warning"]
    aliases = [f"--alias:{name}={stub}" for name in ("vscode", "vscode-languageclient/node")]
    return subprocess.check_output(
        [ESBUILD, *command, *aliases], cwd=FOLDER / "src", input=script.encode()
    )


def make_wheel(folder: Path) -> None:
    """A wheel of a server with nothing but its program, which pip can install without a network."""
    folder.mkdir(parents=True)
    info = "fim_lsp-0.dist-info"
    with zipfile.ZipFile(folder / "fim_lsp-0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("fim_lsp.py", "def main():\n    print('the server')\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: fim-lsp\nVersion: 0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\nfim-lsp = fim_lsp:main\n")
        wheel.writestr(f"{info}/RECORD", "")
    (folder / "requirements.txt").write_text("# it needs nothing else\n")
