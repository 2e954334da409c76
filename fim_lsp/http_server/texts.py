"""
Stateless requests into documents of the session: opened, edited as the client's text was, closed again. State.

A text belongs to the document of its path; one without a path belongs to the document in which most of its lines
stand, else to the file in which they do, else to a new one. What the user typed between two requests becomes one edit,
so that all that is kept for documents in an editor serves here, too.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fim_lsp import events
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Document, Edit, Position, after, difference, split, unix
from fim_lsp.http_server.excerpt import Excerpt, Placed, alone, placed
from fim_lsp.http_server.requests import Asked
from fim_lsp.http_server.whose_text import file_of, text_of
from fim_lsp.session.session import Session
from fim_lsp.suggest.request import Selected
from fim_lsp.workspace.files import uri_of
from server_bridge.protocol import Chunk

KEPT = 8  # texts that were asked about last
VERSIONS = 1_000_000  # ours begin where no editor's gets to
SHOWN = 16  # other texts that clients show, the newest


@dataclass(slots=True)
class Text:
    """A document of the session, where its cursor was last, its version, and what was suggested there."""

    uri: str
    cursor: Position
    version: int
    suggested: str = ""


class Place(NamedTuple):
    """Where a request is to be answered: *selected* is text that counts as if it stood there already."""

    text: Text
    cursor: Position
    selected: Selected | None = None


class Texts:
    """See the module. *root* is the folder that paths count from, as a URI; "" for none."""

    def __init__(self, session: Session, root: str, folder: Path | None) -> None:
        self._session = session
        self._root = root
        self._folder = folder
        self._kept: OrderedDict[str, Text] = OrderedDict()  # by the URI that the client means
        self._shown: OrderedDict[str, str] = OrderedDict()  # text by URI
        self._versions = itertools.count(VERSIONS)
        self._numbers = itertools.count(1)
        self._turn = asyncio.Lock()

    async def place(self, asked: Asked) -> Place | None:
        """
        Where in the session *asked* is to be answered, its text being as the client has it.

        None for a request ahead of the user that is not about what was suggested last.
        """
        excerpt = asked.excerpt._replace(
            before=unix(asked.excerpt.before), after=unix(asked.excerpt.after)
        )
        async with self._turn:
            self.show(asked.extras)
            self._forget_taken()
            found = self._found(excerpt)
            if found is None:
                return None if asked.ahead else await self._opened(excerpt)
            return self._moved(*found, asked)

    def show(self, extras: tuple[Chunk, ...]) -> None:
        """Let other texts inform suggestions; files of the folder are known already, as they are on disk."""
        for uri, text in [*self._named(extras).items()][-SHOWN:]:
            if uri in self._session.documents and uri not in self._shown:
                continue
            if self._shown.get(uri) != text:
                name = uri.rpartition("/")[2]
                self._session.handle(
                    events.Opened(uri, language_of(name), next(self._versions), text)
                )
            self._shown[uri] = text
            self._shown.move_to_end(uri)
        while len(self._shown) > SHOWN:
            self._session.handle(events.Closed(self._shown.popitem(last=False)[0]))

    def close(self) -> None:
        """Close all documents."""
        for uri in (*(text.uri for text in self._kept.values()), *self._shown):
            self._session.handle(events.Closed(uri))
        self._kept.clear()
        self._shown.clear()

    # -- which document -------------------------------------------------------------------------

    def _found(self, excerpt: Excerpt) -> tuple[Text, Placed] | None:
        """The document that *excerpt* is from, with the excerpt in its place."""
        keys = [self._uri(excerpt.path)] if excerpt.path else [*reversed(self._kept)]
        best: tuple[str, Placed] | None = None
        for key in keys:
            text = self._kept.get(key)
            where = placed(self._session.documents[text.uri].lines, excerpt) if text else None
            if where and (best is None or where.n_alike > best[1].n_alike):
                best = key, where
        if best is None:
            return None
        self._kept.move_to_end(best[0])
        return self._kept[best[0]], best[1]

    async def _opened(self, excerpt: Excerpt) -> Place:
        """A document for a text that is new, or a part of one that has nothing in common with what was seen of it."""
        path, on_disk = excerpt.path, ""
        if self._folder:
            path = path or await asyncio.to_thread(file_of, excerpt, self._folder)
            if path and not Path(path).is_absolute():
                on_disk = await asyncio.to_thread(text_of, self._folder / path)
        lines: Sequence[str] = split(unix(on_disk))
        if not (where := placed(lines, excerpt)):
            where = alone(excerpt)
            lines = where.lines
        key = self._uri(path or f"untitled-{next(self._numbers)}")
        if not (text := self._kept.get(key)):
            text = self._fresh(key, excerpt.language or language_of(path), "".join(lines))
            self._kept[key] = text
        if (lines := self._session.documents[text.uri].lines) != where.lines:
            self._change(text, difference(lines, where.lines))  # an edit that is not saved yet
        text.cursor = where.cursor
        while len(self._kept) > KEPT:
            self._session.handle(events.Closed(self._kept.popitem(last=False)[1].uri))
        return Place(text, where.cursor)

    def _fresh(self, uri: str, language: str, shown: str) -> Text:
        """A document of our own; beside that of an editor, if one has the file open."""
        if uri in self._session.documents and uri not in self._shown:
            uri = self._uri(f"untitled-{next(self._numbers)}")
        self._shown.pop(uri, None)
        text = Text(uri, Position(0, 0), next(self._versions))
        self._session.handle(events.Opened(uri, language, text.version, shown))
        return text

    def _forget_taken(self) -> None:
        """Documents that an editor has opened, changed or closed meanwhile are the editor's."""
        documents = self._session.documents
        for key, text in [*self._kept.items()]:
            if text.uri not in documents or documents[text.uri].version != text.version:
                del self._kept[key]

    def _uri(self, path: str) -> str:
        path = os.path.normpath(path.replace("\0", ""))
        absolute = Path(path).is_absolute()
        return Path(path).as_uri() if absolute else uri_of(self._root or "untitled:", path)

    def _named(self, extras: tuple[Chunk, ...]) -> dict[str, str]:
        """The texts by URI that are not on disk below the folder; pieces of one file together."""
        found: dict[str, str] = {}
        for name, text in extras:
            on_disk = self._folder is not None and os.path.exists(self._folder / name)  # noqa: PTH110 (names may be too long)
            if name and not on_disk:
                uri = self._uri(name)
                found[uri] = f"{found[uri]}\n{unix(text)}" if uri in found else unix(text)
        return found

    # -- edits ----------------------------------------------------------------------------------

    def _moved(self, text: Text, where: Placed, asked: Asked) -> Place | None:
        """Let the document be as it is shown, but for what is not there yet."""
        document, lines = self._session.documents[text.uri], where.lines
        inserted = _inserted(document, text.cursor, lines)
        if inserted is None and asked.ahead:
            return None
        if inserted is not None:
            if asked.ahead or (asked.may_be_ahead and inserted == text.suggested):
                return Place(text, where.cursor, Selected(text.cursor, text.cursor, inserted))
            self._insert(text, inserted)
        elif lines != document.lines:
            self._change(text, difference(document.lines, lines))
        text.cursor = where.cursor
        return Place(text, where.cursor)

    def _insert(self, text: Text, inserted: str) -> None:
        """The user typed *inserted*, or accepted what was suggested and typed the rest."""
        at, accepted = text.cursor, text.suggested
        if accepted and len(inserted) > len(accepted) and inserted.startswith(accepted):
            self._change(text, Edit(at, at, accepted))
            at, inserted = after(at, accepted), inserted[len(accepted) :]
        self._change(text, Edit(at, at, inserted))

    def _change(self, text: Text, edit: Edit) -> None:
        text.version = next(self._versions)
        self._session.handle(events.Changed(text.uri, text.version, (edit,), is_a_key=False))


def _inserted(document: Document, cursor: Position, lines: tuple[str, ...]) -> str | None:
    """What was inserted at *cursor* to make *lines* of the document; None where it was something else."""
    old, new = document.lines, lines
    row, column = document.clamp(cursor)
    n_below = len(old) - row - 1
    if len(new) < len(old) or new[:row] != old[:row] or new[len(new) - n_below :] != old[row + 1 :]:
        return None
    before, behind = old[row][:column], old[row][column:]
    changed = "".join(new[row : len(new) - n_below])
    if len(changed) <= len(old[row]):
        return None
    if not changed.startswith(before) or not changed.endswith(behind):
        return None
    return changed[column : len(changed) - len(behind)]
