"""What the person of `fim-lsp demo` writes, as data."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

SAMPLE = Path(__file__).parent / "sample" / "larder"
OPEN = ("items.py", "store.py")


class Scene(NamedTuple):
    """Put the cursor at the end of the line that reads *below*, and write *text*."""

    title: str
    path: str
    below: str
    text: str


SCENES = (
    Scene(
        "A new field, half a word at a time",
        "store.py",
        "self.owner = owner",
        "\n        self.capacity = capacity",
    ),
    Scene(
        "A new method; the model has seen the others",
        "store.py",
        "del self.items[name]",
        '\n\n    def remove(self, name: str) -> None:\n        """Remove an item."""\n'
        "        if name not in self.items:\n            raise UnknownItem(name)\n"
        "        del self.items[name]",
    ),
)
