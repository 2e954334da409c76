"""
Sources into pieces, each version of a file read once. Blocking: called in worker threads.

Texts are parsed in a child process (`syntax_child`), so that none can hold or end the session. A
text that takes it too long, or ends it, has no syntax; once `DEATHS` texts did, no text has.

State: what was read last of the files in use, and the child, started for the first text. Two
workspaces may be updated at a time, so a lock lets one text be parsed after the other.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from fim_lsp.context.chunks import SOURCE_CHARS, Pieces, Source, cut
from fim_lsp.context.grammars import find_borders, grammar_of
from fim_lsp.context.uses import Renamed, Renaming
from fim_lsp.next_edit.edits import EditedText
from server_bridge.machine.executables import PACKAGES, Child, python_command, start

T = TypeVar("T")
log = logging.getLogger(__name__)

LIMIT_S = 20.0
"""Until a child without an answer is ended. It ends itself after `syntax_child.CPU_S` of work; this
is ten times that, for busy machines and for Windows, which cannot count work."""

DEATHS = 20
"""Children that may be lost. Each costs up to 2 s of work and 0.1 s for the next one to start."""

_CHILD = python_command("fim_lsp.workspace.syntax_child")


class SyntaxProcess:
    """The child process that parses, started for the first text. *closed*: `end` was called."""

    def __init__(self) -> None:
        self.closed = False
        self._child: Child | None = None
        self._n_deaths = 0

    def borders(self, language: str, text: str) -> tuple[int, ...] | None:
        """Run `find_borders`; None for a text that cannot be read."""
        if grammar_of(language) is None:
            return find_borders(language, text)  # blocks of lines
        return self._ask({"language": language, "text": text, "renamings": None}, tuple[int, ...])

    def uses(
        self, language: str, text: str, renamings: Sequence[Renaming]
    ) -> list[Renamed | None] | None:
        """Run `find_uses`; None for a text that cannot be read."""
        request = {"language": language, "text": text, "renamings": renamings}
        return self._ask(request, list[Renamed | None])

    def errors(self, language: str, text: str) -> int | None:
        """Return how many syntax errors a text has; None where that is not known."""
        if grammar_of(language) is None:
            return None
        return self._ask({"language": language, "text": text, "renamings": []}, int)

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

    def _ask(self, request: Mapping[str, object], kind: type[T]) -> T | None:
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
        answer: T | None = msgspec.json.decode(reply, type=kind | None)
        if answer is None:
            log.debug("a text of %d characters is not parsed", len(str(request["text"])))
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
"""Files of which the pieces are kept: an update of the ring looks at 20."""

CHARS = 4_000_000
"""Characters of these files together: their pieces take some four times that in memory."""


CLOSE_S = 0.5  # a text is cut in 0.1 s at most once it got no answer


RENAMINGS = 100
"""
Lines with a new name that are asked about at once, the newest: a definition with all the uses that
followed it.
"""


class SourceReader:
    """
    The pieces of sources, kept for files in use; one object serves all workspaces of a session.
    """

    def __init__(self) -> None:
        self._process = SyntaxProcess()
        # By URI, most recent last.
        self._read: OrderedDict[str, tuple[Source, int, Pieces]] = OrderedDict()
        self._unreadable: set[str] = set()  # files that are cut by lines from now on
        self._to_forget: list[Callable[[str], bool]] = []
        self._lock = threading.Lock()

    def read(self, source: Source) -> Pieces:
        """Return *source* in pieces; none of a text longer than `SOURCE_CHARS`."""
        with self._lock:
            if self._process.closed:
                return ()
            self._forget_closed()
            entry = self._read.pop(source.uri, None)
            if entry is None or entry[0] != source:
                entry = self._cut(source)
            self._read[source.uri] = entry
            self._forget()
            return entry[2]

    def find_uses(
        self, text: EditedText, renamings: Sequence[Renaming]
    ) -> Sequence[Renamed | None]:
        """
        Run `uses.find_uses` on a text that is open, for the first `RENAMINGS`; None for the rest,
        and for all where it cannot be read.
        """
        uses = None
        asked = renamings[:RENAMINGS]
        with self._lock:
            whole = "\n".join(text.lines)
            if text.uri not in self._unreadable and len(whole) <= SOURCE_CHARS:
                uses = self._process.uses(text.language, whole, asked)
                if uses is None:
                    self._unreadable.add(text.uri)
        return [*(uses or [None] * len(asked)), *[None] * (len(renamings) - len(asked))]

    def count_errors(self, text: EditedText) -> int | None:
        """Return how many syntax errors a text has; None where that is not known."""
        with self._lock:
            whole = "\n".join(text.lines)
            if text.uri in self._unreadable or len(whole) > SOURCE_CHARS:
                return None
            return self._process.errors(text.language, whole)

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Keep nothing of the URIs that *is_gone* names, from the next read on."""
        self._to_forget.append(is_gone)

    def close(self) -> None:
        """End the process; callers that wait for it get nothing."""
        self._process.end()
        if self._lock.acquire(timeout=CLOSE_S):
            self._process.close()
            self._lock.release()

    def _cut(self, source: Source) -> tuple[Source, int, Pieces]:
        n_chars = sum(map(len, source.lines))
        if n_chars > SOURCE_CHARS:
            return source, 0, ()
        text = "".join(source.lines)
        borders = None
        if source.uri not in self._unreadable:
            borders = self._process.borders(source.language, text)
        if borders is None:
            self._unreadable.add(source.uri)
            borders = find_borders("", text)
        return source, n_chars, cut(source, borders)

    def _forget_closed(self) -> None:
        while self._to_forget:
            is_gone = self._to_forget.pop()
            for uri in [kept for kept in (*self._read, *self._unreadable) if is_gone(kept)]:
                self._read.pop(uri, None)
                self._unreadable.discard(uri)

    def _forget(self) -> None:
        while len(self._read) > FILES or sum(size for _, size, _ in self._read.values()) > CHARS:
            self._read.popitem(last=False)
