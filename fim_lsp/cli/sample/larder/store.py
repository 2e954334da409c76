"""The larder itself: items by name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from items import Item, NotEnough, UnknownItem


class Larder:
    """Keeps items by name."""

    def __init__(self, owner: str, capacity: int = 100) -> None:
        self.owner = owner
        self.items: dict[str, Item] = {}

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items.values())

    def add(self, item: Item) -> None:
        """Put an item on the shelf; more of the same is added to it."""
        if item.name in self.items:
            self.items[item.name].quantity += item.quantity
        else:
            self.items[item.name] = item

    def take(self, name: str, quantity: float) -> None:
        """Take some of an item; the last of it clears the shelf."""
        item = self.find(name)
        if item.quantity < quantity:
            raise NotEnough(name)
        item.quantity -= quantity
        if item.quantity == 0:
            del self.items[name]

    def find(self, name: str) -> Item:
        """The item of that name."""
        if name not in self.items:
            raise UnknownItem(name)
        return self.items[name]

    def expired(self, today: date) -> list[Item]:
        """What should be thrown away."""
        return [item for item in self.items.values() if item.is_expired(today)]
