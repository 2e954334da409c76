"""Notebooks as documents."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fim_lsp import events
from fim_lsp.documents import Document, Edit, Position, apply_edits, body, open_document
from fim_lsp.events import Changed, Event, Opened
from fim_lsp.lsp.notebooks import Notebooks
from tests.typist import rewrite

BOOK = "file:///shop/book.ipynb"
PYTHON = f"{BOOK}#python"
SQL = f"{BOOK}#sql"


def cell(name: str, text: str, language: str = "python") -> Opened:
    return Opened(f"cell:{name}", language, 1, text)


def order(names: str) -> tuple[str, ...]:
    return tuple(f"cell:{name}" for name in names)


class Mirror(dict[str, Document]):
    """The joined documents, as the events alone make them."""

    def hear(self, news: Iterable[Event]) -> None:
        for event in news:
            match event:
                case Opened():
                    self[event.uri] = open_document(*event)
                case Changed(uri, version, edits):
                    assert version > self[uri].version
                    self[uri] = apply_edits(self[uri], edits, version)
                case events.Closed(uri):
                    del self[uri]


def test_cells_of_a_language_are_one_text() -> None:
    """In their order, each on lines of its own; a cell's place is where it begins."""
    books = Notebooks()
    mirror = Mirror()
    cells = [cell("a", "import os"), cell("b", "select 1", "sql"), cell("c", "x = 1\r\ny")]
    mirror.hear(books.arrange(BOOK, order("abc"), cells))
    assert {uri: document.text for uri, document in mirror.items()} == {
        PYTHON: "import os\nx = 1\ny\n",
        SQL: "select 1\n",
    }
    assert books.place("cell:c") == (PYTHON, 1)
    assert books.place("cell:b") == (SQL, 0)
    assert books.place("file:///a.py") == ("file:///a.py", 0)


def test_a_key_in_a_cell_is_a_key_in_the_document() -> None:
    """The same text in the same columns, further down."""
    books = Notebooks()
    books.arrange(BOOK, order("ab"), [cell("a", "x\n"), cell("b", "y = 1\nprint()")])
    at = Position(1, 6)
    [change] = books.change(Changed("cell:b", 2, (Edit(at, at, "y"),)))
    assert change == Changed(PYTHON, 2, (Edit(Position(3, 6), Position(3, 6), "y"),))


def test_many_cells_that_change_are_one_change() -> None:
    """A replacement in a whole notebook does not cost a look at all of it per cell."""
    books = Notebooks()
    mirror = Mirror()
    mirror.hear(books.arrange(BOOK, order("abc"), [cell(name, "old\n") for name in "abc"]))
    events = books.change(*(Changed(f"cell:{name}", 2, (rewrite("new\n"),)) for name in "abc"))
    assert len(events) == 1
    mirror.hear(events)
    assert mirror[PYTHON].text == "new\n\n" * 3


@pytest.mark.parametrize("language", ["", "c#", "a/b", "größe", "%23"])
def test_any_name_of_a_language_will_do(language: str) -> None:
    """Its document is found again and closed; nothing is left then, and its cells are plain URIs again."""
    books = Notebooks()
    mirror = Mirror()
    mirror.hear(books.arrange(BOOK, order("a"), [cell("a", "x", language)]))
    assert {document.language for document in mirror.values()} == {language}
    mirror.hear(books.arrange(BOOK, (), ()))
    assert (mirror, books.cells, books._orders) == ({}, {}, {})
    assert books.change(Changed("cell:a", 2, (rewrite("y"),))) == []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("%%sql\nselect 1", "sql"),
        ("\n  %%bash -e\nls", "shellscript"),
        ("%%HTML\n<p>", "html"),
        ("%%writefile a.py\nx = 1", "plaintext"),
        ("%%!\nls", "plaintext"),
        ("%%some_program\nls", "plaintext"),
        ("%%time\nx = 1", "python"),
        ("%%python3\nx = 1", "python"),
        ("%%\nx = 1", "python"),
        ("%sql select 1", "python"),
        ("x = 1\n%%sql", "python"),
        ("", "python"),
    ],
)
def test_a_cell_that_another_program_runs_is_in_its_language(text: str, language: str) -> None:
    """As its first line says, also once that is typed; the others are one text without it."""
    books = Notebooks()
    mirror = Mirror()
    mirror.hear(books.arrange(BOOK, order("abc"), [cell("a", "x"), cell("b", ""), cell("c", "y")]))
    mirror.hear(books.change(Changed("cell:b", 2, (rewrite(text),))))
    whole, first = books.place("cell:b")
    assert whole == f"{BOOK}#{language}"
    assert books.cell_at(whole, first) == (books.cells["cell:b"], first)
    assert (mirror[PYTHON].text == "x\ny\n") is (language != "python")
    mirror.hear(books.change(Changed("cell:b", 3, (rewrite("z"),))))
    assert mirror.keys() == {PYTHON}
    assert mirror[PYTHON].text == "x\nz\ny\n"


TEXTS = st.one_of(
    st.text(st.sampled_from("ab\n\r漢"), max_size=8), st.sampled_from(["%%sql\na", "%%time\nb"])
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("arrange"), st.lists(st.sampled_from("abcde"), unique=True), TEXTS),
        st.tuples(st.just("change"), st.sampled_from("abcde"), TEXTS),
    ),
    max_size=8,
)


@given(STEPS)
def test_events_tell_all_there_is_to_know(steps: list[tuple[str, list[str] | str, str]]) -> None:
    """After them, every line of every open cell is at its place."""
    books = Notebooks()
    mirror = Mirror()
    for what, names, text in steps:
        if what == "change":
            mirror.hear(books.change(Changed(f"cell:{names}", 2, (rewrite(text),))))
            continue
        fresh = [
            cell(name, text, "sql" if name in "bd" else "python")
            for name in names
            if f"cell:{name}" not in books.cells
        ]
        mirror.hear(books.arrange(BOOK, order("".join(names)), fresh))
    assert set(mirror) == set(books.documents(BOOK))
    for uri, document in books.cells.items():
        whole, first = books.place(uri)
        there = mirror[whole].lines[first : first + len(document.lines)]
        assert [body(line) for line in there] == [body(line) for line in document.lines]
