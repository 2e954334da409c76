"""
Finds out which open documents are private, before anything of them is used. State: the looks.

Until a document is judged it counts as private (`UNJUDGED`), and nothing of it is shown. A fixed
pool of threads judges files; a file that a request waits for goes first, and a disk that does not
answer holds up no other file. A request waits for the verdicts on what its prompt may hold, for
`LIMIT_S` at most. A change of the rules has all judged again, also the remembered files that are
not open, once for changes that follow each other. A file that is private now is in no prompt that
is made later, its saved text is deleted, and the embedded engine is ended, also where it was
another session that showed it the file.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from fim_lsp.session.connection import Connection
from fim_lsp.session.lane import Withdrawn
from fim_lsp.session.persistence import Persistence
from fim_lsp.session.shared_engine import SharedEngine
from fim_lsp.session.state.model_view import UNJUDGED, Verdict
from fim_lsp.session.state.open_document import OpenDocument
from fim_lsp.session.state.open_documents import OpenDocuments
from fim_lsp.session.state.verdicts import CALM_S, LIMIT_S, SOON_S, Judged, is_elsewhere, is_unsure
from fim_lsp.session.state.workspaces import Workspace
from fim_lsp.tasks import Tasks

RING_S = 0.5  # for the files in the ring: without their verdicts a document is used without them
BY_HAND_S = 10.0  # a machine that is busy, and not a disk that does not answer
BURST_S = 0.5  # of changes that follow each other, until all is judged in spite of them
SLICE_S = 0.02  # of documents that are begun, without a look at what else is to be done
AT_ONCE = 4  # looks
TURN_S = 0.02  # most looks take a moment; one that takes longer has its own thread

Key = str | Workspace  # a document by its URI, or what a workspace remembers

log = logging.getLogger(__name__)


class Look(NamedTuple):
    """
    A look at the disk; *ended* is cancelled when it has, *since* when it is due, or begun (loop
    time).
    """

    ended: asyncio.Future[None]
    since: float


@dataclass(eq=False, repr=False)
class Judging:
    """The judges of open documents, and of remembered files when a rule changes."""

    _connection: Connection
    _open: OpenDocuments
    _persistence: Persistence
    _engine: SharedEngine
    _looks: dict[Key, Look] = field(default_factory=dict)
    _unbegun: OrderedDict[OpenDocument, None] = field(default_factory=OrderedDict)
    _due: OrderedDict[Key, None] = field(default_factory=OrderedDict)  # those that have no turn yet
    _turns: Tasks = field(default_factory=Tasks)
    _looking: Tasks = field(default_factory=Tasks)
    _forgetting: Tasks = field(default_factory=Tasks)
    _forgets_soon: bool = False
    _burst_at: float = 0.0  # when changes of the rules began that follow each other (loop time)
    _calm_at: float = 0.0  # nothing is judged before

    def begin_again(self, documents: Collection[OpenDocument]) -> None:
        """Judge *documents*, since the rules changed: once for many changes, as of a checkout."""
        now = _now()
        self._burst_at = self._burst_at if now < self._calm_at else now
        self._calm_at = min(now + CALM_S, self._burst_at + BURST_S)
        self.begin(documents)

    def begin(self, documents: Collection[OpenDocument]) -> None:
        """
        Judge *documents*, in slices; a document that is too large is not used at all. Work for one
        that is judged goes on until it is found elsewhere.
        """
        is_beginning = bool(self._unbegun)
        self._unbegun.update(dict.fromkeys(documents))
        ends = _now() + SLICE_S
        try:
            while self._unbegun:
                self._begin_document(self._unbegun.popitem(last=False)[0])
                if _now() > ends:
                    break
        finally:  # if a look fails, the others still begin
            if self._unbegun and not is_beginning:
                self._looking.start(self._begin_rest(), "judge")

    async def _begin_rest(self) -> None:
        await asyncio.sleep(0)
        documents = self._unbegun
        self._unbegun = OrderedDict()
        self.begin(documents)

    def _begin_document(self, doc: OpenDocument) -> None:
        """Judge *doc*, unless it is closed; one that is judged, if it lies elsewhere by now."""
        if self._open.place(doc.uri) is doc:
            if doc.view.verdict is Verdict.UNJUDGED:
                self.begin_look(doc.workspace)
            doc.view.doubt()
            self.begin_look(doc.uri)

    def begin_look(self, key: Key) -> None:
        """Look at *key* when it is its turn; a look under way is had again if that is needed."""
        if key not in self._looks and not self._turns.are_over:
            self._looks[key] = Look(asyncio.get_running_loop().create_future(), _now())
            self._due[key] = None
            if sum(not task.done() for task in self._turns) < AT_ONCE:
                self._turns.start(self._take_turns(), "judge")

    async def wait_judged(self, uri: str, *, invoked: bool = False) -> None:
        """
        Wait for the verdicts on what a prompt for the document may hold: a text without a verdict
        in time is left out of it. A user who asks by hand waits longer, for that on the document
        alone.
        """
        doc = self._open.by_uri.get(uri)
        if doc and uri not in self._looks and doc.view.verdict is Verdict.UNJUDGED:
            self._begin_document(doc)  # where it could not be judged, or many others come first
        until = _now() + LIMIT_S
        for key in (uri, doc.workspace) if doc else ():
            if key in self._due:
                self._due.move_to_end(key, last=False)
                self._looks[key] = self._looks[key]._replace(since=_now())
        while looks := [*self._list_awaited(uri, until)]:
            for ended, at in looks:
                if (left_s := at - _now()) > 0:
                    await asyncio.wait([ended], timeout=left_s)
        if invoked and (look := self._looks.get(uri)):
            left_s = look.since + BY_HAND_S - _now()
            await asyncio.wait([look.ended], timeout=max(0.0, left_s))

    async def wait_settled(self) -> None:
        """Wait until all is judged and what is private is forgotten; for tests and benchmarks."""
        while tasks := {k.ended for k in self._looks.values()} | self._looking | self._forgetting:
            await asyncio.wait(tasks)
        await self._persistence.wait_audited()

    async def admit(self, uri: str) -> OpenDocument:
        """
        Return the document, once every verdict is there. Raises Withdrawn where nothing of it may
        be used.
        """
        await self.wait_judged(uri)
        if (doc := self._open.by_uri.get(uri)) is None:
            raise Withdrawn("the document is not open")
        if why := doc.view.refusal:
            raise Withdrawn(why.words)
        return doc

    async def aclose(self) -> None:
        """End the looks; finish forgetting."""
        self._turns.end()
        for look in self._looks.values():
            look.ended.cancel()
        await self._looking.aclose()
        await self._forgetting.aclose(None)

    async def _take_turns(self) -> None:
        await self._wait_calm()
        while self._due:
            key, _ = self._due.popitem(last=False)
            await asyncio.wait([self._looking.start(self._look(key), "judge")], timeout=TURN_S)
            await self._wait_calm()

    async def _look(self, key: Key) -> None:
        try:
            await (self._judge(key) if isinstance(key, str) else self._judge_remembered(key))
        finally:
            self._looks.pop(key).ended.cancel()

    def _list_awaited(self, uri: str, until: float) -> Iterator[tuple[asyncio.Future[None], float]]:
        """
        Yield the looks that a request in the document waits for, and until when: at what a prompt
        for it holds, and for a moment at what one may hold next.
        """
        if (doc := self._open.by_uri.get(uri)) is None:
            return
        of_here = {other.uri for other in self._open.of(doc.workspace)}
        for key, look in self._looks.items():
            if key in of_here:  # their own verdicts wait for the ring
                is_held = key == uri or doc.workspace.memory.knows(str(key))
                at = min(until, look.since + (LIMIT_S if is_held else SOON_S))
                if at > _now() and not look.ended.done():
                    yield look.ended, at

    async def _judge(self, uri: str) -> None:
        """Judge the document *uri*; again where it was begun again meanwhile."""
        last: object = None
        while (doc := self._open.place(uri)) and (question := doc.view.question) is not last:
            last = question
            if doc.view.verdict is Verdict.UNJUDGED:
                seen = await self._see(doc)
                if ring := self._looks.get(doc.workspace):
                    left_s = ring.since + RING_S - _now()
                    await asyncio.wait([ring.ended], timeout=max(0, left_s))
                if doc.view.question is question and not doc.is_closed:
                    self._decide(doc, seen)
                    last = doc.view.question
            elif not doc.workspace.may_show(uri) or await is_elsewhere(uri, doc.view.place):
                doc.suspend()
            await self._wait_calm()
            self._looks[uri] = self._looks[uri]._replace(since=_now())

    async def _wait_calm(self) -> None:
        while (left_s := self._calm_at - _now()) > 0:
            await asyncio.sleep(left_s)

    async def _see(self, doc: OpenDocument) -> Judged:
        try:
            config = self._connection.config
            return await self._open.workspaces.verdicts.find(doc.uri, doc.document.lines, config)
        except Exception:
            log.exception("%s is not judged: it counts as private", doc.file.path)
            return Judged(UNJUDGED)

    async def _judge_remembered(self, workspace: Workspace) -> None:
        """Judge what is remembered of files that are not open, of an earlier session, too."""
        await self._persistence.restore_ring(workspace)
        self._engine.add(*workspace.memory.uris)
        await self._wait_calm()
        while workspace.is_unsure(self._connection.config.privacy):
            self._looks[workspace] = self._looks[workspace]._replace(since=_now())
            if await workspace.reverify(self._connection.config.privacy):
                self._begin_forget()
            await self._wait_calm()

    def _decide(self, doc: OpenDocument, seen: Judged) -> None:
        """Act on the verdict on *doc*."""
        if seen.why == UNJUDGED or is_unsure(seen.why):
            doc.view.explain(seen.why)
        elif seen.why:
            if _was_used(doc):
                self._begin_forget()
            else:
                self._engine.forget(doc.uri)
            doc.refuse(seen.why, place=seen.place)
        else:
            self._engine.add(doc.uri)
            doc.allow(seen.place)
            self._persistence.begin_restore(doc)

    def _begin_forget(self) -> None:
        """Forget what is private, in the engine and on disk, with what is judged now as well."""
        if not self._forgets_soon:
            self._forgets_soon = True
            self._forgetting.start(self._forget_soon(), "forget")

    async def _forget_soon(self) -> None:
        if looks := [*self._looking, *(look.ended for look in [*self._looks.values()][-1:])]:
            await asyncio.wait(looks, timeout=SOON_S)
        self._forgets_soon = False
        await self._persistence.end_engines()
        self._connection.forget()
        self._persistence.begin_audit()
        await self._persistence.wait_audited()


def _was_used(doc: OpenDocument) -> bool:
    """Return whether text of it may be in the engine, in the ring, or on disk."""
    saved = doc.workspace.saved
    is_saved = saved is not None and doc.uri in saved.documents
    return is_saved or doc.workspace.memory.knows(doc.uri)


def _now() -> float:
    return asyncio.get_running_loop().time()
