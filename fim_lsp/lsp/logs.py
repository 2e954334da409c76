"""
Where the log goes: stderr, which editors keep, or a file. Never stdout, which belongs to LSP.

Ours says what `fim.log.level` asks for; libraries only warn: pygls would log every message with the
user's text in it.
"""

from __future__ import annotations

import logging
from pathlib import Path

from fim_lsp.config import LogConfig

_OURS = ("fim_lsp", "server_bridge")


def log_to(config: LogConfig) -> str | None:
    """Log as *config* says from now on; returns what is wrong with its file, if anything."""
    handler: logging.Handler = logging.StreamHandler()
    problem = None
    if config.file:
        try:
            handler = logging.FileHandler(Path(config.file).expanduser(), encoding="utf-8")
        except OSError as error:
            problem = f"fim.log.file cannot be written: {error}"
    logging.basicConfig(
        handlers=[handler],
        level=logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        force=True,
    )
    for name in _OURS:
        logging.getLogger(name).setLevel(config.level.upper())
    return problem
