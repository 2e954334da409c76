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
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from fim_lsp import events
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Document, Edit, Position, after, difference, unix
from fim_lsp.http.excerpt import Excerpt, Placed, alone, placed
from fim_lsp.http.requests import Asked
from fim_lsp.http.whose_text import file_of
from fim_lsp.session.session import Session
from fim_lsp.suggest.request import Selected
from fim_lsp.workspace.files import uri_of
from server_bridge.protocol import Chunk

KEPT = 8  # texts that were asked about last
SHOWN = 16  # other texts that clients show, the newest


@dataclass(slots=True)
class Text:
    """A document of the session, where its cursor was last, and what was suggested there."""

    uri: str
    cursor: Position
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
        self._versions = itertools.count(2)
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
            found = self._found(excerpt)
            if found is None:
                return None if asked.ahead else await self._opened(excerpt)
            text, where = found
            document, lines = self._session.documents[text.uri], where.lines
            if (inserted := _inserted(document, text.cursor, lines)) is not None:
                if asked.ahead or (asked.may_be_ahead and inserted == text.suggested):
                    return Place(text, where.cursor, Selected(text.cursor, text.cursor, inserted))
                self._insert(document, text, inserted)
            elif asked.ahead:
                return None
            elif lines != document.lines:
                self._change(text.uri, difference(document.lines, lines))
            text.cursor = where.cursor
            return Place(text, where.cursor)

    def show(self, extras: tuple[Chunk, ...]) -> None:
        """Let other texts inform suggestions; files of the folder are known already, as they are on disk."""
        for uri, text in self._named(extras).items():
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
        documents = self._session.documents
        if excerpt.path:
            text = self._kept.get(self._uri(excerpt.path))
            if text is None:
                return None
            return text, placed(documents[text.uri].lines, excerpt) or alone(excerpt)
        best: tuple[str, Placed] | None = None
        for key, text in reversed(self._kept.items()):
            where = placed(documents[text.uri].lines, excerpt)
            if where and (best is None or where.n_alike > best[1].n_alike):
                best = key, where
        if best is None:
            return None
        self._kept.move_to_end(best[0])
        return self._kept[best[0]], best[1]

    async def _opened(self, excerpt: Excerpt) -> Place:
        path = excerpt.path
        if not path and self._folder:
            path = await asyncio.to_thread(file_of, excerpt, self._folder)
        key = uri = self._uri(path or f"untitled-{next(self._numbers)}")
        if uri in self._session.documents and uri not in self._shown:
            uri = self._uri(f"untitled-{next(self._numbers)}")  # an editor has its own text there
        self._shown.pop(uri, None)
        language = excerpt.language or language_of(path)
        where = alone(excerpt)
        text = self._kept[key] = Text(uri, where.cursor)
        body = excerpt.before + excerpt.after
        self._session.handle(events.Opened(uri, language, next(self._versions), body))
        while len(self._kept) > KEPT:
            self._session.handle(events.Closed(self._kept.popitem(last=False)[1].uri))
        return Place(text, where.cursor)

    def _uri(self, path: str) -> str:
        path = os.path.normpath(path.replace("\0", ""))
        absolute = Path(path).is_absolute()
        return Path(path).as_uri() if absolute else uri_of(self._root or "untitled:", path)

    def _named(self, extras: tuple[Chunk, ...]) -> dict[str, str]:
        """The texts by URI that are not on disk below the folder; pieces of one file together."""
        found: dict[str, str] = {}
        for name, text in extras:
            if name and not (self._folder and (self._folder / name).exists()):
                uri = self._uri(name)
                found[uri] = f"{found[uri]}\n{unix(text)}" if uri in found else unix(text)
        return found

    # -- edits ----------------------------------------------------------------------------------

    def _insert(self, document: Document, text: Text, inserted: str) -> None:
        """The user typed *inserted*, or accepted what was suggested and typed the rest."""
        at, accepted = text.cursor, text.suggested
        if accepted and len(inserted) > len(accepted) and inserted.startswith(accepted):
            self._change(document.uri, Edit(at, at, accepted))
            at, inserted = after(at, accepted), inserted[len(accepted) :]
        self._change(document.uri, Edit(at, at, inserted))

    def _change(self, uri: str, edit: Edit) -> None:
        self._session.handle(events.Changed(uri, next(self._versions), (edit,)))


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
