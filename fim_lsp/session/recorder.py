"""
What the user does between two commands, as a recording that `benchmarks.recorded` plays.

State: the entries so far, and each file as it was recorded last: as a prompt would show it, with
secrets redacted, a half-typed one at the cursor, too. So an entry is the difference between two
such texts. A file in which the cursor leaves a half-typed secret or several cursors type, and one
that is private in the end, is left out altogether; nothing is written before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from fim_lsp import events
from fim_lsp.context.secrets.scan import scrub_parts, scrub_text
from fim_lsp.documents import Document, Edit, Position, after, alike, difference
from fim_lsp.session.state.open_document import OpenDocument

TYPE = "workspaceRecording@1.0"  # VS Code's
MOST_CHARS = 5_000_000  # of all entries: some hours of work
ENTRY_CHARS = 80  # of an entry without its text
FILE_CHARS = 40_000  # all of a file is searched for secrets at each key: 40 ms at most


@dataclass(slots=True)
class Recorded:
    """A file: its document, its text as it was recorded last, and its entries; none if left out."""

    doc: OpenDocument
    text: str
    entries: list[dict[str, object]] = field(default_factory=list)
    is_left_out: bool = False


@dataclass(eq=False, repr=False)
class Recorder:
    """The files of a recording, and whether it is on; *now* returns the seconds since 1970."""

    _now: Callable[[], float]
    is_on: bool = False
    _files: dict[str, Recorded] = field(default_factory=dict)
    _left_chars: int = 0

    @property
    def documents(self) -> list[OpenDocument]:
        """The documents that were recorded, as they were when they were last open."""
        return [file.doc for file in self._files.values()]

    def begin(self) -> None:
        """Record from now on."""
        self._files, self._left_chars, self.is_on = {}, MOST_CHARS, True

    def note(self, doc: OpenDocument, before: Document, event: events.InDocument) -> None:
        """Record *event* in *doc*, which was *before*, if a model may be shown the document."""
        if not self.is_on or doc.refusal or sum(map(len, doc.document.lines)) > FILE_CHARS:
            return
        if doc.uri not in self._files:
            file = self._files[doc.uri] = Recorded(doc, scrub_text(before.text))
            self._add(file, "documentEncountered", relativePath=scrub_text(doc.file.path))
            self._add(file, "setContent", content=file.text)
        place = doc.place or doc.place_at(Position(0, 0))
        file, at = self._files[doc.uri], place.position
        match event:
            case events.Changed(edits=edits):
                whole = difference(before.lines, doc.document.lines)
                last = edits[-1] if len(edits) == 1 and isinstance(edits[-1], Edit) else whole
                self._note_text(file, doc, after(last.start, last.text), moves=False)
                if _types_at_many_places(edits):
                    file.is_left_out, file.entries = True, []
            case events.CursorMoved():
                n = self._note_text(file, doc, at, moves=True)
                self._add(file, "selectionChanged", selection=[[n, n]])
            case events.Focused():
                self._note_text(file, doc, at, moves=True)
                self._add(file, "focused")

    def end(self, private: Collection[str]) -> bytes:
        """Return the recording without the files *private*, by URI, and stop."""
        files = [file for uri, file in self._files.items() if uri not in private]
        entries = sorted((one for file in files for one in file.entries), key=_when)
        self._files, self.is_on = {}, False
        if not entries:
            return b""
        head = {"documentType": TYPE, "kind": "header", "time": entries[0]["time"]}
        return json.dumps({"log": [head, *entries]}).encode()

    def _note_text(self, file: Recorded, doc: OpenDocument, at: Position, *, moves: bool) -> int:
        """Record what became of the text, the cursor being *at*; return the cursor's offset."""
        start, end = Position(0, 0), doc.document.clamp(Position(len(doc.document.lines), 0))
        between = doc.document.between
        head, tail = scrub_parts((between(start, at), between(at, end)))
        text = head + tail
        if text != file.text and moves:  # only what is hidden can have changed
            file.is_left_out, file.entries = True, []
        elif text != file.text:
            self._add(file, "changed", edit=[_difference(file.text, text)])
        file.doc, file.text = doc, text
        return _n_units(head)

    def _add(self, file: Recorded, kind: str, **more: object) -> None:
        self._left_chars -= ENTRY_CHARS + len(str(more))
        if self._left_chars < 0 or file.is_left_out:
            return
        number = [*self._files].index(file.doc.uri)
        file.entries.append({"kind": kind, "id": number, "time": round(self._now() * 1000), **more})


def _types_at_many_places(edits: tuple[Edit | str, ...]) -> bool:
    """Return whether several cursors type the same: a half-typed secret is found at one of them."""
    texts = [edit.text.strip() for edit in edits if isinstance(edit, Edit)]
    return len(texts) > len({*texts, ""} - {""}) + texts.count("")


def _when(entry: dict[str, object]) -> int:
    return int(str(entry["time"]))


def _difference(old: str, new: str) -> list[object]:
    """Return the smallest replacement that makes *new* of *old*, in UTF-16 units of *old*."""
    head, tail = alike(old, new)
    start = _n_units(old[:head])
    return [start, start + _n_units(old[head : len(old) - tail]), new[head : len(new) - tail]]


def _n_units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
