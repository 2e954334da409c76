"""Rules that change while work waits for the model: nothing of the file is sent after its verdict, or left on disk."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.instruct.dialogue import Instruction
from fim_lsp.session.session import Session
from fim_lsp.settings.config import PrivacyConfig, StateConfig
from server_bridge.machine import notes
from server_bridge.protocol import Prompt
from tests.fake_backend import FakeBackend
from tests.fuzz import in_turn
from tests.server_bridge.waiting import until
from tests.typist import QUICK, Typist, wait_judged

pytestmark = [
    pytest.mark.usefixtures("short_rests"),
    pytest.mark.promise("rules-act-at-once"),
]

CANARY = "C4N4RY"
PRIVATE = f"def freight(weight):\n    rate = '{CANARY}'\n    return weight * rate\n" * 3
OTHER = "from shop import freight\n\n\ndef price(weight):\n    return fre"


class Held:
    """A session with two files, *main* and the *other*, whose model can be held; all that it was sent."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root
        self.cache = cache
        self.backend = FakeBackend()
        self.session = Session(QUICK, lambda _: self.backend, cache)
        (root / "shop.py").write_text(PRIVATE)
        (root / "main.py").write_text(OTHER)
        self.tasks: list[asyncio.Task[Any]] = []
        uri = root.as_uri()
        self.shop = Typist(self.session, PRIVATE, f"{uri}/shop.py", root=uri)
        self.main = Typist(self.session, OTHER, f"{uri}/main.py", root=uri)

    @property
    def uri(self) -> str:
        return self.shop.uri

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        self.tasks.append(asyncio.create_task(work))

    @property
    def sent(self) -> list[Prompt]:
        """The prompts that were sent since the last look."""
        sent = [*(request.prompt for request in self.backend.seen), *self.backend.warmed]
        self.backend.seen.clear()
        self.backend.warmed.clear()
        return sent


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[Held]:
    root = tmp_path / "work"
    root.mkdir()
    held = Held(root, tmp_path / "cache")
    await held.session.connection.wait_ready()
    await wait_judged(held.session)
    yield held
    held.backend.release()
    await asyncio.gather(*held.tasks, return_exceptions=True)
    await held.session.aclose()


async def soon() -> None:
    """Let every task run until it waits for the model."""
    for _ in range(50):
        await asyncio.sleep(0.001)


# -- the work that waits ---------------------------------------------------------------------------


EDIT = Instruction(Position(0, 0), Position(2, 0), "add types")


async def rest(held: Held) -> None:
    """Have the prompt of the resting cursor evaluated."""
    held.session.handle(events.CursorMoved(held.uri, Position(1, 4)))
    await asyncio.sleep(0.4)


# -- the rules that change -------------------------------------------------------------------------


def watched(held: Held) -> None:
    (held.root / ".gitignore").write_text("shop.py\n")
    held.session.handle(events.FilesChanged((f"{held.root.as_uri()}/.gitignore",), ()))


def saved(held: Held) -> None:
    leave(held, ".gitignore", events.Saved)


def closed(held: Held) -> None:
    leave(held, ".fimignore", events.Closed)


def leave(held: Held, name: str, done: Callable[[str], events.Event]) -> None:
    """Write rules in the editor, in a client that watches no files."""
    uri = f"{held.root.as_uri()}/{name}"
    held.session.handle(events.Opened(uri, "ignore", 1, "shop.py\n"))
    (held.root / name).write_text("shop.py\n")
    held.session.handle(done(uri))


def configured(held: Held) -> None:
    privacy = PrivacyConfig(exclude=("shop.py",))
    held.session.configure(dataclasses.replace(QUICK, privacy=privacy))


WORK: dict[str, Callable[[Held], Coroutine[Any, Any, Any]]] = {
    "complete": lambda held: held.shop.ask(),
    "complete by hand": lambda held: held.shop.ask(invoked=True),
    "edit": lambda held: held.session._edits.edit(held.uri, EDIT, lambda _: True),
    "prepare": lambda held: held.session._edits.prepare(held.uri, EDIT.start, EDIT.end),
    "a long text": lambda held: held.session.continue_long(
        held.uri, held.shop.cursor, lambda _: True
    ),
    "rest": rest,
    "count the prompt for a page": lambda held: held.session.report(held.uri),
}
RULES = [watched, saved, configured, closed]


@pytest.mark.parametrize(("work", "rule"), in_turn(WORK, RULES))
async def test_nothing_is_sent_after_the_verdict(
    held: Held, work: str, rule: Callable[[Held], None]
) -> None:
    """Another file's request holds the model; what waited behind it is dropped once the file is private."""
    held.backend.hold()
    held.begin(held.main.ask(invoked=True))
    await soon()
    held.begin(WORK[work](held))
    await soon()
    rule(held)
    await wait_judged(held.session)
    assert CANARY not in repr(held.sent)
    held.backend.release()
    await soon()
    await held.session.wait_idle()
    assert CANARY not in repr(held.sent)


async def test_the_verdict_does_not_wait_for_other_threads(held: Held) -> None:
    """All threads are busy, with a name that does not resolve, or with long texts: a rule is judged at once."""
    released = threading.Event()
    work = [asyncio.create_task(asyncio.to_thread(released.wait, 20.0)) for _ in range(64)]
    held.tasks += work
    await soon()
    try:
        watched(held)
        await asyncio.wait_for(wait_judged(held.session), 5.0)
        assert not any(task.done() for task in work)
        assert "private" in repr(await held.session.report(held.uri))
    finally:
        released.set()


# -- what is on disk -------------------------------------------------------------------------------


def switched_off(held: Held) -> None:
    held.session.configure(dataclasses.replace(QUICK, state=StateConfig(save=False)))


WHENS = [
    "it is being saved", "it is being saved, and another save has ended", "it is saved",
    "it is saved and closed",
]  # fmt: skip


@pytest.mark.parametrize("when", WHENS)
@pytest.mark.parametrize("rule", [watched, configured, switched_off])
async def test_a_save_under_way_leaves_nothing(
    held: Held, rule: Callable[[Held], None], when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model takes its time to save, or has; then the user wants nothing kept, or the file became private."""
    monkeypatch.setattr("fim_lsp.session.persistence.REST_S", 0.05)
    monkeypatch.setattr(held.backend, "save", _save_all(held.backend, held.cache / "slots"))
    await held.shop.ask(invoked=True)
    held.backend.hold("save")
    await asyncio.wait_for(held.backend.until_held(), 5.0)
    if when.startswith("it is saved"):
        held.backend.release()
        await until(lambda: _is_kept(held))
    if "and" in when:
        held.session.handle(events.Closed(held.uri))
    if when.startswith("it is being saved, "):
        await held.session._persistence._begin_save()
    rule(held)
    await wait_judged(held.session)
    await soon()
    held.backend.release()
    await soon()
    await held.session.wait_idle()
    await held.session.wait_judged()
    assert not await _is_kept(held)


async def _is_kept(held: Held) -> bool:
    kept = [path for path in held.cache.rglob("*") if path.is_file()]
    return any(CANARY in path.read_text("utf-8", "replace") for path in kept)


def _save_all(
    backend: FakeBackend, slots: Path
) -> Callable[[Prompt, tuple[str, ...]], Coroutine[Any, Any, int]]:
    wait = backend.save

    async def save(prompt: Prompt, files: tuple[str, ...]) -> int:
        await wait(prompt)
        notes.write(slots / "1.json", {"files": files})
        (slots / "1").write_text(repr(prompt))
        return 100

    return save
