"""
A simulated editor: a user's actions into what an editor tells a language server. Pure.

Operations: open and switch files, move, type (with auto-indent and, if asked for, auto-closed
pairs), erase, select, undo, redo, yank, save, accept a suggestion, think.
Goal: traces that have the shape of real editing, the same for every client that is measured.
Plan: each action appends one `Step`: the pause before it, the events it causes, where the cursor
stands afterwards and whether the editor now asks for a suggestion. Nothing reacts to suggestions,
so a trace is one list for all rows of a table; `accept` inserts the text that was meant anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fim_lsp.documents import Document, Edit, Position, after, apply_edits, body, open_document
from fim_lsp.events import Changed, CursorMoved, Event, Focused, Opened, Saved, Yanked

INDENT = 4  # what Tab inserts and Backspace removes within the indentation
PAIRS = {"(": ")", "[": "]", "{": "}", '"': '"', "'": "'"}
CLOSERS = frozenset(PAIRS.values())

TypingPace = Callable[[str, str], float]  # (the key before, this key) -> milliseconds between them


class Step(NamedTuple):
    """One action: *wait_ms* passes before it; *key* says that it is a press of a key."""

    action: str
    wait_ms: float
    events: tuple[Event, ...]
    uri: str
    position: Position
    key: bool
    asks: bool


class Undo(NamedTuple):
    """A group of edits that takes back another group, and where the cursor stood then."""

    edits: tuple[Edit, ...]
    position: Position


class Editor:
    """See the module. State: the documents, the cursor, what can be undone, and the steps so far."""

    def __init__(self, pace: TypingPace, *, auto_close: bool = False) -> None:
        self.steps: list[Step] = []
        self.documents: dict[str, Document] = {}
        self.uri = ""
        self.position = Position(0, 0)
        self._pace = pace
        self._auto_close = auto_close
        self._cursors: dict[str, Position] = {}
        self._undo: dict[str, list[Undo]] = {}
        self._redo: dict[str, list[Undo]] = {}
        self._together = False  # the next edit belongs to the undo group of the last one
        self._selected: Position | None = None  # the other end of the selection
        self._closers = ""  # closers right of the cursor that were not typed but inserted
        self._thinks_ms = 0.0
        self._last_key = ""

    @property
    def document(self) -> Document:
        """The text on screen."""
        return self.documents[self.uri]

    @property
    def line(self) -> str:
        """The cursor's line without its end."""
        return body(self.document.lines[self.position.line])

    def think(self, ms: float) -> None:
        """Do nothing for a while."""
        self._thinks_ms += ms

    # -- files and the cursor --------------------------------------------------------------------

    def open(self, uri: str, language: str, text: str) -> None:
        """Open a file and look at it."""
        self.documents[uri] = open_document(uri, language, 1, text)
        self._cursors[uri] = Position(0, 0)
        self._undo[uri], self._redo[uri] = [], []
        self._look_at(uri)
        self._step("open", Opened(uri, language, 1, text), Focused(uri))

    def switch(self, uri: str) -> None:
        """Look at another open file, at the place left there."""
        self._look_at(uri)
        self._step("switch", Focused(uri), CursorMoved(uri, self.position), asks=True)

    def move(self, line: int, column: int) -> None:
        """Put the cursor somewhere else."""
        self._place(Position(line, column))
        self._step("move", CursorMoved(self.uri, self.position), asks=True)

    def select(self, start: Position, end: Position) -> None:
        """Select a range; the next key replaces it."""
        self._place(end)
        self._selected = start
        self._step("select", CursorMoved(self.uri, end))

    def yank(self, start: Position, end: Position) -> None:
        """Copy a range."""
        self._step("yank", Yanked(self.uri, self.document.between(start, end)))

    def save(self) -> None:
        """Write the file."""
        self._step("save", Saved(self.uri))

    # -- typing ------------------------------------------------------------------------------------

    def key(self, char: str) -> None:
        """Press a key that types *char*; over a closer the editor inserted it only moves."""
        if self._closers[:1] == char:
            self._closers = self._closers[1:]
            self.position = Position(self.position.line, self.position.column + 1)
            self._step("key", CursorMoved(self.uri, self.position), key=char, asks=True)
            return
        closer = PAIRS[char] if self._closes(char) else ""
        if char.isspace() and not self._last_key.isspace():
            self._together = False  # editors undo a word at a time
        self._type("key", char, char + closer, len(char))
        self._closers = closer + self._closers

    def enter(self) -> None:
        """Press Enter: a new line indented as this one, deeper after a colon or an open bracket."""
        here = self.line[: self.position.column]
        indent = len(here) - len(here.lstrip(" "))
        blank = indent if here.strip() == "" else 0  # a line left blank keeps no indentation
        deeper = INDENT if here.rstrip()[-1:] in (":", "(", "[", "{") else 0
        text = "\n" + " " * (indent + deeper)
        self._together = False
        start = Position(self.position.line, self.position.column - blank)
        self._replace("enter", start, self.position, text, len(text), key="\n")

    def tab(self) -> None:
        """Indent by one level at the cursor."""
        self._type("key", " ", " " * INDENT, INDENT)

    def backspace(self) -> None:
        """Erase a character, a level of indentation, or a pair just opened."""
        line, column = self.position
        if column == 0:
            start = Position(line - 1, len(body(self.document.lines[line - 1])))
        elif self.line[:column].strip() == "":
            start = Position(line, (column - 1) // INDENT * INDENT)
        else:
            start = Position(line, column - 1)
        opener = self.document.between(start, self.position)
        paired = self._closers[:1] == PAIRS.get(opener, "none")
        self._closers = self._closers[1:] if paired else self._closers
        self._replace("backspace", start, Position(line, column + paired), "", 0, key="\b")

    def delete(self) -> None:
        """Erase the character right of the cursor."""
        line, column = self.position
        self._closers = self._closers[1:]
        self._replace("delete", self.position, Position(line, column + 1), "", 0, key="\b")

    def accept(self, text: str) -> None:
        """Accept a suggestion, or as much of one as *text*."""
        self._together = False
        self._replace("accept", self.position, self.position, text, len(text), key="\t")
        self._together = False

    def undo(self) -> None:
        """Take back the last word, line or suggestion."""
        self._take_back("undo", self._undo[self.uri], self._redo[self.uri])

    def redo(self) -> None:
        """Take back an `undo`."""
        self._take_back("redo", self._redo[self.uri], self._undo[self.uri])

    # -- how it is done ----------------------------------------------------------------------------

    def _type(self, action: str, key: str, text: str, advance: int) -> None:
        start = self._selected or self.position
        self._replace(action, start, self.position, text, advance, key=key)

    def _replace(
        self, action: str, start: Position, end: Position, text: str, advance: int, *, key: str
    ) -> None:
        """Edit, put the cursor *advance* characters into *text*, and remember how to undo it."""
        before, edit = self.position, Edit(start, end, text)
        inverse = Edit(start, after(start, text), self.document.between(start, end))
        groups = self._undo[self.uri]
        if self._together and groups:
            groups[-1] = Undo((inverse, *groups[-1].edits), groups[-1].position)
        else:
            groups.append(Undo((inverse,), before))
        self._redo[self.uri].clear()
        self._together, self._selected = True, None
        if "\n" in text or end.line != start.line:
            self._closers = ""
        self._change(action, (edit,), after(start, text[:advance]), key)

    def _take_back(self, action: str, groups: list[Undo], others: list[Undo]) -> None:
        if not groups:
            return
        undo, document = groups.pop(), self.document
        inverses: list[Edit] = []
        for edit in undo.edits:
            lost = document.between(edit.start, edit.end)
            inverses.insert(0, Edit(edit.start, after(edit.start, edit.text), lost))
            document = apply_edits(document, [edit], document.version)
        others.append(Undo(tuple(inverses), self.position))
        self._together, self._selected, self._closers = False, None, ""
        self._change(action, undo.edits, undo.position, action)

    def _change(self, action: str, edits: tuple[Edit, ...], cursor: Position, key: str) -> None:
        version = self.document.version + 1
        self.documents[self.uri] = apply_edits(self.document, edits, version)
        self.position = cursor
        self._step(action, Changed(self.uri, version, edits), key=key, asks=True)

    def _closes(self, char: str) -> bool:
        """Return whether the editor inserts the other half of a pair: before a blank or a closer only."""
        column = self.position.column
        left, right = self.line[column - 1 : column], self.line[column : column + 1]
        word = char in CLOSERS and (left.isalnum() or left == char)  # an apostrophe, a docstring
        return self._auto_close and char in PAIRS and not word and right.strip() in {"", *CLOSERS}

    def _look_at(self, uri: str) -> None:
        self._cursors[self.uri] = self.position
        self.uri = uri
        self._place(self._cursors[uri])

    def _place(self, position: Position) -> None:
        self.position = self.document.clamp(position)
        self._together, self._selected, self._closers = False, None, ""

    def _step(self, action: str, *happened: Event, key: str = "", asks: bool = False) -> None:
        wait = self._thinks_ms + (self._pace(self._last_key, key) if key else 0)
        self.steps.append(Step(action, wait, happened, self.uri, self.position, bool(key), asks))
        self._thinks_ms, self._last_key = 0.0, key
