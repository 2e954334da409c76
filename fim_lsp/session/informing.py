"""
Code from other language servers into pieces that the ring may take. State: the tasks.

It was read by other programs, so each snippet is judged by the file that it names, as if that file
were read for this document: one in its workspace, or where package managers put files, and not
private. The rest is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from fim_lsp.context.chunks import Piece, Source, read_server_text
from fim_lsp.context.grammars import language_of
from fim_lsp.events import Informed, Snippet
from fim_lsp.session.judging import Judging
from fim_lsp.session.prefill import Prefill
from fim_lsp.session.state.open_document import source
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.verdicts import judge_apart
from fim_lsp.session.tasks import Tasks
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths
from fim_lsp.workspace.files import reread

MOST = 20  # messages whose files are looked at: each may hang

log = logging.getLogger(__name__)


class SnippetPlace(NamedTuple):
    """
    The workspace's folder, its root URI, what is open and may be used by URI, and the user's
    excludes.
    """

    folder: Path
    root: str
    opened: Mapping[str, Source]
    excludes: Collection[str]


@dataclass(eq=False, repr=False)
class Informing:
    """The snippets that other language servers sent, on their way into the ring."""

    _open: OpenDocuments
    _judging: Judging
    _prefill: Prefill
    _config: Callable[[], Config]
    _tasks: Tasks = field(default_factory=Tasks)

    def begin(self, event: Informed) -> None:
        """Record what was sent, once it is judged; nothing while `MOST` looks at a disk hang."""
        if self._config().ring.servers and len(self._tasks) < MOST:
            self._tasks.start(self._inform(event), "inform")

    async def _inform(self, event: Informed) -> None:
        await self._judging.wait_judged(event.uri)
        doc = self._open.by_uri.get(event.uri)
        folder = paths.local_path(doc.file.root) if doc and doc.file.root else None
        if doc is None or not doc.is_usable or folder is None:
            return
        usable = (other for other in self._open.of(doc.workspace) if other.is_usable)
        opened = {other.uri: source(other.document, other.file) for other in usable}
        place = SnippetPlace(Path(folder), doc.file.root, opened, self._config().privacy.exclude)
        pieces = await judge_apart(partial(_pieces, event.snippets, place))
        if doc.current is None:
            return  # closed, or the rules changed
        instead = {snippet.uri for snippet in event.snippets if snippet.replaces}
        if doc.workspace.memory.note_server_pieces(pieces, instead):
            self._prefill.prefill_next(doc)


def _pieces(snippets: Collection[Snippet], place: SnippetPlace) -> list[Piece]:
    """Read the files, and the ignore files above them, in a worker thread."""
    sources: dict[str, Source | None] = {}
    pieces = []
    for snippet in snippets:
        if snippet.uri not in sources:
            sources[snippet.uri] = _source(snippet.uri, place)
        file = sources[snippet.uri]
        piece = read_server_text(file, snippet.text) if file else None
        if piece is not None:
            pieces.append(piece)
    return pieces


def _source(uri: str, place: SnippetPlace) -> Source | None:
    """Return the text that *uri* names; None where it may not be used."""
    if uri in place.opened:
        return place.opened[uri]
    try:
        file, location = paths.local_path(uri), paths.locate(uri, (place.root,))
    except ValueError:  # no URI of a file
        return None
    if file is None or "\0" in str(file):
        return None
    name = location.path if location.root else f"{location.repo}/{location.path}"
    unread = Source(uri, name, language_of(name), -1, ())
    text = reread(file, place.folder, place.excludes, unread)
    if text is None:
        log.debug("context for %s is not used: the file is private, or not there", name)
    return text
