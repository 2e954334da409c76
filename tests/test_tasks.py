"""Work begins in one place, which lets none begin after the end."""

from __future__ import annotations

import ast
import asyncio

from fim_lsp.tasks import Tasks
from tests.test_tidy import PATHS, inside, name_of, parsed


async def test_nothing_begins_after_the_end() -> None:
    """A task that is started then is cancelled before its first line, as is what was under way."""
    begun = list[str]()

    async def work(name: str) -> None:
        begun.append(name)
        await asyncio.sleep(60)

    tasks = Tasks()
    before = tasks.start(work("before"), "work")
    await asyncio.sleep(0)
    await tasks.aclose()
    after = tasks.start(work("after"), "work")
    await asyncio.wait([after])
    assert (before.cancelled(), after.cancelled()) == (True, True)
    assert begun == ["before"]
    assert not tasks


async def test_what_is_to_end_by_itself_does() -> None:
    """It is waited for, as what lets go of a server is."""
    tasks = Tasks()
    work = tasks.start(asyncio.sleep(0.01, "done"), "work")
    await tasks.aclose(None)
    assert work.result() == "done"


def test_a_session_starts_all_work_so() -> None:
    """A task that asyncio makes by itself would begin after the end as well."""
    places = [
        name_of(path)
        for path in PATHS
        if inside(name_of(path), {"fim_lsp.session", "fim_lsp.workspace"})
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in ("create_task", "ensure_future")
    ]
    assert places == []
