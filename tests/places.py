"""Empty folders that are there: of a file whose folder is not, nothing is shown."""

from __future__ import annotations

import getpass
import tempfile
from pathlib import Path

_ALL = Path(tempfile.gettempdir(), f"fim-lsp-tests-{getpass.getuser()}")


def place(*names: str) -> str:
    """Return the URI of a folder with this path, which no test writes to."""
    folder = _ALL.joinpath(*names)
    folder.mkdir(parents=True, exist_ok=True)
    return folder.as_uri()


SHOP = place("shop")
