"""The files that take longest are begun first."""

from __future__ import annotations

from tests.longest import LONGEST
from tests.test_tidy import ROOT


def test_they_are_there() -> None:
    """A file that is renamed or split is renamed in the list, too."""
    assert [name for name in LONGEST if not (ROOT / name).is_file()] == []
    assert len({*LONGEST}) == len(LONGEST)
