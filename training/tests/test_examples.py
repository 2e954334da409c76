"""Examples are what a session would show the model, followed by the right answer."""

from __future__ import annotations

import argparse
import inspect
import json.decoder
import random
import textwrap

import pytest

from fim_lsp.context.chunks import Source, read
from fim_lsp.documents import Position, split
from training import examples, tokens
from training.examples import Gap
from training.neighbourhood import Neighbourhood, Shown, neighbourhoods
from training.shards import Entry

FILES = {
    f"lib/{module.__name__}.py": inspect.getsource(module)
    for module in (argparse, json.decoder, textwrap)
}
LINES = split(FILES["lib/textwrap.py"])[:-1]


def entry(path: str, text: str) -> Entry:
    source = Source(path, path, "python", 1, tuple(split(text)))
    return Entry(
        "thing", "python", path, text, [n for p in read(source).pieces for n in (p.start, p.end)]
    )


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


def test_the_ring_shows_no_line_of_the_window_and_none_twice(some: list[examples.Example]) -> None:
    """Text shown twice would teach the model to copy from where it never is."""
    n_chunks = 0
    for one in some:
        pieces = [
            (chunk.name, line) for chunk in one.prompt.chunks for line in chunk.text.split("\n")
        ]
        n_chunks += len(one.prompt.chunks)
        long = [(name, line) for name, line in pieces if len(line) > 60]
        window = one.prompt.prefix + one.prompt.middle + one.answer + one.prompt.suffix
        rare = [
            line for name, line in long if name == one.prompt.path and FILES[name].count(line) == 1
        ]
        assert not [line for line in rare if line in window.split("\n")]
        assert len(rare) == len(set(rare))
    assert n_chunks > len(some) / 2


def test_the_same_numbers_give_the_same_examples(place: Neighbourhood) -> None:
    """The seed alone decides."""
    first, again = (
        [examples.example(random.Random(n), place, 2048) for n in range(40)] for _ in range(2)
    )
    assert first == again


def test_the_ring_shows_what_the_answer_needs(place: Neighbourhood) -> None:
    """Most pieces have a rare word of the answer."""
    rng = random.Random(1)
    drawn = [place.chunks(rng, Shown("elsewhere", 0, 0), "_get_formatter", 3000) for _ in range(50)]
    shown = ["".join(chunk.text for chunk in chunks) for chunks in drawn]
    assert sum("_get_formatter" in text for text in shown) > 40
    assert all(len(text) < 3000 for text in shown)


def test_an_example_is_laid_out_as_the_bridge_does(some: list[examples.Example]) -> None:
    """Repository, chunks, path, prefix, suffix, middle; then the answer, and the end of it."""
    one = next(
        one_of_them
        for one_of_them in some
        if one_of_them.prompt.chunks and one_of_them.prompt.forced
    )
    ids, n_answer = examples.encoded(one, encode)
    marks = [n for n in ids if n > 255]
    n_files = len(one.prompt.chunks) + 1
    assert marks == [
        tokens.REPO, *[tokens.FILE] * n_files, tokens.PREFIX, tokens.SUFFIX, tokens.MIDDLE, tokens.END,
    ]  # fmt: skip
    answer = one.prompt.forced + one.answer
    assert bytes(ids[-n_answer:-1]).decode() == answer
    assert bytes(ids[ids.index(tokens.MIDDLE) + 1 : -1]).decode() == one.prompt.middle + answer


def test_kinds_and_lengths_all_occur(some: list[examples.Example]) -> None:
    """Half words and whole ones, one line and several, with and without ring, typed text on either side."""
    for kind in (
        lambda one: one.prompt.forced.strip(),
        lambda one: not one.prompt.forced,
        lambda one: one.answer.startswith("\n"),
        lambda one: one.answer.count("\n") > 2,
        lambda one: "\n" not in one.answer,
        lambda one: not one.prompt.chunks,
        lambda one: not one.prompt.middle,
        lambda one: one.prompt.middle.count("\n") > 8,
        lambda one: not one.prompt.suffix.startswith("\n"),
    ):
        share = sum(bool(kind(one)) for one in some) / len(some)
        assert 0.02 < share < 0.98


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
    """What does not fit is not shown; plain files are cut."""
    stream = examples.stream(random.Random(2), [place], encode, 3000)
    drawn = [next(stream) for _ in range(60)]
    assert all(len(ids) <= 3001 for ids, _ in drawn)
    assert {n_answer == 0 for _, n_answer in drawn} == {True, False}
