"""
No exception of a task is lost: asyncio logs a traceback for each for which no code asks, when the task is freed.

The handler hears these lines of the whole run; a test fails where one comes while it runs.
"""

from __future__ import annotations

import logging

LOST = list[str]()


class Hearer(logging.Handler):
    """Keeps what asyncio logs of exceptions that were never retrieved."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line, with its exception."""
        line = record.getMessage()
        if "never retrieved" in line:
            error = record.exc_info[1] if record.exc_info else None
            LOST.append(f"{line.splitlines()[-1]}: {error!r}")


def hear() -> None:
    """Hear what asyncio logs from now on."""
    logging.getLogger("asyncio").addHandler(Hearer(logging.ERROR))


def take() -> list[str]:
    """Return what was lost since the last call."""
    told = [*LOST]
    LOST.clear()
    return told
