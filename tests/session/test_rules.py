"""A rule of privacy acts at once on what llama.cpp holds, and on what is on disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fim_lsp import events
from fim_lsp.session.session import Session
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Backend, Request
from tests.asked import requests_to
from tests.server_bridge.waiting import until
from tests.session.test_late_rules import OTHER, PRIVATE, configured, switched_off, watched
from tests.typist import QUICK, Typist, wait_judged

pytestmark = pytest.mark.security

SEEN = 50  # tokens


class Project:
    """A workspace, a session in it with two open files, and what the model was asked."""

    def __init__(self, folder: Path) -> None:
        self.root, self.cache = folder / "work", folder / "cache"
        self.root.mkdir()
        self.requests: list[Request] = []

        def start() -> Backend:
            backend = open_backend(BackendSettings("embedded", slots_dir=str(self.cache / "slots")))
            requests_to(backend, self.requests)
            return backend

        self.session = Session(QUICK, lambda _: start(), self.cache)
        root, texts = self.root.as_uri(), {"shop.py": PRIVATE, "main.py": OTHER}
        for name, text in texts.items():
            (self.root / name).write_text(text)
            self.main = Typist(self.session, text, f"{root}/{name}", root=root)

    @property
    def kept(self) -> list[Path]:
        """Return what is on disk."""
        return [path for path in self.cache.rglob("*") if path.is_file()]


@pytest.fixture
async def project(tmp_path: Path) -> AsyncIterator[Project]:
    """The other file is in the frame in use, of the last request."""
    project = Project(tmp_path)
    await project.session.connection.wait_ready()
    await wait_judged(project.session)
    for _ in range(2):
        await project.main.ask(invoked=True)
        await project.session.wait_idle()
    project.main.type("\n    return fre")
    await project.main.ask(invoked=True)
    assert "C4N4RY" in repr(project.requests[-1].prompt), "the ring must be at work"
    yield project
    await project.session.aclose()


@pytest.mark.parametrize(
    ("change", "is_open"), [(watched, True), (watched, False), (switched_off, True)]
)
async def test_what_was_saved_of_it_is_deleted(
    project: Project, change, is_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ring and the model's states may hold it: neither is on disk any more, of a file or, without saving, at all."""
    monkeypatch.setattr("fim_lsp.session.persistence.REST_S", 0.0)
    project.main.type("\n")
    await project.main.ask(invoked=True)

    async def is_kept() -> bool:
        return [*project.cache.glob("workspaces/*.json")] != []

    await until(is_kept)
    assert [path for path in project.kept if path.parent == project.cache / "slots"]
    if not is_open:
        project.session.handle(events.Closed(f"{project.root.as_uri()}/shop.py"))
    change(project)

    async def is_gone() -> bool:
        await wait_judged(project.session)
        return project.kept == []

    await until(is_gone)


@pytest.mark.parametrize("change", [configured])
async def test_the_engine_holds_nothing_of_it_any_more(project: Project, change) -> None:
    """The prompt of before the rule is evaluated from its beginning, not found in a slot or a copy of one."""
    connection, request = project.session.connection, project.requests[-1]
    assert (await (await connection.backend.connect()).measure(request.prompt)).cached > SEEN
    change(project)
    await wait_judged(project.session)
    await connection.wait_ready()
    timings = (await (await connection.backend.connect()).complete(request)).timings
    assert timings.cache_n <= 1 < SEEN < timings.prompt_n
