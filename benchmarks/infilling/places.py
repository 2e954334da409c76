"""
Places that others chose, read from their files: HumanEval-Infilling, SAFIM's API calls, HumanEval-FIM.

Each has its measure: tests that the finished program must pass, a call that must be the same by its syntax, or a
line that must be the same but for the blanks at both ends.
"""

from __future__ import annotations

import enum
import gzip
import json
import random
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fim_lsp.suggest.lines import indent

SEED = 1
SHORT = 3  # characters of a missing line, at most, that say nothing
LANGUAGES = {"py": "python", "js": "javascript", "java": "java", "cpp": "cpp", "csharp": "csharp"}
HOLE = "{{completion}}"  # of SAFIM's `eval_prompt`
MARK = r"# TODO: Your code here|/\* TODO: Your code here \*/"  # of its `prompt`


class Measure(enum.Enum):
    """How an answer is judged."""

    TESTS = "tests"
    CALL = "call"
    LINE = "line"


class Place(NamedTuple):
    """
    A hole between two texts, as published: *missing* fills it. *test* is the program behind it.

    *shown* are the texts around it as an editor has them, with the line opened and indented.
    """

    name: str
    language: str
    measure: Measure
    above: str
    missing: str
    below: str
    shown: tuple[str, str]
    is_line: bool = True
    test: str = ""

    @property
    def is_short(self) -> bool:
        """Return whether what is missing is little more than a bracket."""
        return len(self.missing.strip()) <= SHORT


class UnknownFormatError(Exception):
    """The file is cut, or none of these benchmarks; the text is for the user."""


def read(file: Path) -> list[Place]:
    """Return all places of *file*, in its order. Raises `UnknownFormatError`, `OSError`."""
    rows = _parquet(file) if file.suffix == ".parquet" else _json_lines(file)
    try:
        places = [_place(row) for row in rows]
        for name, _, _, *texts, _, _, _ in places:
            name.encode(), "".join(texts).encode()  # which only texts can
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnknownFormatError(
            f"{file}: a row is not of HumanEval-Infilling, SAFIM's API calls or HumanEval-FIM ({error!r})"
        ) from error
    if not places:
        raise UnknownFormatError(f"{file} has no places")
    return places


def choose(
    places: Sequence[Place], languages: Sequence[str], limit: int, skip: int = 0
) -> list[Place]:
    """
    Return the places of some languages (of all, if none is named) in a seeded order, *limit* long ones without the
    first *skip*, and short ones between; so fewer places are the first ones of more.
    """
    chosen = [place for place in places if not languages or place.language in languages]
    random.Random(SEED).shuffle(chosen)
    ends = [0, *(n for n, place in enumerate(chosen, 1) if not place.is_short)]
    last = ends[limit] if 0 < limit < len(ends) else len(chosen)
    return chosen[ends[min(skip, len(ends) - 1)] : last]


def _json_lines(file: Path) -> Iterator[Mapping[str, Any]]:
    data = file.read_bytes()
    try:
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
        yield from [json.loads(line) for line in text.splitlines() if line.strip()]
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UnknownFormatError(f"{file} is cut: load it again") from error
    except (RecursionError, ValueError) as error:
        raise UnknownFormatError(f"{file} is cut, or no JSON lines: {error}") from error


def _parquet(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        from pyarrow import lib, parquet  # noqa: PLC0415 (only this format needs it)
    except ImportError:
        raise UnknownFormatError(f"reading {file} needs pyarrow: pip install pyarrow") from None
    try:
        yield from parquet.read_table(file).to_pylist()
    except lib.ArrowException as error:
        raise UnknownFormatError(f"{file} is cut, or no parquet file") from error


def _place(row: Mapping[str, Any]) -> Place:
    if "eval_prompt" in row:
        return _call(row)
    return _tested(row) if "test" in row and "task_id" in row else _line(row)


def _tested(row: Mapping[str, Any]) -> Place:
    """Return a place of HumanEval-Infilling: whole lines, with their line break, or a span inside of them."""
    above = row["prompt"]
    missing = row["canonical_solution"]
    below = row["suffix"]
    test = row["test"] + "\ncheck(" + row["entry_point"] + ")\n"
    is_whole = above[-1:] in ("", "\n") and missing.endswith("\n")
    shown = (above + indent(missing), "\n" + below) if is_whole else (above, below)
    is_line = is_whole and missing.count("\n") == 1
    name = row["task_id"]
    return Place(name, "python", Measure.TESTS, above, missing, below, shown, is_line, test)


def _call(row: Mapping[str, Any]) -> Place:
    """Return a place of SAFIM, which stands inside a line; the published text begins with an instruction."""
    above, below = re.split(MARK, row["prompt"])
    before, behind = row["eval_prompt"].split(HOLE)
    language = {**LANGUAGES, "python": "python"}[row["lang"]]
    return Place(
        row["task_id"], language, Measure.CALL, above, row["ground_truth"], below, (before, behind)
    )


def _line(row: Mapping[str, Any]) -> Place:
    """Return a place of HumanEval-FIM, whose texts lack the line breaks around it."""
    above = row["prompt"] + "\n"
    missing = row["canonical_solution"]
    below = "\n" + row["suffix"]
    return Place(
        f"{row['language']} {row['name']}", LANGUAGES[row["language"]], Measure.LINE,
        above, missing, below, (above + indent(missing), below),
    )  # fmt: skip
