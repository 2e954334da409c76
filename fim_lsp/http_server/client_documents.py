"""
Stateless requests into documents of the session: opened, edited as the client's text was, closed again. State.

A text belongs to the document of its path; one without a path, or with one that no file has, belongs to the document in
which most of its lines stand, else to the file in which they do, else to a new one. Where too many files might have it
to look at all, it is not answered: one of them could be private. What the user typed between two requests becomes one edit,
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
from fim_lsp.http_server.excerpt import Excerpt, Placed, alone, place_excerpt
from fim_lsp.http_server.find_file import LEAST, LookUp, Whose, telling, text_of
from fim_lsp.http_server.requests import Asked
from fim_lsp.session.session import Session
from fim_lsp.suggest.request import Selected
from fim_lsp.workspace.files import uri_of
from server_bridge.protocol import Chunk

KEPT = 8  # texts that were asked about last
VERSIONS = 1_000_000  # ours begin where no editor's gets to
SHOWN = 16  # other texts that clients show, the newest
PACE = 20  # a text is not looked up for lines that were typed before so many times what that took


@dataclass(slots=True)
class Text:
    """
    A document of the session, where its cursor was last, its version, and what was suggested there; the *lines* that
    it was looked up with, and when it may be looked up for a few more.
    """

    uri: str
    cursor: Position
    version: int
    suggested: str = ""
    lines: frozenset[str] = frozenset()
    rested_s: float = 0.0


class Place(NamedTuple):
    """The place of a request in a document: *selected* is text that counts as if it stood there already."""

    text: Text
    cursor: Position
    selected: Selected | None = None


class ClientDocuments:
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
        self._look_up = LookUp(folder, lambda: session.config.privacy.exclude) if folder else None

    async def place(self, asked: Asked) -> Place | None:
        """
        Return the place in the session where *asked* is to be answered, its text being as the
        client has it.

        None for a request ahead of the user that is not about what was suggested last. Raises NotKnown.
        """
        excerpt = asked.excerpt._replace(
            before=unix(asked.excerpt.before), after=unix(asked.excerpt.after)
        )
        async with self._turn:
            await self._show(asked.extras)
            self._forget_taken()
            found = self._find(excerpt)
            whose = await self._other(found[0], excerpt) if found else None
            if found is None or whose is not None:
                return None if asked.ahead else await self._open(excerpt, whose)
            return self._move(*found, asked)

    async def show(self, extras: tuple[Chunk, ...]) -> None:
        """Let other texts inform suggestions; files of the folder are known already, as they are on disk."""
        async with self._turn:
            await self._show(extras)

    async def _show(self, extras: tuple[Chunk, ...]) -> None:
        for uri, text in [*self._collect_named(extras).items()][-SHOWN:]:
            if uri in self._session.documents and uri not in self._shown:
                continue
            if self._look_up and not await self._look_up.is_new(text):
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

    def _find(self, excerpt: Excerpt) -> tuple[Text, Placed] | None:
        """Return the document that *excerpt* is from, with the excerpt in its place."""
        keys = [self._uri(excerpt.path)] if excerpt.path else [*reversed(self._kept)]
        best: tuple[str, Placed] | None = None
        for key in keys:
            text = self._kept.get(key)
            where = (
                place_excerpt(self._session.documents[text.uri].lines, excerpt) if text else None
            )
            if where and (best is None or where.n_alike > best[1].n_alike):
                best = key, where
        if best is None:
            return None
        self._kept.move_to_end(best[0])
        return self._kept[best[0]], best[1]

    async def _other(self, text: Text, excerpt: Excerpt) -> Whose | None:
        """Return the file that a text without a name is from if it is not the one that it was taken for."""
        lines, edges = telling(excerpt)
        if excerpt.path or self._look_up is None:
            return None
        document = self._session.documents[text.uri]
        seen = {line.strip() for line in (*document.lines, *text.suggested.split("\n"))}
        is_rested = asyncio.get_running_loop().time() >= text.rested_s
        n_typed = len(lines - edges - text.lines) if is_rested else 0
        if len(lines - edges - seen) < LEAST and n_typed < LEAST:
            return None
        whose = await self._look_up.whose(excerpt)
        self._note(text, lines)
        if not whose.path or self._uri(whose.path) == text.uri:
            return None
        self._session.handle(events.Closed(text.uri))
        self._kept = OrderedDict((k, each) for k, each in self._kept.items() if each is not text)
        return whose

    def _note(self, text: Text, lines: frozenset[str]) -> None:
        """Note that the text was just looked up, with *lines*."""
        text.lines |= lines
        if self._look_up:
            text.rested_s = asyncio.get_running_loop().time() + PACE * self._look_up.cost_s

    async def _open(self, excerpt: Excerpt, whose: Whose | None = None) -> Place:
        """Return a document for a text that is new, or a part of one that has nothing in common with what was seen of it."""
        path = excerpt.path
        found = await self._on_disk(path, excerpt) if self._is_there(path) else None
        if self._look_up and not found and not Path(path).is_absolute():
            whose = whose or await self._look_up.whose(excerpt)
            path = whose.path or path
            found = await self._on_disk(path, excerpt)
        lines, where = found or ((), alone(excerpt))
        lines = lines or where.lines
        path = path or f"untitled-{next(self._numbers)}"
        key = self._uri(excerpt.path or path)
        if not (text := self._kept.get(key)):
            uri = await self._free_uri(path)
            text = self._fresh(uri, excerpt.language or language_of(path), "".join(lines))
            self._kept[key] = text
        self._note(text, telling(excerpt)[0])
        if (lines := self._session.documents[text.uri].lines) != where.lines:
            self._change(text, difference(lines, where.lines))  # an edit that is not saved yet
        text.cursor = where.cursor
        while len(self._kept) > KEPT:
            self._session.handle(events.Closed(self._kept.popitem(last=False)[1].uri))
        return Place(text, where.cursor)

    async def _on_disk(self, path: str, excerpt: Excerpt) -> tuple[Sequence[str], Placed] | None:
        """Return the text of the folder's file *path*, with the excerpt in its place; None where it has none there."""
        if self._folder is None or not path or Path(path).is_absolute():
            return None
        lines = split(unix(await asyncio.to_thread(text_of, self._folder / path)))
        where = place_excerpt(lines, excerpt)
        return (lines, where) if where else None

    async def _free_uri(self, path: str) -> str:
        """Return the URI of *path*; if an editor has that file open, another one that is as private."""
        uri = self._uri(path)
        if uri not in self._session.documents or uri in self._shown:
            return uri
        if self._look_up and not await self._look_up.why_private(path):
            return self._uri(f"untitled-{next(self._numbers)}")
        return f"untitled:{uri.removeprefix('file://')}"

    def _fresh(self, uri: str, language: str, shown: str) -> Text:
        """Return a document of our own."""
        self._shown.pop(uri, None)
        text = Text(uri, Position(0, 0), next(self._versions))
        self._session.handle(events.Opened(uri, language, text.version, shown))
        return text

    def _forget_taken(self) -> None:
        """Forget documents that an editor has opened, changed or closed meanwhile: they are the editor's."""
        documents = self._session.documents
        for key, text in [*self._kept.items()]:
            if text.uri not in documents or documents[text.uri].version != text.version:
                del self._kept[key]

    def _uri(self, path: str) -> str:
        path = os.path.normpath(path.replace("\0", ""))
        absolute = Path(path).is_absolute()
        return Path(path).as_uri() if absolute else uri_of(self._root or "untitled:", path)

    def _collect_named(self, extras: tuple[Chunk, ...]) -> dict[str, str]:
        """Return the texts by URI that are not on disk below the folder; pieces of one file together."""
        found: dict[str, str] = {}
        for name, text in extras:
            if name and not self._is_there(name):
                uri = self._uri(name)
                found[uri] = f"{found[uri]}\n{unix(text)}" if uri in found else unix(text)
        return found

    def _is_there(self, name: str) -> bool:
        """Return whether a client that says *name* means a file of the folder, or one elsewhere."""
        folder = self._folder
        return bool(name) and folder is not None and os.path.lexists(folder / name)

    # -- edits ----------------------------------------------------------------------------------

    def _move(self, text: Text, where: Placed, asked: Asked) -> Place | None:
        """Let the document be as it is shown, but for what is not there yet."""
        document, lines = self._session.documents[text.uri], where.lines
        inserted = _find_insertion(document, text.cursor, lines)
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
        """Insert text that the user typed, or accepted in part and typed the rest."""
        at, accepted = text.cursor, text.suggested
        if accepted and len(inserted) > len(accepted) and inserted.startswith(accepted):
            self._change(text, Edit(at, at, accepted))
            at, inserted = after(at, accepted), inserted[len(accepted) :]
        self._change(text, Edit(at, at, inserted))

    def _change(self, text: Text, edit: Edit) -> None:
        text.version = next(self._versions)
        self._session.handle(events.Changed(text.uri, text.version, (edit,), is_a_key=False))


def _find_insertion(document: Document, cursor: Position, lines: tuple[str, ...]) -> str | None:
    """
    Return the text that was inserted at *cursor* to make *lines* of the document; None where it was
    something else.
    """
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
