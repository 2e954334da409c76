"""What a workspace defines, and which files are worth a look from one place."""

from __future__ import annotations

import sys
import tracemalloc
from array import array
from dataclasses import replace

import pytest

from fim_lsp.context.chunks import Source, Why
from fim_lsp.context.definitions import read_syntax
from fim_lsp.context.index import (
    FILE_WORDS,
    Index,
    IndexEntry,
    holding,
    names,
    rank_files,
    read_unopened,
    update_index,
    words,
)
from fim_lsp.context.memory import Memory
from fim_lsp.context.ring import RingLimits, Viewport, update_ring

FILES = {
    "app/cart.py": "class Cart:\n    def total(self):\n        return sum(self.prices)\n",
    "app/ship.py": "def freight(weight):\n    rate = 3\n    return weight * rate\n",
    "app/zoo.py": "def elephant():\n    return 'grey'\n",
    "lib/money.py": "class Money:\n    cents = 0\n\n\ndef rounded(money):\n    return money\n",
    "tests/test_cart.py": "def test_it():\n    assert True\n",
    "web/view.js": "function cart() {\n  return 1\n}\n",
}


def index_of(files: dict[str, str]) -> Index:
    fresh = {}
    for path, text in files.items():
        language = "python" if path.endswith(".py") else "javascript"
        fresh[path] = IndexEntry(
            language, (0, len(text)), names(read_syntax(language, text).definitions)
        )
    return update_index(Index(), fresh)


WANTED = {
    "what is imported": (["Money"], [], "lib/money.py"),
    "a module by its name": (["zoo"], [], "app/zoo.py"),
    "what is used near the cursor": ([], ["freight"], "app/ship.py"),
}


@pytest.mark.parametrize(("imported", "near", "first"), WANTED.values(), ids=WANTED)
def test_the_first_file_to_look_at(imported: list[str], near: list[str], first: str) -> None:
    """From a file in a folder of its own, it is the one that defines …"""
    assert rank_files(index_of(FILES), "new/main.py", "python", imported, near)[0] == first


def test_a_test_and_its_subject_want_each_other_and_then_their_neighbours() -> None:
    """Twins first, siblings of the same language next, nothing else, never itself."""
    index = index_of(FILES)
    assert rank_files(index, "tests/test_cart.py", "python", (), ())[0] == "app/cart.py"
    assert rank_files(index, "app/cart.py", "python", (), ()) == [
        "tests/test_cart.py", "app/ship.py", "app/zoo.py",
    ]  # fmt: skip


def test_a_name_that_many_files_define_says_nothing() -> None:
    """Five files with a `run` are no better than any other."""
    index = index_of({f"d{n}/m{n}.py": "def run():\n    pass\n" for n in range(5)})
    assert rank_files(index, "x/y.py", "python", ["run"], ["run"]) == []


def test_an_index_forgets_what_it_is_told_to() -> None:
    """An entry replaced or taken out leaves no name behind."""
    index = index_of(FILES)
    renamed = IndexEntry(
        "python", (1, 1), names(read_syntax("python", "def tortoise():\n    pass\n").definitions)
    )
    index = update_index(index, {"app/zoo.py": renamed, "lib/money.py": None})
    assert {"elephant", "Money", "money", "rounded"}.isdisjoint(index.homes)
    assert index.homes["tortoise"] == ("app/zoo.py",)
    assert update_index(index, dict.fromkeys(FILES)).homes == {}


def test_unopened_files_are_shown_and_say_why() -> None:
    """A definition of what is imported, and a sibling, are in the ring though they are not open."""
    index = index_of(FILES)
    memory = Memory(RingLimits(16, 64, 6000))
    text = "from lib.money import Money\n\nprice = Money()\n"
    memory.note_open(
        Source("u:/app/new.py", "app/new.py", "python", 1, tuple(text.splitlines(True)))
    )
    snapshot = memory.snapshot(Viewport("u:/app/new.py", 2, 0, 3))

    def read(path: str) -> Source | None:
        lines = tuple(FILES[path].splitlines(keepends=True))
        return None if path == "app/zoo.py" else Source(f"u:/{path}", path, "python", 7, lines)

    others = tuple(read_unopened(index, snapshot, read))
    assert memory.accept(snapshot, update_ring(replace(snapshot, others=others)))
    why = {p.name: p.why for chunk in memory.ring.chunks for p in chunk.pieces}
    assert why["lib/money.py"] is Why.DEFINITION
    assert why["app/ship.py"] is Why.SIBLING
    assert "app/zoo.py" not in why


def test_files_that_may_hold_a_text() -> None:
    """By their words, in any order; the first text counts first, then the folder, then the name."""
    texts = {
        "a/one.py": "area = hight * width",
        "b/two.py": "print(hight, width)",
        "b/one.py": "(width)",
        "b/near.py": "hight",
        "c.py": "highth",
    }
    entries = {path: IndexEntry("python", (0, 0), (), words(text)) for path, text in texts.items()}
    index = Index(entries)
    assert [*holding(index, ["hight", "width"], "b/near.py")] == [
        "b/two.py",
        "a/one.py",
        "b/one.py",
    ]
    assert [*holding(index, ["width + hight"], "c.py")] == ["a/one.py", "b/two.py"]
    assert [*holding(index, ["x", "(", ""], "c.py")] == []  # nothing to look for


def test_of_a_file_with_too_many_words_nothing_is_known() -> None:
    """It is data; and what was read before the index was full stays known."""
    assert not words(" ".join(f"w{n}" for n in range(FILE_WORDS + 1)))
    assert len(words("naïve naïve 漢字 x1")) == 3


def test_an_index_of_many_files_is_small() -> None:
    """4,000 files of 30 names each, half of which no other file has: 3,000 bytes a file at most."""
    tracemalloc.start()
    fresh = {}
    for n in range(4_000):
        found = [f"only_in_{n}_{k}" for k in range(15)]
        found += [sys.intern(f"member_{(n + k) % 1_800}") for k in range(15)]
        its_words = array("I", range(100))
        fresh[f"some/package_{n % 300}/module_{n}.py"] = IndexEntry(
            "python", (n, n), tuple(found), its_words
        )
    index = update_index(Index(), fresh)
    del fresh
    n_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert index.n_names == 120_000
    assert index.n_words == 400_000
    assert n_bytes < 12_000_000
