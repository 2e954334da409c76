"""What stands on the shelves."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass
class Item:
    """A thing in the larder: so much of it, good until then."""

    name: str
    quantity: float
    unit: str
    best_before: date | None = None

    def is_expired(self, today: date) -> bool:
        """Whether the item should no longer be eaten."""
        return self.best_before is not None and self.best_before < today

    def days_left(self, today: date) -> int | None:
        """How many days remain, or None if the item keeps for ever."""
        if self.best_before is None:
            return None
        return (self.best_before - today).days


class UnknownItem(KeyError):
    """There is no item of that name."""


class NotEnough(ValueError):
    """The larder holds less than was asked for."""
