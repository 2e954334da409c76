"""
Where the editors are: unpacked Debian packages and npm packages in a cache folder.

`scripts/install-editors` fills it and bends the Debian programs to their own loader and libraries,
so they run beside an older system; the folders they would look for under /usr are named here.
"""

from __future__ import annotations

import os
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fim-lsp-test"
ROOT = CACHE / "sid"
VSCODE = CACHE / "vscode"
REPOSITORY = Path(__file__).parent.parent.parent


def program(name: str) -> Path:
    """A program of the Debian root."""
    return ROOT / "usr/bin" / name


def environment(home: Path, **more: str) -> dict[str, str]:
    """An empty home folder, the real PATH, and nothing else of the caller's."""
    return {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_RUNTIME_DIR": str(home),
        "XDG_STATE_HOME": str(home / ".local/state"),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "VIMRUNTIME": str(ROOT / "usr/share/nvim/runtime"),
        "HELIX_RUNTIME": str(ROOT / "usr/lib/hx/runtime"),
        "KAKOUNE_RUNTIME": str(ROOT / "usr/share/kak"),
        **more,
    }
