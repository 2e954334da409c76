"""
How long the event loop is held by one event with thousands of documents open: one line an event.

    python -m tests.many_documents [N]      10,000 by default; milliseconds of processor time
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from unittest import mock

from fim_lsp import events
from fim_lsp.lsp.run import GARBAGE
from fim_lsp.session.session import Session
from fim_lsp.session.state.verdicts import Judged, Verdicts
from fim_lsp.settings.config import Config
from tests.fake_backend import FakeBackend

ROOTS = ("file:///w/one", "file:///w/two")
TEXT = "def area(width, height):\n    return width * height\n\n" * 10


def list_events(uris: list[str]) -> dict[str, events.Event]:
    """Return what goes over all documents, by its name."""
    return {
        "rules": events.RulesChanged(),
        "ignore file": events.FilesChanged((f"{ROOTS[0]}/.gitignore",), ()),
        "all changed": events.FilesChanged(tuple(uris), ()),
        "half deleted": events.FilesChanged((), tuple(uris[::2])),
        "folder closed": events.FoldersChanged(ROOTS[:1]),
        "folder opened": events.FoldersChanged(ROOTS),
    }


async def measure(n: int) -> dict[str, float]:
    """Return the longest callback after each event, in ms; each file is judged at once: public."""
    uris = [f"{ROOTS[i % 2]}/{i % 200}/{i}.py" for i in range(n)]
    longest, run = [0.0], asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        longest[0] = max(longest[0], time.thread_time() - began)

    async def find(*_: object) -> Judged:
        return Judged("")

    async def handle(*wanted: events.Event) -> None:
        for event in wanted:
            session.handle(event)

    async def rest() -> None:
        while session._judging._looks or session._judging._unbegun:
            await asyncio.sleep(0.05)

    session, found = Session(Config(), lambda _: FakeBackend()), dict[str, float]()
    with (
        mock.patch.object(Verdicts, "find", find),
        mock.patch.object(asyncio.Handle, "_run", timed),
    ):
        await handle(events.FoldersChanged(ROOTS))
        for uri in uris:
            await asyncio.create_task(handle(events.Opened(uri, "python", 1, TEXT)))
        await rest()
        for name, event in list_events(uris).items():
            longest[0] = 0.0
            await asyncio.create_task(handle(event))
            await rest()
            found[name] = longest[0] * 1e3
    await session.aclose()
    return found


if __name__ == "__main__":
    gc.freeze()
    gc.set_threshold(GARBAGE)
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for name, ms in asyncio.run(measure(n)).items():
        print(f"{name:15} {ms:6.0f} ms")
