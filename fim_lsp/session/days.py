"""
What became of suggestions, day by day: a private file of numbers, for the page. State: what is not
written yet.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from fim_lsp.session.stats import Stats
from server_bridge.machine import private_files

FILE = "days.json"
N_DAYS = 60
NAMES = tuple(Stats().totals)

Day = dict[str, int]


class Days:
    """*folder* is where the file is; None where nothing is to be kept."""

    def __init__(self, folder: Path | None, stats: Stats) -> None:
        self._path = folder / FILE if folder else None
        self._stats = stats
        self._written: Mapping[str, int] = dict.fromkeys(NAMES, 0)
        self._one = threading.Lock()  # the page may read the days while the session ends

    def write(self, today: date) -> dict[str, Day]:
        """Add what was counted since the last time to *today*; all days that are kept. Blocking."""
        with self._one:
            now = self._stats.totals
            fresh = {name: now[name] - self._written[name] for name in NAMES}
            self._written = now
            none = dict[str, Day]()
            days = private_files.restore(self._path, _parse, none) if self._path else none
            if any(fresh.values()):
                counts = days.get(today.isoformat(), {})
                days[today.isoformat()] = {
                    name: counts.get(name, 0) + fresh[name] for name in NAMES
                }
                days = dict(sorted(days.items())[-N_DAYS:])
                if self._path:
                    with contextlib.suppress(OSError):
                        private_files.write(self._path, json.dumps(days).encode())
            return days


def _parse(data: bytes) -> dict[str, Day]:
    return {
        str(date.fromisoformat(day)): {name: int(counts.get(name, 0)) for name in NAMES}
        for day, counts in json.loads(data).items()
    }
