"""
Texts into their syntax in a child process, so that no text can hold or end the session. Blocking.

State: the child, started for the first text. A text that takes it too long, or ends it, has no syntax;
neither has any other once `DEATHS` texts did. Called in worker threads, one at a time: see `reader`.
"""

from __future__ import annotations

import json
import logging
import threading
from typing import Any

from fim_lsp.context.definitions import Definition, Syntax, read_syntax
from fim_lsp.context.grammars import grammar_of
from fim_lsp.context.syntax import Unit, UnitKind
from server_bridge.machine.executables import PACKAGES, Child, python_command, start

LIMIT_S = 20.0
"""Until a child without an answer is ended. It ends itself after `syntax_child.CPU_S` of work; this is
ten times that, for busy machines and for Windows, which cannot count work."""

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
        answer = self._ask({"language": language, "text": text})
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
            said = _exchange(child, json.dumps(request))
        finally:
            watch.cancel()
        if not said.endswith("\n"):
            self._note_death(child)
            return None
        answer: list[Any] | None = json.loads(said)
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
