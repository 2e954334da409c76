"""
The text that `fim-lsp demo` types, as data.

The lines are simple enough for a model of 4 million parameters; which of them it suggests is not
fixed, the demo runs the real model.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

SAMPLE = Path(__file__).parent / "sample" / "larder"
OPEN = ("items.py", "store.py", "test_store.py")


class Scene(NamedTuple):
    """Put the cursor at the end of the line that reads *below*, and write *text*."""

    title: str
    path: str
    below: str
    text: str


SCENES = (
    Scene(
        "store.py: an attribute; the model answers in the middle of a word",
        "store.py",
        "self.owner = owner",
        "\n        self.capacity = capacity",
    ),
    Scene(
        "store.py: a short method",
        "store.py",
        "return iter(self.items.values())",
        "\n\n    def __len__(self) -> int:\n        return len(self.items)",
    ),
    Scene(
        "store.py: a longer one; several lines arrive at once",
        "store.py",
        "return [item for item in self.items.values() if item.is_expired(today)]",
        "\n\n    def remove(self, name: str) -> None:\n"
        '        """Remove the item of that name."""\n'
        "        if name not in self.items:\n"
        "            raise UnknownItem(name)\n"
        "        del self.items[name]",
    ),
    Scene(
        "test_store.py: another file",
        "test_store.py",
        'larder.take("rice", 3.0)',
        "\n\n\ndef test_remove() -> None:\n"
        '    larder = Larder("Ada")\n'
        '    larder.add(Item("rice", 2.0, "kg"))\n'
        '    larder.remove("rice")\n'
        "    assert len(larder) == 0",
    ),
)
