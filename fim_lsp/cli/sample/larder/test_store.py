"""What the larder does."""

from __future__ import annotations

import pytest

from items import Item, NotEnough, UnknownItem
from store import Larder


def test_add() -> None:
    larder = Larder("Ada")
    larder.add(Item("rice", 2.0, "kg"))
    assert larder.find("rice").quantity == 2.0


def test_add_more() -> None:
    larder = Larder("Ada")
    larder.add(Item("rice", 2.0, "kg"))
    larder.add(Item("rice", 1.0, "kg"))
    assert larder.find("rice").quantity == 3.0


def test_take_too_much() -> None:
    larder = Larder("Ada")
    larder.add(Item("rice", 2.0, "kg"))
    with pytest.raises(NotEnough):
        larder.take("rice", 3.0)
