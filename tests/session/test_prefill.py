"""What is evaluated while the user rests: what the next request wants, and that once."""

from __future__ import annotations

import argparse
import inspect
import optparse
from dataclasses import replace

from fim_lsp.settings.config import RingConfig
from tests.session.conftest import OpenSession
from tests.typist import QUICK, ROOT, Typist

CODE = "".join(inspect.getsource(argparse).splitlines(keepends=True)[:300])
OTHER = inspect.getsource(optparse)  # one file has a third of the ring at most
FEW = 24  # tokens


async def test_the_first_rest_evaluates_the_window_after_its_chunks(
    open_session: OpenSession,
) -> None:
    """Chunks are chosen for the window that the next request gets, so the window is not evaluated twice."""
    session = open_session()
    Typist(session, OTHER, f"{ROOT}/app/till.py")
    typist = Typist(session, CODE)
    typist.type("\n")
    await typist.ask()
    await session.wait_idle()
    background = typist.counted("tokens", "background")
    assert typist.counted("ring", "chunks") > 1
    for key in "x = ":
        typist.type(key)
        await typist.ask()
        await session.wait_idle()
    assert typist.counted("tokens", "background") - background <= FEW


async def test_the_ring_has_the_size_of_the_settings(open_session: OpenSession) -> None:
    """Chunks and their lines as configured."""
    session = open_session(replace(QUICK, ring=RingConfig(chunks=7, chunk_lines=32)))
    typist = Typist(session, CODE)
    await typist.ask()
    await session.wait_idle()
    [workspace] = session.workspaces
    limits = workspace.memory.limits
    assert (limits.n_chunks, limits.chunk_lines) == (7, 32)
