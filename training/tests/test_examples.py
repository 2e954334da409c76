"""Examples are what a session would show the model, followed by the right answer."""

from __future__ import annotations

import random

import pytest

from fim_lsp.context.chunks import Source, cut
from fim_lsp.context.grammars import find_borders
from fim_lsp.documents import Position, split
from tests.real_code import MIDDLING, SHORT, SMALL, read_code
from training import examples, tokens
from training.corpus import Entry
from training.examples import Gap
from training.neighbourhood import Neighbourhood, neighbourhoods

FILES = {name: read_code(name) for name in (MIDDLING, SHORT, SMALL)}
LINES = split(FILES[SMALL])[:-1]


def entry(path: str, text: str) -> Entry:
    source = Source(path, path, "python", 1, tuple(split(text)))
    pieces = cut(source, find_borders("python", text))
    cuts = [n for piece in pieces for n in (piece.start, piece.end)]
    return Entry("thing", "python", path, text, cuts)


def encode(text: str) -> list[int]:
    return list(text.encode())


@pytest.fixture(scope="module")
def place() -> Neighbourhood:
    (neighbourhood,) = neighbourhoods([entry(path, text) for path, text in FILES.items()])
    return neighbourhood


@pytest.fixture(scope="module")
def some(place: Neighbourhood) -> list[examples.Example]:
    rng = random.Random(0)
    drawn = (examples.example(rng, place, 4096) for _ in range(300))
    return [one for one in drawn if one]


def test_what_is_shown_and_the_answer_are_the_file(some: list[examples.Example]) -> None:
    """Prefix, typed text, half word, answer and suffix join to a part of the file as it was."""
    for one in some:
        shown = one.prompt
        text = shown.prefix + shown.middle + shown.forced + one.answer + shown.suffix
        assert text.strip("\n") in FILES[shown.path]


def test_an_example_is_laid_out_as_the_bridge_does(some: list[examples.Example]) -> None:
    """Repository, chunks, path, prefix, suffix, middle; then the answer, and the end of it."""
    one = next(one for one in some if one.prompt.chunks and one.prompt.forced)
    ids, n_answer = examples.encoded(one, encode)
    marks = [n for n in ids if n > 255]
    n_files = len(one.prompt.chunks) + 1
    assert marks == [
        tokens.REPO, *[tokens.FILE] * n_files, tokens.PREFIX, tokens.SUFFIX, tokens.MIDDLE, tokens.END,
    ]  # fmt: skip
    answer = one.prompt.forced + one.answer
    assert bytes(ids[-n_answer:-1]).decode() == answer
    assert bytes(ids[ids.index(tokens.MIDDLE) + 1 : -1]).decode() == one.prompt.middle + answer


@pytest.mark.parametrize(
    ("gap", "line", "removed"),
    [
        (Gap(Position(0, 2), Position(0, 4)), "abef\n", "cd"),
        (Gap(Position(0, 2), Position(1, 1)), "abh\n", "cdef\ng"),
        (Gap(Position(0, 6), Position(1, 2)), "abcdef\n", "\ngh"),
    ],
)
def test_a_gap_is_taken_out_of_a_file(gap: Gap, line: str, removed: str) -> None:
    """Within a line, over a line end, and behind a whole line."""
    document, text = examples.without(["abcdef\n", "gh\n"], gap)
    assert (document.lines[0], text) == (line, removed)


def test_rows_never_outgrow_their_length(place: Neighbourhood) -> None:
    """What does not fit is not shown."""
    stream = examples.stream(random.Random(2), [place], encode, 3000)
    assert all(len(next(stream)[0]) <= 3001 for _ in range(60))
