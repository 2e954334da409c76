"""The permit between the frame and the wire; and what a new rule leaves alone stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from fim_lsp import events
from fim_lsp.session.lane import Lane
from fim_lsp.session.state.verdicts import Verdicts
from fim_lsp.settings.config import RingConfig
from tests.session.test_late_rules import CANARY, OTHER, Held, configured, held, soon, watched
from tests.typist import QUICK, wait_judged

__all__ = ["held"]  # the fixture
pytestmark = [
    pytest.mark.usefixtures("short_rests"),
    pytest.mark.promise("rules-act-at-once"),
]

TYPED = "T1P3D"  # in the document that asks


class Wire:
    """The way to the model, where nothing passes after `hold`; and the disk, which then answers nothing."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._free = asyncio.Event()
        self._waits = asyncio.Event()
        self.disk = asyncio.Event()
        self._n_before = 1 << 30
        run = Lane.run
        find = Verdicts.find

        async def wait_and_run(*arguments):
            self._n_before -= 1
            if self._n_before < 0:
                self._waits.set()
                await self._free.wait()
            return await run(*arguments)

        async def wait_and_find(*arguments):
            await self.disk.wait()
            return await find(*arguments)

        self.disk.set()
        monkeypatch.setattr(Lane, "run", wait_and_run)
        monkeypatch.setattr(Verdicts, "find", wait_and_find)

    def hold(self, n_before: int) -> None:
        """Let so many steps pass, and no further one."""
        self._n_before = n_before

    async def until_held(self) -> None:
        """Wait until a step waits."""
        await asyncio.wait_for(self._waits.wait(), 5.0)

    def release(self) -> None:
        """Let all pass."""
        self._n_before = 1 << 30
        self._free.set()


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


async def begin(held: Held) -> None:
    """Have text of the other file in the frame that is in use."""
    for _ in range(2):
        await held.main.ask(invoked=True)
        await held.session.wait_idle()
    held.main.type(f"\n    {TYPED} = fre")
    await held.main.ask(invoked=True)
    assert CANARY in repr(held.sent), "the ring must be at work"
    await held.session.wait_idle()


def close(held: Held, _: Wire) -> None:
    held.session.handle(events.Closed(held.main.uri))


def move_folder(held: Held, _: Wire) -> None:
    held.session.handle(events.FoldersChanged(((held.root / "sub").as_uri(),)))


def judge_again(held: Held, wire: Wire) -> None:
    wire.disk.clear()
    (held.root / ".gitignore").write_text("main.py\n")
    held.session.handle(events.FilesChanged((f"{held.root.as_uri()}/.gitignore",), ()))


def change_text(held: Held, _: Wire) -> None:
    held.main.type("x")


def delete_other(held: Held, _: Wire) -> None:
    held.session.handle(events.Closed(held.uri))
    (held.root / "shop.py").unlink()
    held.session.handle(events.FilesChanged((), (held.uri,)))


CLAUSES: dict[str, tuple[str, Callable[[Held, Wire], None], str]] = {
    "it was closed": ("a long text", close, TYPED),
    "it is in another folder": ("a long text", move_folder, TYPED),
    "it is judged again": ("a long text", judge_again, TYPED),
    "its text was changed": ("a long text", change_text, TYPED),
    "a file in its context was deleted": ("a key", delete_other, CANARY),
    "a file in its context is ignored": ("a key", lambda held, _: watched(held), CANARY),
    "a file in its context is excluded": ("a key", lambda held, _: configured(held), CANARY),
    "the user cancelled it": ("a long text", lambda *_: None, TYPED),
}


@pytest.mark.parametrize("clause", CLAUSES)
async def test_nothing_composed_is_sent_against_the_permit(held: Held, wire: Wire, clause: str):
    """The frame is chosen, the wire is another's; then one thing happens, and the wire is free."""
    work, happen, text = CLAUSES[clause]
    if text == CANARY:
        await begin(held)
    else:  # no chunk is in the prompt that could withdraw it, too
        held.session.configure(replace(QUICK, ring=RingConfig(chunks=0)))
        await wait_judged(held.session)
        held.main.type(f"\n    {TYPED} = fre")
    held.main.type(" + ")
    goes_on = True
    if work == "a key":
        wire.hold(1)  # the step that chooses the frame
        held.begin(held.main.ask(invoked=True))
    else:
        wire.hold(0)
        held.begin(held.session.continue_long(held.main.uri, held.main.cursor, lambda _: goes_on))
    await wire.until_held()
    happen(held, wire)
    goes_on = clause != "the user cancelled it"
    held.backend.seen.clear()
    held.backend.warmed.clear()
    wire.release()
    await soon()
    await held.session.wait_idle()
    requests = [request.prompt for request in held.backend.seen]
    shown = requests if text == TYPED else [*requests, *held.backend.warmed]
    assert text not in repr(shown)
    wire.disk.set()


def list_state(held: Held) -> tuple[object, ...]:
    """Return what is the user's, and what was made for the model."""
    doc = held.session._open.by_uri[held.main.uri]
    workspace = doc.workspace
    memory = workspace.memory
    shown = dict(workspace._shown)
    users = (doc.place, {**vars(doc.requests)}, memory._yanks, {**memory._edited})
    return (*users, doc.view, doc.view.ladder.current, workspace.evaluated, memory.ring, shown)


async def test_what_a_rule_does_not_name_survives_it(held: Held) -> None:
    """The frame in use, its chunks, what is known and what the user did: the next key costs a key."""
    await begin(held)
    held.session.handle(events.Yanked(held.main.uri, OTHER))
    before = list_state(held)
    (held.root / ".gitignore").write_text("*.log\n")
    held.session.handle(events.FilesChanged((f"{held.root.as_uri()}/.gitignore",), ()))
    await wait_judged(held.session)
    assert list_state(held) == before
    assert await held.main.cost("i", invoked=True) < 10
    assert CANARY in repr(held.sent)
