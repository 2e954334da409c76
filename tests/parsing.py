"""
One process that parses for all sessions of a test process: to start it is most of what a short test would cost.

It keeps nothing of a text, so no test finds there what another one left. tests/workspace/test_syntax_process.py starts its
own, and so does each server of tests/e2e. What a test wrote itself is no danger: `read_here`, `find_here` and `count_here`
parse that in its own process, and so does `propose`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from fim_lsp.context.chunks import Pieces, Source, cut
from fim_lsp.context.grammars import count_errors, find_borders, parse_text
from fim_lsp.context.uses import Renamed, Renaming, find_uses
from fim_lsp.next_edit import engine
from fim_lsp.next_edit.edits import EditedText, FinishedEdit
from fim_lsp.next_edit.engine import Proposal
from fim_lsp.next_edit.evidence import SURE
from fim_lsp.workspace.reader import SyntaxProcess

T = TypeVar("T")


@functools.lru_cache(maxsize=64)
def read_here(source: Source) -> Pieces:
    """Cut *source* as a session does."""
    return cut(source, find_borders(source.language, "".join(source.lines)))


def find_here(text: EditedText, renamings: Sequence[Renaming]) -> Sequence[Renamed | None]:
    """Find uses as a session does."""
    return find_uses(text.language, "\n".join(text.lines), renamings)


def count_here(text: EditedText) -> int | None:
    """Count syntax errors as a session does."""
    tree = parse_text(text.language, "\n".join(text.lines)).tree
    return None if tree is None else count_errors(tree)


def propose(
    edits: Sequence[FinishedEdit],
    texts: Sequence[EditedText],
    refused: Collection[object] = (),
    sure: float = SURE,
) -> Proposal | None:
    """Return the next edit as a session finds it."""
    return engine.propose(edits, texts, refused, find_here, count_here, sure)


ours = SyntaxProcess()
lock = threading.Lock()


class Shared(SyntaxProcess):
    """A session's way to the process of all: it ends alone."""

    def _ask(self, request: Mapping[str, object], kind: type[T]) -> T | None:
        with lock:
            return None if self.closed else ours._ask(request, kind)
