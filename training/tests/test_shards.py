"""A corpus is stored in parts of a given size and read back as it was."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from training import shards
from training.shards import Entry


@pytest.fixture(autouse=True)
def small(monkeypatch) -> None:
    """A hundredth of everything, quickly compressed."""
    monkeypatch.setattr(shards, "UNIT", 10_000)
    monkeypatch.setattr(shards, "SLACK", 1 << 16)
    monkeypatch.setattr(shards, "PRESET", 0)


def corpus(n_files: int = 70) -> list[Entry]:
    rng = random.Random(0)
    return [
        Entry(f"p{n % 7}", language, f"{n}.x", "".join(rng.choices("abc \n", k=4000)), [0, 1])
        for n in range(n_files)
        for language in ("python", "go", "lua")
    ]


def test_a_unit_is_files_of_one_language_of_one_package() -> None:
    """Up to a size, none twice."""
    units = shards.units(corpus())
    assert sorted(entry for unit in units for entry in unit) == sorted(corpus())
    assert all(len({(e.package, e.language) for e in unit}) == 1 for unit in units)
    assert max(len(unit) for unit in units) == 3


def test_every_shard_has_every_language_and_no_file_is_in_two() -> None:
    """Units go to the shards in turn; a shard begins with languages by their shares."""
    dealt = shards.dealt(corpus(210), 3)
    files = Counter((e.path, e.language) for shard in dealt for unit in shard for e in unit)
    assert set(files.values()) == {1}
    for shard in dealt:
        head = [unit[0].language for unit in shard[: len(shard) // 2]]
        assert head.count("python") > head.count("go") > head.count("lua") > 0


def test_a_shard_keeps_to_its_size_and_is_read_as_it_was(tmp_path) -> None:
    """Whole units until the room is spent."""
    (units,) = shards.dealt(corpus(700), 1)
    path = tmp_path / "0.jsonl.xz"
    n_chars = shards.pack(units, path, shards.MIB)
    read = list(shards.read(path))
    assert shards.MIB // 2 < path.stat().st_size < shards.MIB
    assert n_chars == sum(len(entry.text) for entry in read)
    assert read == [entry for unit in units for entry in unit][: len(read)]
    plain = tmp_path / "train.jsonl"
    plain.write_text("".join(json.dumps(entry) + "\n" for entry in read))
    assert list(shards.read(plain)) == read
