"""
Where the editors are: unpacked Debian packages and npm packages in a cache folder.

`scripts/tools/install-editors` fills it and sets the Debian programs' loader and libraries, so that they run
on an older system; the folders they would look for under /usr are named here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fim-lsp-test"
ROOT = CACHE / "sid"
CODE, OLDEST_CODE = CACHE / "code", CACHE / "code-oldest"  # VS Code, each with its node
SERVERS = CACHE / "servers"
PAGES = CACHE / "pages"  # CodeMirror, and a Chromium for it and JupyterLab
JUPYTER = CACHE / "jupyter"
DESKTOP = CACHE / "desktop"  # Kate and an X server, in a Debian root of their own
CHROMIUM_NODE = shutil.which("node")  # drives the Chromium of `PAGES`
REPOSITORY = Path(__file__).parent.parent.parent


def program(name: str) -> Path:
    """Return a program of the Debian root."""
    return ROOT / "usr/bin" / name


def node(code: Path) -> Path:
    """Return the node that this VS Code was built for."""
    return code / "node/node_modules/node/bin/node"


def needs(*names: str) -> list[pytest.MarkDecorator]:
    """Return the marks of tests that drive these programs of the Debian root."""
    missing = [name for name in names if not program(name).exists()]
    reason = f"no {', '.join(missing)}: run scripts/tools/install-editors"
    return [pytest.mark.editors, pytest.mark.skipif(bool(missing), reason=reason)]


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return a home folder, the programs in it and on the real PATH, and nothing else of the caller's."""
    return {
        "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"), "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_RUNTIME_DIR": str(home), "XDG_STATE_HOME": str(home / ".local/state"),
        "PATH": f"{home / '.local/bin'}:{os.environ['PATH']}", "LANG": "C.UTF-8",
        "VIMRUNTIME": str(ROOT / "usr/share/nvim/runtime"),
        "HELIX_RUNTIME": str(ROOT / "usr/lib/hx/runtime"),
        "KAKOUNE_RUNTIME": str(ROOT / "usr/share/kak"), **more,
    }  # fmt: skip


def processes(words: str, ancestor: int) -> list[psutil.Process]:
    """Return the processes with *words* in their command line that *ancestor* started, or one of those."""
    found = []
    for child in psutil.Process(ancestor).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if words in " ".join(child.cmdline()):
                found.append(child)
    return found


def process(words: str, ancestor: int) -> psutil.Process:
    """Return the first of `processes`."""
    return processes(words, ancestor)[0]


def finish(process: subprocess.Popen[Any], seconds: float) -> None:
    """Wait for its end so long, then end it by force, with all that it started."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        for child in processes("", process.pid):
            child.kill()
        process.kill()
        process.wait()


def written(file: Path, since_ns: int, writer: int) -> bool:
    """
    Return whether *file* was written after *since_ns* and closed by *writer* and the processes it started.

    An editor that empties the file before it writes has it open meanwhile; one that moves the old file away (Helix) has
    none there for a moment.
    """
    try:
        if file.stat().st_mtime_ns <= since_ns:
            return False
    except FileNotFoundError:
        return False
    process = psutil.Process(writer)
    return not any(_has_open(each, file) for each in (process, *process.children(recursive=True)))


def _has_open(process: psutil.Process, file: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        return any(each.path == str(file.resolve()) for each in process.open_files())
    return False
