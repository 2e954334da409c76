"""
Renames of code that people write: one TOML file each, in `cases/<language or kind>/`.

`text` is a file with the user's edits `⟦old→new⟧`, made from the top; `expected` is the file once
the user took what was proposed until nothing is. `cells` and `expected_cells` are those of a
notebook. `cursors = true` says that the edits are typed at once, key by key, with a cursor at each.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fim_lsp.context.grammars import grammar_of
from fim_lsp.context.scopes import TABLES
from fim_lsp.documents import (
    Document,
    Edit,
    Position,
    apply_edits,
    body,
    difference,
    open_document,
)
from fim_lsp.events import Changed, Event, Opened
from fim_lsp.lsp.notebooks import Notebooks
from fim_lsp.next_edit.edits import text_of
from fim_lsp.next_edit.log import EditLog
from tests.parsing import propose

CASES = {
    path.relative_to(Path(__file__).parent / "cases").with_suffix("").as_posix(): tomllib.loads(
        path.read_text("utf-8")
    )
    for path in sorted((Path(__file__).parent / "cases").rglob("*.toml"))
}
MARK = re.compile("⟦(.*?)→(.*?)⟧")
MOST = 20  # proposals that are taken
NOTEBOOK = "file:///a.ipynb"


class Made(NamedTuple):
    """An edit of a case: where it stands once those before it on its line are made."""

    row: int
    column: int
    old: str
    new: str


def read(text: str) -> tuple[str, list[Made]]:
    """Return a text before the edits that are marked in it, and these."""
    made = list[Made]()
    for row, line in enumerate(text.split("\n")):
        shift = 0
        for mark in MARK.finditer(line):
            made.append(Made(row, mark.start() - shift, *mark.groups()))
            shift += len(mark[0]) - len(mark[2])
    return MARK.sub(r"\1", text), made


class Desk:
    """The document of a case, or those of a notebook's cells, and the log that follows them."""

    def __init__(self, language: str, *texts: str, is_notebook: bool) -> None:
        self.log = EditLog()
        self.now = 0.0
        self.documents = dict[str, Document]()
        self._book = Notebooks() if is_notebook else None
        self.uris = tuple(f"cell:{n}" for n, _ in enumerate(texts))
        opened = [
            Opened(uri, language, 1, text) for uri, text in zip(self.uris, texts, strict=True)
        ]
        self._hear(self._book.arrange(NOTEBOOK, self.uris, opened) if self._book else opened)

    @property
    def cells(self) -> dict[str, Document]:
        """The texts that the user sees."""
        return self._book.cells if self._book else self.documents

    def change(self, uri: str, *edits: Edit) -> None:
        """Note what a client tells of a text."""
        self.now += 1
        change = Changed(uri, self.cells[uri].version + 1, edits)
        self._hear(self._book.change(change) if self._book else [change])

    def _hear(self, news: Iterable[Event]) -> None:
        for event in news:
            match event:
                case Opened():
                    self.documents[event.uri] = open_document(*event)
                case Changed(uri, version, edits):
                    before = self.documents.pop(uri)
                    after = apply_edits(before, edits, version)
                    self.documents = {uri: after, **self.documents}
                    self.log.note_change(before, after, edits, self.now)

    def _cell_at(self, uri: str, line: int) -> tuple[Document, int]:
        place = self._book.cell_at(uri, line) if self._book else (self.documents[uri], 0)
        assert place is not None
        return place

    def make(self, cell: str, made: Made) -> None:
        self.change(cell, _replace(made.row, made.column, len(made.old), made.new))

    def type_at_cursors(self, cell: str, all_made: list[Made]) -> None:
        """Type the new names with a cursor at each old one; editors tell the last place first."""
        places = list[Made]()
        shifts = Counter[int]()
        for made in all_made:  # columns before any of them is made
            places.insert(0, made._replace(column=made.column - shifts[made.row]))
            shifts[made.row] += len(made.new) - len(made.old)
        self.change(cell, *(_replace(m.row, m.column, len(m.old), "") for m in places))
        for n, _ in enumerate(all_made[0].new):
            self.change(cell, *(_key(m, places, n) for m in places))

    def take_all(self) -> None:
        """Take proposals until there is none."""
        for _ in range(MOST):
            texts = [*map(text_of, self.documents.values())]
            proposal = propose(self.log.list_finished(self.now + 10), texts)
            if proposal is None:
                return
            cell, first = self._cell_at(proposal.uri, proposal.line)
            lines = [*cell.lines]
            start = proposal.line - first
            end = start + len(proposal.before)
            assert tuple(map(body, lines[start:end])) == proposal.before
            made = [f"{line}\n" for line in proposal.after]
            if end == len(lines):
                made[-1] = made[-1].removesuffix("\n")
            self.change(cell.uri, difference(cell.lines, [*lines[:start], *made, *lines[end:]]))
        pytest.fail(f"more than {MOST} proposals")


def _key(made: Made, places: list[Made], n: int) -> Edit:
    """Return the key *n* at one of the cursors, where no name stands any more."""
    before = [p for p in places if p.row == made.row and p.column < made.column]
    column = made.column + n + sum(n - len(p.old) for p in before)
    return _replace(made.row, column, 0, made.new[n])


def _replace(row: int, column: int, length: int, new: str) -> Edit:
    return Edit(Position(row, column), Position(row, column + length), new)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_was_renamed_is_carried_on(case: dict[str, Any]) -> None:
    """To all that means the same, and to nothing else."""
    marked = case.get("cells") or [case["text"]]
    expected = case.get("expected_cells") or [case["expected"]]
    parts = [read(text) for text in marked]
    texts = (text for text, _ in parts)
    desk = Desk(case.get("language", "python"), *texts, is_notebook="cells" in case)
    for cell, (_, made) in zip(desk.uris, parts, strict=True):
        if case.get("cursors"):
            desk.type_at_cursors(cell, made)
        for one in () if case.get("cursors") else made:
            desk.make(cell, one)
    desk.take_all()
    assert [desk.cells[uri].text for uri in desk.uris] == expected


def test_there_are_cases_of_all_grammars_with_names() -> None:
    """A row for each, at least."""
    languages = {case.get("language", "python") for case in CASES.values()}
    grammars = {grammar.module for language in languages if (grammar := grammar_of(language))}
    assert grammars == TABLES.keys()
    assert len(CASES) >= 40
