"""Text without a name is known by the file in which it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from fim_lsp.http_server.excerpt import Excerpt
from fim_lsp.http_server.whose_text import file_of

CART = "import ship\n\n\ndef price(item):\n    return item.cost * ship.rate(item)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {
        "cart.py": CART,
        "sub/ship.py": "RATE = 3\n\n\ndef rate(item):\n    return RATE * item.weight\n",
        "node_modules/cart.py": CART,
        ".env": "RATE=CANARY\nPASSWORD=CANARY\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "link.py").symlink_to(tmp_path / "cart.py")
    return tmp_path


@pytest.mark.parametrize(
    ("before", "after", "name"),
    [
        ("def price(item):\n    return item.co", "st * ship.rate(item)\n", "cart.py"),
        ("def rate(item):\n    return RATE * item.weight\n    # and som", "\n", "sub/ship.py"),
        ("RATE=CANARY\nPASSWORD=CANARY\nUSER", "\n", ".env"),
        ("def new():\n    ", "\n", ""),
        ("", "\n", ""),
    ],
)
def test_the_file_of_a_text(root: Path, before: str, after: str, name: str) -> None:
    """Also a private one; not what package managers fill, and no links; none where it is new."""
    assert file_of(Excerpt(before, after), root) == name


def test_files_that_are_no_files(root: Path) -> None:
    """A pipe in the folder holds nothing up."""
    import os  # noqa: PLC0415 (only where there are pipes)

    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe.py")
    assert file_of(Excerpt("def price(item):\n    return it", "\n"), root) == "cart.py"
