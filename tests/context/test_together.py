"""Which files change together, by the commits that there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fim_lsp.context.index import rank_files
from fim_lsp.context.together import partners
from tests.context.test_index import FILES, index_of


def commits(*each: str) -> tuple[frozenset[str], ...]:
    """Commits of files with names of a letter, the newest first."""
    return tuple(map(frozenset, each))


ORDERS = {
    "the one that changed more often": (commits("ab", "ac", "ac"), "cb"),
    "the one of smaller commits": (commits("abdefg", "ac"), "c"),
    "the one that changed lately": (commits("ac", *["xy"] * 400, "ab"), "cb"),
    "none of a commit of everything": (commits("abcdefghijklmnopqrstuvwxyzABCDEFG"), ""),
    "none that changed alone, or with others": (commits("a", "bc", "c"), ""),
}


@pytest.mark.parametrize(("log", "first"), ORDERS.values(), ids=ORDERS)
def test_the_files_that_change_with_one(log: tuple[frozenset[str], ...], first: str) -> None:
    """In order: …"""
    shares = partners(log, "a")
    assert all(0 < share < 1 for share in shares.values())
    assert (
        "".join(sorted(shares, key=lambda each: (-shares[each], each)))[: len(first) or None]
        == first
    )


def test_a_file_that_changes_with_one_is_wanted_before_its_neighbours() -> None:
    """What was committed together says more than a common folder, and a file that is gone says nothing."""
    log = (frozenset({"app/cart.py", "lib/money.py", "gone.py"}),) * 3
    index = replace(index_of(FILES), commits=log)

    order = rank_files(index, "app/cart.py", "python", (), ())
    assert order.index("lib/money.py") < order.index("app/ship.py")
    assert "gone.py" not in order
