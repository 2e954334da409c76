"""
Sources into pieces, each version of a file read once. Blocking: called in worker threads.

State: what was read last of the files in use, and the process that parses (`syntax_process`). Two
workspaces may be updated at a time, so a lock lets one text be parsed after the other.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from fim_lsp.context.chunks import SOURCE_CHARS, Cut, Source, cut
from fim_lsp.context.definitions import Syntax, read_syntax
from fim_lsp.workspace.syntax_process import SyntaxProcess

FILES = 50
"""Files of which the pieces are kept: an update of the ring looks at 20 open ones and at 24 others."""

CHARS = 4_000_000
"""Characters of these files together: their pieces take some four times that in memory."""


CLOSE_S = 0.5  # a text is cut in 0.1 s at most once it got no answer


class Reader:
    """See the module; one serves all workspaces of a session."""

    def __init__(self) -> None:
        self._process = SyntaxProcess()
        self._read: OrderedDict[str, tuple[Source, int, Cut]] = (
            OrderedDict()
        )  # by URI, most recent last
        self._unreadable: set[str] = set()  # files that are cut by lines from now on
        self._to_forget: list[Callable[[str], bool]] = []
        self._lock = threading.Lock()

    def read(self, source: Source) -> Cut:
        """Return *source* in pieces; none of a text longer than `SOURCE_CHARS`."""
        with self._lock:
            if self._process.closed:
                return Cut()
            self._forget_closed()
            known = self._read.pop(source.uri, None)
            if known is None or known[0] != source:
                known = self._cut(source)
            self._read[source.uri] = known
            self._forget()
            return known[2]

    def syntax(self, language: str, text: str) -> Syntax:
        """Read the syntax of a text that is not to be remembered; empty where it cannot be read."""
        with self._lock:
            return self._process.syntax(language, text) or Syntax()

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Keep nothing of the URIs that *is_gone* names, from the next read on."""
        self._to_forget.append(is_gone)

    def close(self) -> None:
        """End the process; what waits for it gets nothing."""
        self._process.end()
        if self._lock.acquire(timeout=CLOSE_S):
            self._process.close()
            self._lock.release()

    def _cut(self, source: Source) -> tuple[Source, int, Cut]:
        n_chars = sum(map(len, source.lines))
        if n_chars > SOURCE_CHARS:
            return source, 0, Cut()
        text, found = "".join(source.lines), None
        if source.uri not in self._unreadable:
            found = self._process.syntax(source.language, text)
        if found is None:
            self._unreadable.add(source.uri)
            found = read_syntax("", text)
        return source, n_chars, cut(source, found)

    def _forget_closed(self) -> None:
        while self._to_forget:
            is_gone = self._to_forget.pop()
            for uri in [each for each in (*self._read, *self._unreadable) if is_gone(each)]:
                self._read.pop(uri, None)
                self._unreadable.discard(uri)

    def _forget(self) -> None:
        while len(self._read) > FILES or sum(size for _, size, _ in self._read.values()) > CHARS:
            self._read.popitem(last=False)
