"""A paste tells where the user copied from."""

from __future__ import annotations

import timeit

import pytest

from fim_lsp.context.chunks import Source
from fim_lsp.context.memory import origin
from fim_lsp.documents import Edit, Position

CODE = "import os\n\ndef one(x):\n    y = x + 1\n    return y\n\ndef two():\n    pass\n"
TAKEN = "def one(x):\n    y = x + 1\n    return y\n"
AT = Position(3, 0)


def source(text: str, uri: str = "a") -> Source:
    return Source(uri, uri, "python", 1, tuple(text.splitlines(keepends=True)))


PASTES = {
    "whole lines": (TAKEN, TAKEN),
    "below the line, as Vim pastes": ("\n" + TAKEN.rstrip("\n"), TAKEN),
    "from inside the first line to inside the last": (TAKEN[4:-3], TAKEN),
    "with other line ends": (TAKEN.replace("\n", "\r\n"), TAKEN),
    "two lines only": ("    y = x + 1\n    return y\n", None),
    "another last line": (TAKEN.replace("return", "yield"), None),
    "text of nowhere": ("def four():\n    a = 1\n    return a\n", None),
    "beyond the end of the file": ("def two():\n    pass\n\n\n    x = 3\n", None),
}


@pytest.mark.parametrize(("text", "taken"), PASTES.values(), ids=PASTES)
def test_a_paste_of(text: str, taken: str | None) -> None:
    """It has an origin when three lines or more equal lines elsewhere."""
    found = origin(Edit(AT, AT, text), [source("x = 1\n", "b"), source(CODE)])
    assert found == (("a", taken) if taken else None)


def test_what_replaces_text_is_no_paste() -> None:
    """A formatter and an undo put known lines where others were."""
    assert origin(Edit(AT, Position(4, 0), TAKEN), [source(CODE)]) is None
    assert origin(CODE, [source(CODE)]) is None


def test_a_paste_is_looked_up_in_time() -> None:
    """Twenty files of 10,000 lines: well below the 5 ms an event may take."""
    sources = [
        source("".join(f"line_{n} = {n}\n" for n in range(10_000)), str(k)) for k in range(20)
    ]
    paste = Edit(AT, AT, "".join(f"no_{n} = {n}\n" for n in range(50)))
    assert min(timeit.repeat(lambda: origin(paste, sources), number=1, repeat=3)) < 0.2
