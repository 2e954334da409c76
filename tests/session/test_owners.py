"""State has owners: what belongs to one folder stays there, and what was closed is not kept."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fim_lsp import events
from fim_lsp.context.chunks import YANK_CHARS
from fim_lsp.documents import Position
from fim_lsp.session.session import Session
from fim_lsp.session.state.open_document import YANKS
from fim_lsp.session.state.open_documents import CLOSED, OpenDocuments
from fim_lsp.session.state.workspaces import OUTSIDE
from tests.fake_backend import FakeBackend
from tests.session.conftest import OpenSession
from tests.typist import QUICK, Typist, wait_judged

CANARY = "def freight(weight):\n    C4N4RY = weight * 7\n    return C4N4RY\n" * 3
CODE = "import other\n\n\ndef price(weight):\n    return fre"
N_FOLDERS = 20  # more than twice those that are remembered

pytestmark = pytest.mark.usefixtures("short_rests")


@pytest.fixture
async def session(open_session: OpenSession, backend: FakeBackend, tmp_path: Path) -> Session:
    return open_session(QUICK, backend, tmp_path / "cache")


def typist(session: Session, file: Path, text: str) -> Typist:
    """Return a user in a file outside of every workspace."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return Typist(session, text, file.as_uri(), root="")


async def work(user: Typist, times: int = 2) -> None:
    """Ask and rest, so that chunks are chosen and evaluated."""
    for _ in range(times):
        user.type("\n    return fre")
        await user.ask(invoked=True)
        await user.session.wait_idle()


@pytest.mark.promise("private-files")
async def test_folders_outside_of_workspaces_share_no_code(
    session: Session, backend: FakeBackend, tmp_path: Path
) -> None:
    """Two folders of one name with different parents: no prompt of one has a line of the other."""
    here = tmp_path / "a/src"
    there = tmp_path / "b/src"
    typist(session, here / "other.py", CANARY)
    await work(typist(session, here / "main.py", CODE))
    assert "C4N4RY" in repr(backend.seen), "the ring must be at work"
    backend.seen.clear()
    backend.warmed.clear()
    user = typist(session, there / "main.py", CODE)
    await work(user)
    for key in "ight(3)\n    C4N":
        user.type(key)
        await user.ask(invoked=True)
    assert backend.seen
    assert "C4N4RY" not in repr((backend.seen, backend.warmed))


@pytest.mark.promise("private-files")
async def test_lines_in_sight_are_of_the_same_folder(session: Session, tmp_path: Path) -> None:
    """Without a model, too, no line of another folder outside of workspaces is suggested."""
    here = tmp_path / "a/src"
    there = tmp_path / "b/src"
    typist(session, here / "other.py", CANARY)
    user = typist(session, there / "main.py", "    C4N4RY = wei")
    await wait_judged(session)
    assert not [line for line in session._open.lines(session._open.by_uri[user.uri]) if "7" in line]


async def test_nothing_is_kept_of_what_was_closed(session: Session, tmp_path: Path) -> None:
    """Folders opened, edited and closed: all but the last few are forgotten."""
    for n in range(N_FOLDERS):
        user = typist(session, tmp_path / f"closed-{n}/src/main.py", CODE)
        await user.ask(invoked=True)
        for line in (0, 3):
            user.replace(Position(line, 0), Position(line, 0), "# ")
        await session.next_edit(user.uri)
        await session.wait_idle()
        session.handle(events.Closed(user.uri))
        await wait_judged(session)
    named = {folder for text in _strings(session) for folder in re.findall(r"closed-\d+", text)}
    assert named <= {f"closed-{n}" for n in range(N_FOLDERS - OUTSIDE - 1, N_FOLDERS)}


async def test_what_was_copied_in_closed_files_has_a_bound(session: Session, tmp_path: Path):
    """Files that are closed before they are judged: of the last few some pieces are remembered."""
    for n in range(3 * CLOSED):
        user = typist(session, tmp_path / f"{n}.py", CODE)
        for _ in range(3 * YANKS):
            session.handle(events.Yanked(user.uri, "x" * YANK_CHARS))
        session.handle(events.Yanked(user.uri, "x" * (YANK_CHARS + 1)))
        session.handle(events.Closed(user.uri))
    kept = session._open._yanks
    assert [*kept] == [(tmp_path / f"{n}.py").as_uri() for n in range(2 * CLOSED, 3 * CLOSED)]
    assert {len(yanks) for yanks in kept.values()} == {YANKS}
    assert {len(text) for yanks in kept.values() for text in yanks} == {YANK_CHARS}


async def test_a_document_costs_the_same_however_many_are_open(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To open one in a folder that is known looks at no other."""
    typist(session, tmp_path / "one.py", CODE)
    monkeypatch.delattr(OpenDocuments, "__iter__")
    session.handle(events.Opened((tmp_path / "two.py").as_uri(), "python", 1, CODE))
    monkeypatch.undo()


def _strings(session: Session) -> Iterator[str]:
    """Yield every string that the session's own objects hold."""
    gc.collect()
    seen = set[int]()
    todo = list[object]([session])
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, str | Path):
            yield str(value)
        elif _is_state(value):
            todo += gc.get_referents(value)


def _is_state(value: object) -> bool:
    if isinstance(value, dict | list | set | tuple):
        return True
    return type(value).__module__.startswith(("fim_lsp", "collections", "server_bridge", "asyncio"))
