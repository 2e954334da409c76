"""Frames: which chunks a header may keep, and how frames move with edits."""

from __future__ import annotations

import pytest

from fim_lsp.documents import Edit, Position
from fim_lsp.prompt.frame import Frame, Header, affordable, chunks_for_window, move, still_true
from fim_lsp.prompt.window import Window
from server_bridge.protocol import Chunk, Measure

CHUNKS = tuple(Chunk(f"{n}.py", f"text {n}") for n in range(3))
FRAME = Frame(Header("shop", CHUNKS, "a.py"), Window(4, 6, "def one():\n    pass\n", ""))


@pytest.mark.parametrize(
    ("cached", "n_chunks"),
    [
        (0, 0),  # nothing is held, not even the name of the workspace
        (103, 0),  # a part of a chunk is of no use
        (104, 1),
        (304, 3),
    ],
)
def test_a_request_that_waits_is_shown_the_chunks_that_are_held(cached: int, n_chunks: int) -> None:
    """Chunks to be evaluated first are left out."""
    measure = Measure(
        total=344, cached=cached, repo=4, chunks=(100, 100, 100), path=5, prefix=20, suffix=10,
        middle=5
    )  # fmt: skip
    assert affordable(FRAME, measure).header.chunks == CHUNKS[:n_chunks]


@pytest.mark.parametrize(
    ("second", "path", "n_chunks"),
    [
        (Chunk("b.py", "def total(items):\n"), "a.py", 3),  # another file may hold the same line
        (Chunk("a.py", "def total(items):\n"), "a.py", 1),  # the window shows it already
        (Chunk("a.py", "pass\n"), "a.py", 3),  # too short a line to say where it is from
    ],
)
def test_chunks_of_an_earlier_prompt_end_where_the_window_begins(
    second: Chunk, path: str, n_chunks: int
) -> None:
    """No line is shown twice, and what is kept is a prefix, so the backend holds it."""
    chunks = (CHUNKS[0], second, CHUNKS[2])
    shown = Window(0, 2, "def total(items):\n    pass\n", "")
    assert chunks_for_window(chunks, path, shown) == chunks[:n_chunks]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_a_restored_frame_keeps_the_chunks_that_are_still_shown(n: int) -> None:
    """The first chunk that changed ends it."""
    now = (*CHUNKS[:n], Chunk("new.py", "new"))
    assert still_true(FRAME, now).header.chunks == CHUNKS[:n]


def test_a_frame_moves_with_edits_above_it() -> None:
    """A line inserted above shifts the window; its text stays as it was evaluated."""
    edit = Edit(Position(0, 0), Position(0, 0), "import os\n")
    assert move(FRAME, edit).window == Window(5, 7, FRAME.window.prefix, "")
    assert move(FRAME, edit).header is FRAME.header
