"""`benchmarks.progress`: which step a benchmark is at, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.progress import N_LATEST, tell


def told(took: list[float], n: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what is said of steps that take so many seconds each."""
    now = [0.0]
    for seconds in tell(took, n, lambda seconds: f"{seconds:.0f}", lambda: now[0]):
        now[0] += seconds
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err.splitlines()


@pytest.mark.parametrize(
    ("took", "n", "lines"),
    [
        ([], 0, []),
        ([30.0], 1, ["1 of 1 30"]),
        ([30.0, 60.0, 9.0], 3, ["1 of 3 30", "2 of 3 60 (1 min left)", "3 of 3 9 (45 s left)"]),
        ([10.0, 10.0], 5, ["1 of 5 10", "2 of 5 10 (40 s left)"]),
        ([1800.0, 1.0], 9, ["1 of 9 1800", "2 of 9 1 (4.0 h left)"]),
        ([2.0, 2.0, 2.0, 2.0], 4, ["1 of 4 2", "4 of 4 2 (2 s left)"]),
    ],
)
def test_each_step_is_named_with_the_time_that_is_left(
    took: list[float], n: int, lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """At the pace of the latest, on stderr, and not more often than a person reads."""
    assert told(took, n, capsys) == lines


def test_the_pace_is_that_of_the_latest(capsys: pytest.CaptureFixture[str]) -> None:
    """Hundred steps that took no time make the rest no shorter."""
    lines = told([0.0] * 100 + [100.0] * (N_LATEST + 1), 130, capsys)
    assert lines[-1] == "121 of 130 100 (17 min left)"


def test_a_step_is_taken_when_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """What steps need may be made by the one before."""
    taken = list[int]()

    def steps() -> Iterator[int]:
        for n in range(3):
            taken.append(n)
            yield n

    first = next(tell(steps(), 3))
    assert (first, taken, capsys.readouterr().err) == (0, [0], "1 of 3\n")
