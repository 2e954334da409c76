"""
Notebooks into documents: the cells of one language are, in their order, one text. State, no I/O.

Operations: `arrange` takes in which cells a notebook has, `change` what happened to the text of
some; both return what that means for the joined documents, as events like any other. `place` says
which document a cell is part of and at which of its lines it begins.
Goal: a cell is completed in view of the cells before it, and only the server needs to know of
cells. A cell that another program runs (`%%sql`) is in the language of that one.
Plan: a cell's lines are whole lines of the joined document, in the same columns: each gets a `\\n`
of its own there. The change is found by comparing, which copies a pointer per line of the
notebook.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote, unquote

from fim_lsp.context.magics import language_of_cell
from fim_lsp.documents import Document, apply_edits, body, difference, open_document
from fim_lsp.events import Changed, Closed, Event, Opened


class Notebooks:
    """
    The notebooks of one editor. *cells* are the open cells as their editor knows them, by URI.
    """

    def __init__(self) -> None:
        self.cells: dict[str, Document] = {}
        self._orders: dict[str, tuple[str, ...]] = {}
        self._lines: dict[str, tuple[str, ...]] = {}  # of each cell, with `\n` after each
        self._joined: dict[str, Document] = {}

    def order(self, notebook: str) -> tuple[str, ...]:
        """Return the URIs of the cells of *notebook*, none if it is not open."""
        return self._orders.get(notebook, ())

    def documents(self, notebook: str) -> list[str]:
        """Return the URIs of the joined documents of *notebook*, one per language."""
        return [uri for uri in self._joined if uri.rpartition("#")[0] == notebook]

    def place(self, uri: str) -> tuple[str, int]:
        """
        Return the document that holds *uri* and the line it begins at there; itself if it is no
        cell.
        """
        cell = self.cells.get(uri)
        if cell is None:
            return uri, 0
        notebook, order = self._around(uri)
        before = map(self.cells.get, order[: order.index(uri)])
        language = _language(cell)
        n_lines = sum(
            len(other.lines) for other in before if other and _language(other) == language
        )
        return _uri(notebook, language), n_lines

    def cell_at(self, uri: str, line: int) -> tuple[Document, int] | None:
        """
        Return the cell that has *line* of the joined document *uri*, and where it begins there;
        None if *uri* names no cell.
        """
        if uri not in self._joined:
            return None
        language = self._joined[uri].language
        first = 0
        place = None
        for cell in filter(None, map(self.cells.get, self.order(uri.rpartition("#")[0]))):
            if _language(cell) == language and first <= line:
                place = cell, first
                first += len(cell.lines)
        return place

    def arrange(
        self, notebook: str, order: tuple[str, ...], fresh: Iterable[Opened]
    ) -> list[Event]:
        """
        Note that *notebook* has the cells *order* now, of which *fresh* are new; none when it is
        closed.
        """
        wanted = set(order)
        for uri in set(self.order(notebook)) - wanted:
            self.cells.pop(uri, None)
            self._lines.pop(uri, None)
        for cell in fresh:
            if cell.uri in wanted:
                self._put(open_document(*cell))
        self._orders[notebook] = order
        events = self._follow(notebook)
        if not order:
            del self._orders[notebook]
        return events

    def change(self, *changes: Changed) -> list[Event]:
        """Apply changes to the texts of cells."""
        notebooks: dict[str, None] = {}
        for uri, version, edits, _ in changes:
            if cell := self.cells.get(uri):
                self._put(apply_edits(cell, edits, version))
                notebooks[self._around(uri)[0]] = None
        return [event for notebook in notebooks for event in self._follow(notebook)]

    def _put(self, cell: Document) -> None:
        self.cells[cell.uri] = cell
        self._lines[cell.uri] = tuple(body(line) + "\n" for line in cell.lines)

    def _around(self, cell: str) -> tuple[str, tuple[str, ...]]:
        """Return the notebook that an open cell is in, and its order."""
        return next((book, order) for book, order in self._orders.items() if cell in order)

    def _follow(self, notebook: str) -> list[Event]:
        """Make the joined documents what the cells are now."""
        texts: dict[str, list[str]] = {}
        for cell in filter(None, map(self.cells.get, self.order(notebook))):
            texts.setdefault(_uri(notebook, _language(cell)), []).extend(self._lines[cell.uri])
        events: list[Event] = []
        for uri in dict.fromkeys((*texts, *self.documents(notebook))):
            events += self._become(uri, (*texts[uri], "") if uri in texts else None)
        return events

    def _become(self, uri: str, lines: tuple[str, ...] | None) -> list[Event]:
        old = self._joined.get(uri)
        language = unquote(uri.rpartition("#")[2])
        if lines is None:
            del self._joined[uri]
            return [Closed(uri)]
        version = old.version + 1 if old else 1
        self._joined[uri] = Document(uri, language, version, lines)
        if old is None:
            return [Opened(uri, language, version, "".join(lines))]
        if old.lines == lines:
            return []
        return [Changed(uri, version, (difference(old.lines, lines),))]


def _language(cell: Document) -> str:
    """Return the language that a cell is in, which its first line may say (`%%sql`)."""
    first = next((line for line in cell.lines if line.strip()), "")
    return language_of_cell(cell.language, first)


def _uri(notebook: str, language: str) -> str:
    return f"{notebook}#{quote(language, safe='')}"
