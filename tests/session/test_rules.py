"""Rules of privacy act at once: on the next prompt, on frames and ring, on what is on disk."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fim_lsp import events
from fim_lsp.session.session import Session
from fim_lsp.settings.config import StateConfig
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.protocol import Backend, Request
from tests.asked import requests_to
from tests.fake_backend import FakeBackend
from tests.fuzz import in_turn
from tests.server_bridge.waiting import until
from tests.session.test_late_rules import RULES
from tests.typist import QUICK, Typist, wait_judged

pytestmark = pytest.mark.security

SHOP = "def freight(weight):\n    rate = 'C4N4RY'\n    return weight * rate\n" * 3
SEEN = 50  # tokens
MAIN = "from shop import freight\n\n\ndef price(weight):\n    return fre"


class Project:
    """A workspace on disk, a session in it, and the prompts that the model was sent."""

    def __init__(self, root: Path, cache: Path, open_backend: Callable[[], Backend]) -> None:
        self.root, self.cache = root, cache
        self.requests: list[Request] = []
        self.request: Request  # the last one before the rule

        def start() -> Backend:
            backend = open_backend()
            requests_to(backend, self.requests)
            return backend

        self.session = Session(QUICK, lambda _: start(), cache)
        (root / "shop.py").write_text(SHOP)
        (root / "main.py").write_text(MAIN)
        self.main: Typist

    async def begin(self) -> None:
        """Both files open, the ring at work, the frame in use."""
        await self.session.connection.wait_ready()
        uri = self.root.as_uri()
        Typist(self.session, SHOP, f"{uri}/shop.py", root=uri)
        self.main = Typist(self.session, MAIN, f"{uri}/main.py", root=uri)
        await wait_judged(self.session)
        for _ in range(2):
            await self.main.ask(invoked=True)
            await self.session.wait_idle()
        self.main.type("\n    return fre")
        await self.main.ask(invoked=True)
        assert "C4N4RY" in self.prompts[-1], "the ring must be at work"
        self.request = self.requests[-1]
        self.requests.clear()

    @property
    def prompts(self) -> list[str]:
        """Return what the model was shown."""
        return [repr(request.prompt) for request in self.requests]

    async def save(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rest, until what is saved then is on disk: the model's states, and behind them the ring."""
        monkeypatch.setattr("fim_lsp.session.persistence.REST_S", 0.0)
        self.main.type("\n")
        await self.main.ask(invoked=True)
        await self.until_kept(1)

    async def until_kept(self, least: int, name: str = "*.json") -> None:
        """Wait until so many of these files are on disk, or none."""

        async def is_so() -> bool:
            return len(self.kept(name)) >= least if least else not self.kept(name)

        await until(is_so)

    def kept(self, name: str = "*") -> list[Path]:
        """Return the files of the cache folder."""
        return [path for path in self.cache.rglob(name) if path.is_file()]

    async def type(self, text: str) -> None:
        """Key by key, without a pause in which anything could be chosen again."""
        for key in text:
            self.main.type(key)
            await self.main.ask(invoked=True)


@pytest.fixture
async def project(tmp_path: Path) -> AsyncIterator[Project]:
    """On the backend without a model."""
    async with began(tmp_path, FakeBackend) as project:
        yield project


@pytest.fixture
async def real(tmp_path: Path) -> AsyncIterator[Project]:
    """On llama.cpp, which keeps what it evaluated, and saves it."""
    settings = BackendSettings(kind="embedded", slots_dir=str(tmp_path / "cache/slots"))
    async with began(tmp_path, lambda: open_backend(settings)) as project:
        yield project


@asynccontextmanager
async def began(tmp_path: Path, open_backend: Callable[[], Backend]) -> AsyncIterator[Project]:
    root = tmp_path / "work"
    root.mkdir()
    project = Project(root, tmp_path / "cache", open_backend)
    await project.begin()
    yield project
    await project.session.aclose()


@pytest.mark.parametrize("change", RULES)
@pytest.mark.parametrize("is_open", [True, False])
async def test_the_next_prompt_follows_a_new_rule(project: Project, change, is_open: bool) -> None:
    """Open or closed, in the ring or in the frame: what is private now is in no later prompt."""
    if not is_open:
        project.session.handle(events.Closed(f"{project.root.as_uri()}/shop.py"))
    change(project)
    await project.type("ight(3)\n    total = ")
    assert project.prompts
    assert [prompt for prompt in project.prompts if "C4N4RY" in prompt] == []


@pytest.mark.parametrize(("change", "is_open"), in_turn(RULES, [True, False]))
async def test_what_was_saved_of_it_is_deleted(
    real: Project, change, is_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The ring and the model's states may hold it: neither is on disk any more."""
    await real.save(monkeypatch)
    assert [path for path in real.kept() if path.parent == real.cache / "slots"]
    if not is_open:
        real.session.handle(events.Closed(f"{real.root.as_uri()}/shop.py"))
    change(real)
    await wait_judged(real.session)
    assert real.kept() == []


@pytest.mark.parametrize("change", RULES)
async def test_the_engine_holds_nothing_of_it_any_more(real: Project, change) -> None:
    """The prompt of before the rule is evaluated from its beginning, not found in a slot or a copy of one."""
    connection, request = real.session.connection, real.request
    assert (await (await connection.backend.connect()).measure(request.prompt)).cached > SEEN
    change(real)
    await wait_judged(real.session)
    await connection.wait_ready()
    timings = (await (await connection.backend.connect()).complete(request)).timings
    assert timings.cache_n <= 1 < SEEN < timings.prompt_n


async def test_what_was_saved_goes_when_saving_is_switched_off(
    real: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files are deleted at once, not at the next start."""
    await real.save(monkeypatch)
    real.session.configure(dataclasses.replace(QUICK, state=StateConfig(save=False)))
    await real.until_kept(0, "*")
