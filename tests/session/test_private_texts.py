"""Random sessions: a file that became private, or is gone, is in no later prompt and in no file on disk."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.instruct.dialogue import Instruction
from fim_lsp.session import prefill
from fim_lsp.session.session import Session
from fim_lsp.settings.config import PrivacyConfig
from server_bridge.protocol import Prompt, Request
from tests.asked import requests_to
from tests.fake_backend import FakeBackend
from tests.typist import QUICK, Typist, wait_judged

pytestmark = pytest.mark.security

NAMES = ("shop.py", "cart.py", "ship.py")


def canary(name: str) -> str:
    return f"C4N4RY_{name.partition('.')[0]}"


def text_of(name: str) -> str:
    stem = name.partition(".")[0]
    others = "".join(f"from {other[:-3]} import price_{other[:-3]}\n" for other in NAMES)
    body = f"def price_{stem}(weight):\n    rate = '{canary(name)}'\n    return weight * rate\n"
    return (
        others + "\n\n" + body + f"\n\ndef use_{stem}(weight):\n    return price_{stem}(weight)\n"
    )


class Keeping(FakeBackend):
    """It says that it saved what it was asked to save."""

    async def save(self, prompt: Prompt, files: tuple[str, ...] = ()) -> int:
        return 100


class Model:
    """A session, and what is private in it: the rule of this test."""

    def __init__(self, folder: Path) -> None:
        self.root, self.cache = folder / "work", folder / "cache"
        self.root.mkdir()
        self.private: set[str] = set()
        self.ignored: list[str] = []
        self.config = QUICK
        for name in NAMES:
            (self.root / name).write_text(text_of(name))
        self.begin()

    def begin(self) -> None:
        self.backend = Keeping()
        self.requests: list[Request] = requests_to(self.backend)
        self.session = Session(self.config, lambda _: self.backend, self.cache)
        self.session.handle(events.FoldersChanged((self.root.as_uri(),)))
        self.typists: dict[str, Typist] = {}

    def uri(self, name: str) -> str:
        return f"{self.root.as_uri()}/{name}"

    async def settle(self) -> None:
        """Wait until the verdicts and the background work are done."""
        await wait_judged(self.session)
        await self.session.wait_idle()

    def check(self) -> None:
        sent = repr([*self.requests, *self.backend.warmed])
        kept = "".join(path.read_text("utf-8", "replace") for path in self.cache.rglob("*.json"))
        for name in self.private:
            assert canary(name) not in sent, f"{name} was sent"
            assert canary(name) not in kept, f"{name} is on disk"
        self.requests.clear()
        self.backend.warmed.clear()

    def forget_sent(self) -> None:
        """Look only at what is sent from now on: a rule changed."""
        self.requests.clear()
        self.backend.warmed.clear()


# -- what the user does ----------------------------------------------------------------------------


async def open_(model: Model, name: str) -> None:
    path = model.root / name
    if path.exists():
        text = path.read_text()
        model.typists[name] = Typist(model.session, text, model.uri(name), root=model.root.as_uri())


async def close(model: Model, name: str) -> None:
    if model.typists.pop(name, None):
        model.session.handle(events.Closed(model.uri(name)))


async def ask(model: Model, name: str) -> None:
    if typist := model.typists.get(name):
        typist.type("\n    x = price_")
        await typist.ask(invoked=True)


async def yank(model: Model, name: str) -> None:
    model.session.handle(events.Yanked(model.uri(name), text_of(name)))


async def edit(model: Model, name: str) -> None:
    await _edit(model, name, Instruction(Position(5, 0), Position(8, 0), "add types"))


async def fix(model: Model, name: str) -> None:
    """The message names what other files define."""
    problems = tuple(f"“price_{other[:-3]}” takes 2 arguments" for other in NAMES)
    await _edit(model, name, Instruction(Position(5, 0), Position(8, 0), "", problems))


async def again(model: Model, name: str) -> None:
    await _edit(model, name, Instruction(Position(5, 0), Position(8, 0), again=True))


async def more(model: Model, name: str) -> None:
    await _edit(model, name, Instruction(Position(5, 0), Position(8, 0), "shorter", more=True))


async def _edit(model: Model, name: str, asked: Instruction) -> None:
    if name in model.typists:
        await model.session._edits.edit(model.uri(name), asked, lambda _: True)


async def prepare(model: Model, name: str) -> None:
    if name in model.typists:
        await model.session._edits.prepare(model.uri(name), Position(5, 0), Position(8, 0))


async def save_state(model: Model, name: str) -> None:
    await model.session._persistence.save()


async def switch_ring(model: Model, name: str) -> None:
    """The ring stays as it is with no chunks, and goes on with some."""
    ring = dataclasses.replace(QUICK.ring, chunks=0 if model.config.ring.chunks else 16)
    model.config = dataclasses.replace(model.config, ring=ring)
    model.session.configure(model.config)


async def folder_away(model: Model, name: str) -> None:
    """The workspace's folder is another one for a while, and rules are looked at."""
    away = model.root.with_name("away")
    model.root.rename(away)
    model.root.mkdir()
    rules = (f"{model.root.as_uri()}/.gitignore",)
    model.session.handle(events.FilesChanged(rules, ()))
    await ask(model, name)
    await model.settle()
    model.root.rmdir()
    away.rename(model.root)
    model.session.handle(events.FilesChanged(rules, ()))


async def restart(model: Model, name: str) -> None:
    await model.session.aclose()
    model.begin()


# -- what makes a file private ---------------------------------------------------------------------


async def ignore_watched(model: Model, name: str) -> None:
    model.ignored.append(name)
    file = model.root / ".gitignore"
    file.write_text("".join(f"{name}\n" for name in model.ignored))
    model.session.handle(events.FilesChanged((file.as_uri(),), ()))
    model.private.add(name)


async def ignore_between(model: Model, name: str) -> None:
    """No session runs while the rule changes."""
    await model.session.aclose()
    model.ignored.append(name)
    (model.root / ".gitignore").write_text("".join(f"{name}\n" for name in model.ignored))
    model.private.add(name)
    model.begin()


async def ignore_saved(model: Model, name: str) -> None:
    model.ignored.append(name)
    file = model.root / ".fimignore"
    file.write_text("".join(f"{name}\n" for name in model.ignored))
    model.session.handle(events.Saved(file.as_uri()))
    model.private.add(name)


async def exclude(model: Model, name: str) -> None:
    patterns = (*model.config.privacy.exclude, name)
    model.config = dataclasses.replace(model.config, privacy=PrivacyConfig(exclude=patterns))
    model.session.configure(model.config)
    model.private.add(name)


async def delete(model: Model, name: str) -> None:
    await _remove(model, name)


async def rename(model: Model, name: str) -> None:
    (model.root / ".env").write_text(text_of(name))
    await _remove(model, name)


async def _remove(model: Model, name: str) -> None:
    """It is closed by the editor, and others have it no more."""
    await close(model, name)
    (model.root / name).unlink(missing_ok=True)
    model.session.handle(events.FilesChanged((), (model.uri(name),)))
    model.private.add(name)


USE = [
    open_, open_, close, ask, ask, ask, yank, edit, fix, again, more, prepare, save_state, restart,
    switch_ring, folder_away,
]  # fmt: skip
RULES = [ignore_watched, ignore_between, ignore_saved, exclude, delete, rename]
Step = tuple[Callable[[Model, str], Awaitable[None]], str]


@given(st.lists(st.tuples(st.sampled_from(USE + RULES), st.sampled_from(NAMES)), max_size=25))
@settings(deadline=None)
def test_what_is_private_is_sent_no_more(steps: list[Step]) -> None:
    """Whatever the order in which files are used, and the rules change."""
    _run([(open_, NAMES[0]), (open_, NAMES[1]), *steps])


CASES = {
    "a file that was deleted after it was saved": [
        (open_, "shop.py"), (ask, "shop.py"), (save_state, "shop.py"), (delete, "shop.py"),
    ],
    "a rule after a restart, of a file that was not opened again": [
        (open_, "shop.py"), (ask, "shop.py"), (restart, "shop.py"), (ignore_watched, "shop.py"),
    ],
    "a save after a file of the ring was excluded": [
        (open_, "cart.py"), (open_, "shop.py"), (ask, "shop.py"), (ask, "shop.py"),
        (ask, "shop.py"),
        (switch_ring, "shop.py"), (exclude, "cart.py"), (ask, "shop.py"), (save_state, "shop.py"),
    ],
    "a restart after a rule that no session saw": [
        (open_, "cart.py"), (ask, "cart.py"), (ignore_between, "cart.py"), (open_, "cart.py"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("steps", CASES.values(), ids=CASES)
def test_what_was_found_once(steps: list[Step]) -> None:
    """Each was a leak in an earlier version."""
    _run(steps)


def _run(steps: list[Step]) -> None:
    """A pause that is as good as none is a rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefill, "IDLE_S", 0.01)
        patch.setattr(prefill, "REST_S", 0.01)
        asyncio.run(_play(steps))


async def _play(steps: list[Step]) -> None:
    folder = Path(tempfile.mkdtemp())
    model = Model(folder)
    try:
        await model.session.connection.wait_ready()
        for step, name in steps:
            await step(model, name)
            if step in RULES:
                await wait_judged(model.session)
                model.forget_sent()
            await model.settle()
            model.check()
    finally:
        await model.session.aclose()
        shutil.rmtree(folder)
