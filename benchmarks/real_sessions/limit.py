"""
The keys that a model could save at most in a session: headless, in virtual time, without a gate.

At each character a suggestion is asked for by hand, through the real session with fim-lsp's own prompt, and waited for
as long as it takes; it is shown only as far as it is right, to the end of a word, and one key takes it.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path

from benchmarks.real_sessions.choice import Written, checkout
from benchmarks.real_sessions.taking import LEAST, Chance, n_keys, right_part
from fim_lsp import events
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Edit, Position, after
from fim_lsp.session.session import Session
from fim_lsp.settings.merge import make_config
from fim_lsp.suggest.lines import indent
from fim_lsp.suggest.request import Requester, Suggestion
from server_bridge.http.client import Http
from server_bridge.llama.backend import LlamaServer

PATIENCE_S = 300.0  # long prompts on slow machines are measured, not given up
PATIENT = {
    "completion.auto": False,
    "completion.deadlineMs": 60_000,
    "completion.patienceMs": 60_000,
    "completion.debounceMs": 0,
}


def chances(url: str, session: Written) -> list[Chance]:
    """Return what a typist could take of what the model at *url* writes."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        return asyncio.run(_chances(url, session, checkout(Path(home), session)))


async def _chances(url: str, session: Written, folder: Path) -> list[Chance]:
    server = LlamaServer(Http(url, patience_s=PATIENCE_S))
    typist = _Typist(Session(make_config(PATIENT), lambda _: server), session, folder)
    opportunities = list[Chance]()
    await typist.come()
    text, whole, at = "\n".join(session.typed), "\n".join(session.block), 0
    while at < len(text):
        line = text[at:].partition("\n")[0] if text[:at].endswith("\n") or not at else ""
        if width := len(indent(line)):
            typist.type(line[:width])
            at += width
            continue
        part = right_part(await typist.suggestion(whole[at:]), whole[at:])[: len(text) - at]
        if n_keys(part) > LEAST:
            opportunities.append(Chance(at, part))
        part = part if n_keys(part) > LEAST else text[at]
        typist.type(part)
        at += len(part)
    await typist.session.aclose()
    return opportunities


class _Typist:
    """A user without an editor. State: where the cursor is, and the version of the text."""

    def __init__(self, session: Session, written: Written, folder: Path) -> None:
        self.session = session
        self._written, self._folder = written, folder
        self._uri = (folder / written.path).as_uri()
        self._at, self._version = Position(written.start, 0), 1

    async def come(self) -> None:
        """Open the other files, then this one, and rest until all is evaluated that is to be."""
        self.session.handle(events.FoldersChanged((self._folder.as_uri(),)))
        for path in (*self._written.others, self._written.path):
            file = self._folder / path
            text = file.read_bytes().decode("utf-8", "replace")
            self.session.handle(events.Opened(file.as_uri(), language_of(path), 1, text))
        self.session.handle(events.CursorMoved(self._uri, self._at))
        await self.session.connection.wait_ready()
        await self.session.workspaces.wait_explored()
        await self.session.wait_idle()

    def type(self, text: str) -> None:
        """Insert *text* at the cursor."""
        self._version += 1
        edit = Edit(self._at, self._at, text)
        self.session.handle(events.Changed(self._uri, self._version, (edit,)))
        self._at = after(self._at, text)

    async def suggestion(self, expected: str) -> str:
        """Return what is shown here by hand; from a line on that is not *expected*, nothing is waited for."""
        shown = [""]

        def hear(suggestion: Suggestion) -> None:
            shown.append(suggestion.text)
            if not expected.startswith(suggestion.text):
                request.cancel()

        complete = self.session.complete(
            self._uri, self._at, invoked=True, client=Requester(on_progress=hear)
        )
        request = asyncio.ensure_future(complete)
        with contextlib.suppress(asyncio.CancelledError):
            shown += [suggestion.text for suggestion in (await request).suggestions[:1]]
        return shown[-1]
