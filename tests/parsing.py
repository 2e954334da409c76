"""
One process that parses for all sessions of a test process: to start it is most of what a short test would cost.

It keeps nothing of a text, so no test finds there what another one left. tests/workspace/test_syntax_process.py starts its
own, and so does each server of tests/e2e. What a test wrote itself is no danger: `read_here` parses that in its own process.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Mapping
from typing import TypeVar

from fim_lsp.context.chunks import Pieces, Source, cut
from fim_lsp.context.grammars import find_borders
from fim_lsp.workspace.reader import SyntaxProcess

T = TypeVar("T")


@functools.lru_cache(maxsize=64)
def read_here(source: Source) -> Pieces:
    """Cut *source* as a session does."""
    return cut(source, find_borders(source.language, "".join(source.lines)))


ours = SyntaxProcess()
lock = threading.Lock()


class Shared(SyntaxProcess):
    """A session's way to the process of all: it ends alone."""

    def _ask(self, request: Mapping[str, object], kind: type[T]) -> T | None:
        with lock:
            return None if self.closed else ours._ask(request, kind)
