"""The words of files that are not open, and which files may hold a text."""

from __future__ import annotations

import tracemalloc
from array import array

from fim_lsp.context.index import FILE_WORDS, Index, IndexEntry, holding, index_words, update_index


def test_files_that_may_hold_a_text() -> None:
    """By their words, in any order; the first text counts first, then the folder, then the name."""
    texts = {
        "a/one.py": "area = hight * width", "b/two.py": "print(hight, width)",
        "b/one.py": "(width)", "b/near.py": "hight", "c.py": "highth",
    }  # fmt: skip
    entries = {path: IndexEntry((0, 0), index_words(text)) for path, text in texts.items()}
    index = Index(entries)
    assert [*holding(index, ["hight", "width"], "b/near.py")] == [
        "b/two.py", "a/one.py", "b/one.py",
    ]  # fmt: skip
    assert [*holding(index, ["width + hight"], "c.py")] == ["a/one.py", "b/two.py"]
    assert [*holding(index, ["x", "(", ""], "c.py")] == []  # nothing to look for


def test_of_a_file_with_too_many_words_nothing_is_known() -> None:
    """It is data; and what was read before the index was full stays known."""
    assert not index_words(" ".join(f"w{n}" for n in range(FILE_WORDS + 1)))
    assert len(index_words("naïve naïve 漢字 x1")) == 3


def test_an_index_forgets_what_it_is_told_to() -> None:
    """An entry that is replaced or taken out leaves no word behind."""
    fresh = {
        name: IndexEntry((0, 0), index_words(f"{name} x1 y1")) for name in ("one", "two", "three")
    }
    index = update_index(Index(), fresh)
    assert index.n_words == 9
    index = update_index(index, {"one": IndexEntry((1, 1), index_words("other")), "two": None})
    assert [*holding(index, ["x1"], "")] == ["three"]
    assert index.n_words == 4
    assert update_index(index, dict.fromkeys(fresh)).n_words == 0


def test_an_index_of_many_files_is_small() -> None:
    """4,000 files of 100 words each: 1,500 bytes a file at most."""
    tracemalloc.start()
    fresh = {
        f"some/package_{n % 300}/module_{n}.py": IndexEntry((n, n), array("I", range(100)))
        for n in range(4_000)
    }
    index = update_index(Index(), fresh)
    del fresh
    n_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert index.n_words == 400_000
    assert n_bytes < 6_000_000
