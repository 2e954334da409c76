"""
Stateless requests into documents of the session: opened, edited as the client's text was, closed
again. State.

A text belongs to the document of its path. A text without a path, or with one that no file has, is
without a name: it belongs to the unnamed text in which most of its lines stand, else to a new one.
Which file it is from is not known, and so not whether that is private: see `paths.UNNAMED`. The
text that the user typed between two requests becomes one edit, so that all that is kept for
documents in an editor serves here, too.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from fim_lsp import events
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Document, Edit, Position, after, difference, unix
from fim_lsp.http_server.dialects import ClientRequest
from fim_lsp.http_server.excerpt import Excerpt, Placed, alone, place_excerpt
from fim_lsp.session.session import Session
from fim_lsp.workspace.files import on_disk, uri_of
from fim_lsp.workspace.paths import UNNAMED, local_path
from server_bridge.machine.disks import in_disk_thread, within

KEPT = 8  # texts that were asked about last
VERSIONS = 1_000_000  # ours begin where no editor's gets to
SHOWN = 16  # other texts that clients show, the newest


@dataclass(slots=True)
class ClientText:
    """
    A document of the session, where its cursor was last, its version, and what was suggested there.
    """

    uri: str
    cursor: Position
    version: int
    suggested: str = ""

    def note_suggested(self, text: str) -> None:
        """Remember what the client was given at the cursor."""
        self.suggested = text


class ClientPlace(NamedTuple):
    """
    The place of a request in a document: *selected* is text that counts as if it stood there
    already.
    """

    text: ClientText
    cursor: Position
    selected: Edit | None = None


class ClientDocuments:
    """
    The texts of stateless requests, as documents of a session. *root* is the folder that paths
    count from, as a URI; "" for none.
    """

    def __init__(self, session: Session, root: str) -> None:
        self._session = session
        self._root = root
        self._inside = f"{root.rstrip('/')}/"  # begins the URIs of its files
        folder = local_path(root) if root else None
        self._folder = Path(folder) if folder else None
        self._kept: OrderedDict[str, ClientText] = OrderedDict()  # by the URI that the client means
        self._shown: OrderedDict[str, str] = OrderedDict()  # text by URI
        self._versions = itertools.count(VERSIONS)
        self._numbers = itertools.count(1)
        self._turn = asyncio.Lock()

    async def place(self, request: ClientRequest) -> ClientPlace | None:
        """
        Return the place in the session where *request* is to be answered, its text being as the
        client has it.

        None for a request ahead of the user that is not about what was suggested last.
        """
        excerpt = request.excerpt._replace(
            before=unix(request.excerpt.before), after=unix(request.excerpt.after)
        )
        uris = await self._uris(request)
        uri = uris.get(excerpt.path or "", "")
        async with self._turn:
            self._forget_taken()
            if uri.startswith(UNNAMED) or not uri:
                self._show(request, uris)
            match = self._find(uri, excerpt)
            if match is None:
                return None if request.ahead else await self._open(uri, excerpt)
            return self._move(*match, request)

    async def show(self, request: ClientRequest) -> None:
        """
        Let other texts of a client inform suggestions in its texts without a name, pieces of one
        file together.
        """
        self._show(request, await self._uris(request))

    def _show(self, request: ClientRequest, uris: dict[str, str]) -> None:
        texts: dict[str, str] = {}
        for name, text in request.extras:
            uri = uris.get(name, "")
            if uri.startswith(self._inside):
                uri = UNNAMED + uri.removeprefix(self._inside)
            if not uri.startswith(UNNAMED):
                continue
            texts[uri] = f"{texts[uri]}\n{unix(text)}" if uri in texts else unix(text)
        for uri, text in [*texts.items()][-SHOWN:]:
            if uri in self._session.documents and uri not in self._shown:
                continue
            if self._shown.get(uri) != text:
                self._begin(uri, language_of(uri), text)
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

    def _find(self, uri: str, excerpt: Excerpt) -> tuple[ClientText, Placed] | None:
        """
        Return the document that *excerpt* is from, with the excerpt in its place; without *uri* any
        unnamed one.
        """
        fitting: list[tuple[str, ClientText, Placed]] = []
        for key, text in reversed(self._kept.items()):
            if key == uri or (not uri and key.startswith(UNNAMED)):
                lines = self._session.documents[text.uri].lines
                if where := place_excerpt(lines, excerpt):
                    fitting.append((key, text, where))
        if not fitting:
            return None
        key, text, where = max(fitting, key=lambda fit: fit[2].n_alike)
        self._kept.move_to_end(key)
        return text, where

    async def _open(self, uri: str, excerpt: Excerpt) -> ClientPlace:
        """
        Return a document for a text that is new, or a part of one that has nothing in common with
        what was seen of it.
        """
        uri = uri or uri_of(UNNAMED, f"untitled-{next(self._numbers)}")
        lines, where = await self._on_disk(uri, excerpt)
        if not (text := self._kept.get(uri)):
            ours = uri
            if uri in self._session.documents and uri not in self._shown:
                # An editor has that file open: another text that is as private.
                ours = f"untitled:{uri.removeprefix('file://')}"
            version = self._begin(ours, excerpt.language or language_of(uri), "".join(lines))
            self._shown.pop(ours, None)
            text = self._kept[uri] = ClientText(ours, Position(0, 0), version)
        if (lines := self._session.documents[text.uri].lines) != where.lines:
            self._change(text, difference(lines, where.lines))  # an edit that is not saved yet
        text.cursor = where.cursor
        while len(self._kept) > KEPT:
            self._session.handle(events.Closed(self._kept.popitem(last=False)[1].uri))
        return ClientPlace(text, where.cursor)

    async def _on_disk(self, uri: str, excerpt: Excerpt) -> tuple[tuple[str, ...], Placed]:
        """
        Return the lines of the folder's file *uri* with the excerpt in its place; without such a
        file those shown.
        """
        shown = alone(excerpt)
        if self._folder is None or not uri.startswith(self._inside):
            return shown.lines, shown
        path = unquote(uri.removeprefix(self._inside))
        privacy = self._session.config.privacy
        saved = await in_disk_thread(on_disk, self._folder, self._root, path, privacy)
        lines = tuple(map(unix, saved.lines)) if saved else ()
        where = place_excerpt(lines, excerpt) if saved else None
        return (lines, where) if where else (shown.lines, shown)

    def _begin(self, uri: str, language: str, text: str) -> int:
        """Open a document of our own; return its version."""
        version = next(self._versions)
        self._session.handle(events.Opened(uri, language, version, text))
        return version

    def _forget_taken(self) -> None:
        """
        Forget documents that an editor has opened, changed or closed meanwhile: they are the
        editor's.
        """
        documents = self._session.documents
        for key, text in [*self._kept.items()]:
            if text.uri not in documents or documents[text.uri].version != text.version:
                del self._kept[key]

    async def _uris(self, request: ClientRequest) -> dict[str, str]:
        """Return the URIs of the files that *request* names, by name."""
        paths = {*filter(None, (request.excerpt.path, *(name for name, _ in request.extras)))}
        try:
            return await within(lambda: {path: self._uri(path) for path in paths})
        except TimeoutError:  # a file of the folder, perhaps, which cannot be judged
            return {path: self._uri(path, is_there=True) for path in paths}

    def _uri(self, path: str, *, is_there: bool = False) -> str:
        """
        Return the URI of the file that a client calls *path*; of an unnamed text where no file is
        called so.
        """
        path = os.path.normpath(path.replace("\0", ""))
        if self._folder and path.startswith(".."):
            path = os.path.normpath(self._folder / path)
        if Path(path).is_absolute():
            return Path(path).as_uri()
        is_there = is_there or (self._folder is not None and os.path.lexists(self._folder / path))
        return uri_of(self._root if is_there and self._folder else UNNAMED, path)

    def _move(self, text: ClientText, where: Placed, request: ClientRequest) -> ClientPlace | None:
        """Let the document be as it is shown, but for what is not there yet."""
        document = self._session.documents[text.uri]
        lines = where.lines
        inserted = _find_insertion(document, text.cursor, lines)
        if inserted is None and request.ahead:
            return None
        if inserted is not None:
            if request.ahead or (request.may_be_ahead and inserted == text.suggested):
                return ClientPlace(text, where.cursor, Edit(text.cursor, text.cursor, inserted))
            self._insert(text, inserted)
        elif lines != document.lines:
            self._change(text, difference(document.lines, lines))
        text.cursor = where.cursor
        return ClientPlace(text, where.cursor)

    def _insert(self, text: ClientText, inserted: str) -> None:
        """Insert text that the user typed, or accepted in part and typed the rest."""
        at = text.cursor
        accepted = text.suggested
        if accepted and len(inserted) > len(accepted) and inserted.startswith(accepted):
            self._change(text, Edit(at, at, accepted))
            at = after(at, accepted)
            inserted = inserted[len(accepted) :]
        self._change(text, Edit(at, at, inserted))

    def _change(self, text: ClientText, edit: Edit) -> None:
        text.version = next(self._versions)
        self._session.handle(events.Changed(text.uri, text.version, (edit,), is_a_key=False))


def _find_insertion(document: Document, cursor: Position, lines: tuple[str, ...]) -> str | None:
    """
    Return the text that was inserted at *cursor* to make *lines* of the document; None where it was
    something else.
    """
    old = document.lines
    new = lines
    row, column = document.clamp(cursor)
    n_below = len(old) - row - 1
    if len(new) < len(old) or new[:row] != old[:row] or new[len(new) - n_below :] != old[row + 1 :]:
        return None
    before = old[row][:column]
    behind = old[row][column:]
    changed = "".join(new[row : len(new) - n_below])
    if len(changed) <= len(old[row]):
        return None
    if not changed.startswith(before) or not changed.endswith(behind):
        return None
    return changed[column : len(changed) - len(behind)]
