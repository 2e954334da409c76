"""Decides whether this machine runs on its battery, and asks the system for what that takes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

SUPPLIES = Path("/sys/class/power_supply")


class Supply(NamedTuple):
    """
    A power supply as Linux describes it (Documentation/ABI/testing/sysfs-class-power).

    *scope* is `Device` for the battery of a mouse.
    """

    type: str
    online: str
    status: str
    scope: str


def drains(supplies: Iterable[Supply]) -> bool:
    """Return whether a battery of the machine is emptied, and nothing else supplies it."""
    own = [supply for supply in supplies if supply.scope != "Device"]
    fed = any(supply.type != "Battery" and supply.online == "1" for supply in own)
    return not fed and any(supply.status == "Discharging" for supply in own)


def is_on_battery(supplies: Path = SUPPLIES) -> bool:
    """Return whether this machine runs on its battery; False where that is not known."""
    if sys.platform == "linux":
        return drains(map(_read, supplies.glob("*")))
    import psutil  # noqa: PLC0415 (not installed on Linux)

    battery = psutil.sensors_battery()
    return battery is not None and battery.power_plugged is False


def _read(folder: Path) -> Supply:
    return Supply(*(_read_line(folder / name) for name in Supply._fields))


def _read_line(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace").strip()
    except OSError:  # a supply need not have every file, and one may be unplugged
        return ""
