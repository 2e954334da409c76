"""The files that take longest are begun first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.longest import LONGEST, begin_with_the_longest
from tests.test_tidy import ROOT


def test_they_are_there() -> None:
    """A file that is renamed or split is renamed in the list, too."""
    assert [name for name in LONGEST if not (ROOT / name).is_file()] == []
    assert len({*LONGEST}) == len(LONGEST)


def test_the_rest_stays_in_its_order() -> None:
    """Tests of one file stay together."""
    names = ["tests/b.py::test_2", f"{LONGEST[1]}::test_1", "tests/a.py::test", f"{LONGEST[0]}::test[a::b]", f"{LONGEST[1]}::test_0"]  # fmt: skip
    items: list[Any] = [SimpleNamespace(nodeid=name) for name in names]
    begin_with_the_longest(items)
    assert [names.index(item.nodeid) for item in items] == [3, 1, 4, 0, 2]
