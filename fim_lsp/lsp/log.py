"""
The log: to stderr, which editors keep, or to a file; never to stdout, which belongs to LSP.

Ours says what `fim.log.level` asks for; libraries only warn, and pygls says nothing: it would log
messages with the user's text in them. A record is one line, whatever names and errors are in it,
and a file is only appended to if it is a log of ours: a setting must not write into other files.
A log that is too long loses its older half.
"""

from __future__ import annotations

import logging
import os
import stat
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from fim_lsp.display import escape
from fim_lsp.settings.config import LogConfig

MOST_BYTES = 10_000_000  # of a file
MOST_CHARS = 2000  # of a record: foreign text in it may have any length
_FIRST_LINE = b"# log of fim-lsp\n"
_OURS = ("fim_lsp", "server_bridge")
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLine(logging.Formatter):
    """A record on one line; of an exception, lines that begin like no other."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """Return the record without its exception."""
        return escape(super().formatMessage(record)[:MOST_CHARS])

    def formatException(self, ei: Any) -> str:  # noqa: N802 (logging's name)
        """Return the traceback."""
        lines = super().formatException(ei).split("\n")
        return "\n".join("  | " + escape(line[:MOST_CHARS]) for line in lines)


class OwnFile(logging.FileHandler):
    """
    A log file, new or one of ours, for its owner's eyes only; raises OSError, and ValueError for
    one that is no log of ours.
    """

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no links, no waiting
        file = os.open(path, flags, 0o600)
        try:
            _make_log(file, path)
            return os.fdopen(file, "a", encoding="utf-8")
        except BaseException:
            os.close(file)
            raise

    def emit(self, record: logging.LogRecord) -> None:
        """Append *record*."""
        with suppress(OSError):
            if self.stream and os.fstat(file := self.stream.fileno()).st_size > MOST_BYTES:
                os.lseek(file, -MOST_BYTES // 2, os.SEEK_END)
                kept = os.read(file, MOST_BYTES)
                os.ftruncate(file, 0)
                os.write(file, _FIRST_LINE + kept.partition(b"\n")[2])
        super().emit(record)


def log_to(config: LogConfig) -> str | None:
    """Log as *config* says from now on; returns what is wrong with its file, if anything."""
    handler: logging.Handler = logging.StreamHandler()
    problem = None
    if config.file:
        try:
            handler = OwnFile(Path(config.file).expanduser())
        except (OSError, ValueError, RuntimeError) as error:
            problem = f"fim.log.file cannot be written: {error}"
    handler.setFormatter(OneLine(_FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    for name in _OURS:
        logging.getLogger(name).setLevel(config.level.upper())
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    return problem


def _make_log(file: int, path: Path) -> None:
    """See that an open file is a log of ours, or make an empty one such."""
    is_file = stat.S_ISREG(os.fstat(file).st_mode)
    begin = os.read(file, len(_FIRST_LINE)) if is_file else None
    if begin not in (b"", _FIRST_LINE):
        raise ValueError(f"{path} is not a log of fim-lsp: take the name of a new file")
    if not begin:
        os.write(file, _FIRST_LINE)
    if hasattr(os, "fchmod"):
        os.fchmod(file, 0o600)
