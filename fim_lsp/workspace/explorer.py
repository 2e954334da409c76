"""
The index of a workspace's files that are not open: grown in the background, looked into when asked.
State.

The editor need not tell of files: they are listed again now and then. Work in the background takes
half of the time; what blocks says so, and belongs in a worker thread.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from fim_lsp.context.chunks import SOURCE_CHARS, CutText, Source, cut
from fim_lsp.context.definitions import Definition, Syntax, read_syntax
from fim_lsp.context.grammars import grammar_of
from fim_lsp.context.index import Index, holding, update_index
from fim_lsp.context.syntax import Unit, UnitKind
from fim_lsp.context.uses import Renamed, Renaming, Use
from fim_lsp.documents import Document
from fim_lsp.next_edit.edits import EditedText
from fim_lsp.settings.config import Config
from fim_lsp.workspace import paths
from fim_lsp.workspace.files import grow, list_files, on_disk
from server_bridge.machine.executables import PACKAGES, Child, python_command, start

# -- reader ------------------------------------------------------------------------------------
# Sources into pieces, each version of a file read once. Blocking: called in worker threads.
#
# Texts are parsed in a child process (`syntax_child`), so that none can hold or end the session. A
# text that takes it too long, or ends it, has no syntax; neither has any other once `DEATHS` texts
# did.
#
# State: what was read last of the files in use, and the child, started for the first text. Two
# workspaces may be updated at a time, so a lock lets one text be parsed after the other.


LIMIT_S = 20.0
"""Until a child without an answer is ended. It ends itself after `syntax_child.CPU_S` of work; this
is ten times that, for busy machines and for Windows, which cannot count work."""

DEATHS = 20
"""Children that may be lost. Each costs up to 2 s of work and 0.1 s for the next one to start."""

_CHILD = python_command("fim_lsp.workspace.syntax_child")

log = logging.getLogger(__name__)


class SyntaxProcess:
    """See the module. *closed* says that `end` was called."""

    def __init__(self) -> None:
        self.closed = False
        self._child: Child | None = None
        self._n_deaths = 0

    def syntax(self, language: str, text: str) -> Syntax | None:
        """Run `read_syntax`; None for a text that cannot be read."""
        if grammar_of(language) is None:
            return read_syntax(language, text)  # blocks of lines
        answer = self._ask({"language": language, "text": text, "renamings": None})
        if answer is None:
            log.debug("a %s text of %d characters is not parsed", language, len(text))
            return None
        units, definitions = answer
        return Syntax(
            tuple(
                Unit(UnitKind(kind), name, start, end, depth, tuple(names))
                for kind, name, start, end, depth, names in units
            ),
            tuple(Definition(*row) for row in definitions),
        )

    def uses(
        self, language: str, text: str, renamings: Sequence[Renaming]
    ) -> list[Renamed | None] | None:
        """Run `find_uses`; None for a text that cannot be read."""
        answer = self._ask({"language": language, "text": text, "renamings": renamings})
        return answer and [
            row and Renamed(tuple(Use(*use) for use in row[0]), *row[1:]) for row in answer
        ]

    def end(self) -> None:
        """End the child for good. From any thread: a text that waits for its answer gets none."""
        self.closed = True
        if self._child is not None:
            self._child.kill()

    def close(self) -> None:
        """Let go of a child that was ended, when no text waits for it."""
        if self._child is not None:
            _end(self._child)
            self._child = None

    def _ask(self, request: dict[str, object]) -> list[Any] | None:
        """Return the child's answer, None when it has none."""
        if self.closed or self._n_deaths >= DEATHS:
            return None
        child = self._child = self._child or _start()
        if child is None:
            self._n_deaths = DEATHS
            return None
        watch = threading.Timer(LIMIT_S, child.kill)
        watch.start()
        try:
            reply = _exchange(child, json.dumps(request))
        finally:
            watch.cancel()
        if not reply.endswith("\n"):
            self._note_death(child)
            return None
        answer: list[Any] | None = json.loads(reply)
        return answer

    def _note_death(self, child: Child) -> None:
        self._child = None
        self._n_deaths += not self.closed
        _end(child)
        if self._n_deaths == DEATHS:
            log.info("%d texts ended the parser; from now on all are cut by lines", DEATHS)


def _start() -> Child | None:
    try:
        return start(_CHILD, PACKAGES)
    except OSError as error:
        log.info("no process to parse in, all texts are cut by lines: %s", error)
        return None


def _exchange(child: Child, request: str) -> str:
    """Return the line that *child* answers with; without a line end when it ended instead."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(request + "\n")
        child.stdin.flush()
        return child.stdout.readline()
    except (OSError, ValueError):
        return ""


def _end(child: Child) -> None:
    """End *child*: no process and no open pipe stay."""
    child.kill()
    try:
        child.communicate()
    except (OSError, ValueError):
        child.wait()


FILES = 50
"""Files of which the pieces are kept: an update of the ring looks at 20 open ones and at 24
others."""

CHARS = 4_000_000
"""Characters of these files together: their pieces take some four times that in memory."""


CLOSE_S = 0.5  # a text is cut in 0.1 s at most once it got no answer


class SourceReader:
    """See the module; one serves all workspaces of a session."""

    def __init__(self) -> None:
        self._process = SyntaxProcess()
        self._read: OrderedDict[str, tuple[Source, int, CutText]] = (
            OrderedDict()
        )  # by URI, most recent last
        self._unreadable: set[str] = set()  # files that are cut by lines from now on
        self._to_forget: list[Callable[[str], bool]] = []
        self._lock = threading.Lock()

    def read(self, source: Source) -> CutText:
        """Return *source* in pieces; none of a text longer than `SOURCE_CHARS`."""
        with self._lock:
            if self._process.closed:
                return CutText()
            self._forget_closed()
            entry = self._read.pop(source.uri, None)
            if entry is None or entry[0] != source:
                entry = self._cut(source)
            self._read[source.uri] = entry
            self._forget()
            return entry[2]

    def syntax(self, language: str, text: str) -> Syntax:
        """Read the syntax of a text that is not to be remembered; empty where it cannot be read."""
        with self._lock:
            return self._process.syntax(language, text) or Syntax()

    def find_uses(
        self, text: EditedText, renamings: Sequence[Renaming]
    ) -> Sequence[Renamed | None]:
        """Run `uses.find_uses` on a text that is open; all None where it cannot be read."""
        uses = None
        with self._lock:
            whole = "\n".join(text.lines)
            if text.uri not in self._unreadable and len(whole) <= SOURCE_CHARS:
                uses = self._process.uses(text.language, whole, renamings)
                if uses is None:
                    self._unreadable.add(text.uri)
        return uses or [None] * len(renamings)

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Keep nothing of the URIs that *is_gone* names, from the next read on."""
        self._to_forget.append(is_gone)

    def close(self) -> None:
        """End the process; what waits for it gets nothing."""
        self._process.end()
        if self._lock.acquire(timeout=CLOSE_S):
            self._process.close()
            self._lock.release()

    def _cut(self, source: Source) -> tuple[Source, int, CutText]:
        n_chars = sum(map(len, source.lines))
        if n_chars > SOURCE_CHARS:
            return source, 0, CutText()
        text, syntax = "".join(source.lines), None
        if source.uri not in self._unreadable:
            syntax = self._process.syntax(source.language, text)
        if syntax is None:
            self._unreadable.add(source.uri)
            syntax = read_syntax("", text)
        return source, n_chars, cut(source, syntax)

    def _forget_closed(self) -> None:
        while self._to_forget:
            is_gone = self._to_forget.pop()
            for uri in [kept for kept in (*self._read, *self._unreadable) if is_gone(kept)]:
                self._read.pop(uri, None)
                self._unreadable.discard(uri)

    def _forget(self) -> None:
        while len(self._read) > FILES or sum(size for _, size, _ in self._read.values()) > CHARS:
            self._read.popitem(last=False)


LISTING_S = 60  # between two looks at what files there are, for editors that do not tell
LISTING_SHARE = 0.01  # of the time, which very many files may not exceed either
PAUSE_S = 0.02  # between two slices of the index: half of the time is left to other work
HOLDING = 12  # files that are read to look for a text: some milliseconds, and 2.4 MB at most
EMPTY = Index()

Progress = Callable[[str, int, int], None]  # root, files done, files to do


class Explorer:
    """
    The files below *root*, a URI, "" for none. *reader* cuts texts; *progress* reports how many
    files are indexed, and of how many.
    """

    def __init__(self, root: str, reader: SourceReader, progress: Progress) -> None:
        self.index = EMPTY
        self.folder = paths.local_path(root) if root else None
        self._root = root
        self._reader = reader
        self._progress = progress
        self._due_s: float = 0.0  # loop time of the next listing
        self._listing: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()

    def explore(self, near: str, config: Config) -> None:
        """
        Bring the index up to date in the background, now and then, beginning with files beside
        *near*.
        """
        now = asyncio.get_running_loop().time()
        due = now >= self._due_s and (self._listing is None or self._listing.done())
        if due and self.folder:
            self._due_s = now + LISTING_S
            work = self._grow(Path(self.folder), near, config.privacy.exclude)
            self._begun.clear()
            self._listing = asyncio.create_task(work, name="index")
            self._listing.add_done_callback(lambda _: self._begun.set())

    def find_holding(
        self, texts: Sequence[str], near: str, opened: Collection[str], config: Config
    ) -> list[Document]:
        """
        Return files that may hold one of *texts*, as they are on disk: none that is private, or
        *opened*.

        Those in the folder of the file *near* come first. Blocking.
        """
        unopened = (path for path in holding(self.index, texts, near) if path not in opened)
        documents = (self.read(path, config) for path in itertools.islice(unopened, HOLDING))
        return [document for document in documents if document]

    def read(self, path: str, config: Config) -> Document | None:
        """
        Return a file that is not open as it is now; None when it is gone or private. Blocking.
        """
        if not self.folder:
            return None
        return on_disk(Path(self.folder), self._root, path, config.privacy.exclude)

    def invalidate_listing(self) -> None:
        """List the files again when next asked: some changed."""
        self._due_s = 0.0

    def forget(self) -> None:
        """Begin again with nothing: the rules of what is private changed."""
        self.invalidate_listing()
        self.index = EMPTY
        self.stop()

    def stop(self) -> None:
        """End the work in the background."""
        if self._listing is not None:
            self._listing.cancel()

    async def wait_begun(self) -> None:
        """
        Wait until the files that matter most near the last `explore` are known: a moment, and only
        at first.
        """
        if not self.index.entries and self._listing is not None:
            await self._begun.wait()

    async def wait_explored(self) -> None:
        """Wait until the index is whole; for tests and benchmarks."""
        while self._listing and not self._listing.done():
            await asyncio.wait([self._listing])

    async def _grow(self, folder: Path, near: str, excludes: tuple[str, ...]) -> None:
        loop = asyncio.get_running_loop()
        began, due = loop.time(), self._due_s
        listing = await asyncio.to_thread(list_files, folder, near, excludes)
        if due == self._due_s:  # nothing changed meanwhile
            self._due_s = max(due, began + (loop.time() - began) / LISTING_SHARE)
        stamps = {path: entry.stamp for path, entry in self.index.entries.items()}
        if gone := {path: None for path in stamps if path not in listing}:
            self.index = update_index(self.index, gone)
        todo: Sequence[str] = [p for p, stamp in listing.items() if stamps.get(p) != stamp]
        n_todo = len(todo)
        while todo:
            self.index, todo = await asyncio.to_thread(
                grow, self.index, folder, listing, todo, self._reader.syntax
            )
            self._begun.set()
            self._progress(self._root, n_todo - len(todo), n_todo)
            await asyncio.sleep(PAUSE_S)
