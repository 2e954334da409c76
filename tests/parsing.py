"""
One process that parses for all sessions of a test process: to start it is most of what a short test would cost.

It keeps nothing of a text, so no test finds there what another one left. tests/workspace/test_syntax_process.py starts its
own, and so does each server of tests/e2e.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TypeVar

from fim_lsp.workspace.reader import SyntaxProcess

T = TypeVar("T")

ours = SyntaxProcess()
lock = threading.Lock()


class Shared(SyntaxProcess):
    """A session's way to the process of all: it ends alone."""

    def _ask(self, request: Mapping[str, object], kind: type[T]) -> T | None:
        with lock:
            return None if self.closed else ours._ask(request, kind)
