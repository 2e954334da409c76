"""
Notebooks into documents: the cells of one language are, in their order, one text. State, no I/O.

Operations: `arranged` takes in which cells a notebook has, `changed` what happened to the text of one;
both return what that means for the joined documents, as events like any other. `place` says
which document a cell is part of and at which of its lines it begins.
Goal: a cell is completed in view of the cells before it, and nobody else needs to know of cells.
Plan: a cell's lines are whole lines of the joined document, in the same columns: each gets a `\\n` of
its own there. What changed is found by comparing, which costs a look at each line of the notebook.
"""

from __future__ import annotations

from collections.abc import Iterable

from fim_lsp.documents import Document, Edit, Position, alike, body, edited, opened
from fim_lsp.events import Changed, Closed, Event, Opened


class Notebooks:
    """See the module. *cells* are the open cells as their editor knows them, by URI."""

    def __init__(self) -> None:
        self.cells: dict[str, Document] = {}
        self._orders: dict[str, tuple[str, ...]] = {}
        self._joined: dict[str, Document] = {}

    def __repr__(self) -> str:
        return f"<Notebooks {len(self._orders)} with {len(self.cells)} cells>"

    def order(self, notebook: str) -> tuple[str, ...]:
        """The URIs of the cells of *notebook*, none if it is not open."""
        return self._orders.get(notebook, ())

    def documents(self, notebook: str) -> list[str]:
        """The URIs of the documents that *notebook* is to the rest of us, one per language."""
        return [uri for uri in self._joined if uri.rpartition("#")[0] == notebook]

    def place(self, uri: str) -> tuple[str, int]:
        """The document that holds *uri* and the line it begins at there; itself if it is no cell."""
        cell = self.cells.get(uri)
        if cell is None:
            return uri, 0
        notebook, order = self._around(uri)
        before = map(self.cells.get, order[: order.index(uri)])
        n_lines = sum(len(each.lines) for each in before if each and each.language == cell.language)
        return _uri(notebook, cell.language), n_lines

    def arranged(
        self, notebook: str, order: tuple[str, ...], fresh: Iterable[Opened]
    ) -> list[Event]:
        """*notebook* has the cells *order* now, of which *fresh* are new; none when it is closed."""
        for uri in set(self.order(notebook)) - set(order):
            self.cells.pop(uri, None)
        self.cells.update((cell.uri, opened(*cell)) for cell in fresh if cell.uri in order)
        self._orders[notebook] = order
        events = self._follow(notebook)
        if not order:
            del self._orders[notebook]
        return events

    def changed(self, change: Changed) -> list[Event]:
        """The text of a cell is another."""
        cell = self.cells.get(change.uri)
        if cell is None:
            return []
        self.cells[change.uri] = edited(cell, change.edits, change.version)
        return self._follow(self._around(change.uri)[0])

    def _around(self, cell: str) -> tuple[str, tuple[str, ...]]:
        """The notebook that an open cell is in, and its order."""
        return next((book, order) for book, order in self._orders.items() if cell in order)

    def _follow(self, notebook: str) -> list[Event]:
        """Make the joined documents what the cells are now."""
        texts: dict[str, list[str]] = {}
        for cell in filter(None, map(self.cells.get, self.order(notebook))):
            lines = (body(line) + "\n" for line in cell.lines)
            texts.setdefault(_uri(notebook, cell.language), []).extend(lines)
        events: list[Event] = []
        for uri in dict.fromkeys((*texts, *self.documents(notebook))):
            events += self._become(uri, (*texts[uri], "") if uri in texts else None)
        return events

    def _become(self, uri: str, lines: tuple[str, ...] | None) -> list[Event]:
        old, language = self._joined.get(uri), uri.rpartition("#")[2]
        if lines is None:
            del self._joined[uri]
            return [Closed(uri)]
        version = old.version + 1 if old else 1
        self._joined[uri] = Document(uri, language, version, lines)
        if old is None:
            return [Opened(uri, language, version, "".join(lines))]
        if old.lines == lines:
            return []
        return [Changed(uri, version, (_difference(old.lines, lines),))]


def _uri(notebook: str, language: str) -> str:
    return f"{notebook}#{language}"


def _difference(old: tuple[str, ...], new: tuple[str, ...]) -> Edit:
    """The edit that makes *new* of *old*: within a line if it is one line that changed."""
    above, below = alike(old, new)
    last = len(old) - below
    changed, text = old[above:last], new[above : len(new) - below]
    if len(changed) == len(text) == 1:
        left, right = alike(changed[0], text[0])
        end = len(changed[0]) - right
        return Edit(
            Position(above, left), Position(above, end), text[0][left : len(text[0]) - right]
        )
    return Edit(Position(above, 0), Position(last, 0), "".join(text))
