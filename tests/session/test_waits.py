"""Whatever the user does while a call waits for the model, it ends as documented, without error."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from fim_lsp import events
from fim_lsp.documents import Edit, Position, difference, split
from fim_lsp.instruct.dialogue import Edited, Instruction
from fim_lsp.session.session import Session
from fim_lsp.session.stats import Answer, LastAnswer
from fim_lsp.settings.config import RingConfig
from tests.clock import run
from tests.fake_backend import FakeBackend
from tests.fuzz import in_turn
from tests.typist import QUICK, ROOT, Typist

TEXT = "".join(f"def area_{n}(width, height):\n    return width * height\n\n\n" for n in range(14))
TOP = Position(0, 0)
LINE = 48
AT = Position(LINE, len("def ar"))
URI = f"{ROOT}/app/cart.py"

PLAIN = replace(QUICK, ring=RingConfig(chunks=0))  # no text is parsed for it

Call = Callable[[Session, Position], Awaitable[object]]
CALLS: dict[str, dict[str, Call]] = {
    "complete": {
        "typing": lambda session, at: session.complete(URI, at, invoked=False),
        "by hand": lambda session, at: session.complete(URI, at, invoked=True),
        "menu": lambda session, at: session.complete(
            URI, at, invoked=False, selected=Edit(at, at, "ea_1(\n" * 30)
        ),
    },
    "explain": {"": lambda session, at: session.explain(URI, at)},
    "report": {"": lambda session, _: session.report(URI)},
    "continue_long": {
        "there": lambda session, at: session.continue_long(URI, at, lambda _: True),
        "here": lambda session, _: session.continue_long(URI, None, lambda _: True),
    },
    "edit": {
        "": lambda session, at: session.edit(
            URI, Instruction(at._replace(column=0), at, "shorten it"), lambda _: True
        )
    },
    "prepare_edit": {"": lambda session, at: session.prepare_edit(URI, TOP, at)},
    "next_edit": {"": lambda session, at: session.next_edit(URI, at, unasked=True)},
    "check_next_edit": {"": lambda session, _: session.check_next_edit("1")},
}
ENDING = {"aclose", "wait_idle", "wait_judged"}


def change(session: Session, *edits: Edit) -> None:
    session.handle(events.Changed(URI, 2, edits))


def open_again(session: Session, text: str) -> None:
    session.handle(events.Opened(URI, "python", 1, text))


def close(session: Session) -> None:
    session.handle(events.Closed(URI))


CUT = Edit(Position(1, 0), Position(56, 0), "")
PASTE = Edit(TOP, TOP, "import os\n" * 90)
CUT_BELOW = Edit(Position(100, 0), Position(140, 0), "")
Change = Callable[[Session], None]
CHANGES: dict[str, tuple[Change, ...]] = {
    "nothing": (),
    "one line left": (lambda session: change(session, CUT),),
    "empty": (lambda session: change(session, difference(split(TEXT), split(""))),),
    "lines above": (lambda session: change(session, PASTE),),
    "pasted and cut": (lambda session: change(session, PASTE, CUT_BELOW),),
    "a key": (lambda session: change(session, Edit(AT, AT, "e")),),
    "opened again": (lambda session: open_again(session, TEXT),),
    "shorter": (lambda session: open_again(session, "x = 1\n"),),
    "closed, shorter": (close, lambda session: open_again(session, "x = 1\n")),
    "again, lines above": (lambda s: open_again(s, TEXT), lambda s: change(s, PASTE)),
    "rules": (lambda session: session.handle(events.RulesChanged()),),
    "too large": (lambda session: change(session, difference(split(TEXT), ["x" * 10_000_001])),),
}
HELD = ("measure", "warm", "stream", VERDICT := "verdict")


def test_each_method_that_waits_is_called() -> None:
    """None is forgotten."""
    session = Session(QUICK, lambda _: FakeBackend())
    names = {name for name in dir(session) if not name.startswith("_")}
    waits = {name for name in names if inspect.iscoroutinefunction(getattr(session, name))}
    assert waits == CALLS.keys() | ENDING


async def call_and_change(call: Call, held: str, changes: tuple[Change, ...]) -> object:
    """Return the result of *call*; what the model is asked waits until the *changes* are made."""
    backend = FakeBackend()
    session = Session(PLAIN, lambda _: backend)
    typist = Typist(session, TEXT)
    session.handle(events.CursorMoved(URI, AT))
    await session.connection.wait_ready()
    judge = session._workspaces.verdicts.find
    judged = asyncio.Event()

    async def judge_late(*what: Any) -> Any:
        await judged.wait()
        return await judge(*what)

    if held == VERDICT:
        session._workspaces.verdicts.find = judge_late  # type: ignore[method-assign, assignment]
        session.handle(events.RulesChanged())
    else:
        backend.hold(held)
    task = asyncio.ensure_future(call(session, AT))
    waits = asyncio.create_task(backend.until_held())
    await asyncio.wait({task, waits}, return_when=asyncio.FIRST_COMPLETED, timeout=5.0)
    for make in changes:
        make(session)
    await asyncio.sleep(0)
    backend.release()
    judged.set()
    try:
        result = await task
        if URI in session.documents:
            typist.cursor = session.documents[URI].clamp(AT)
            await typist.ask(invoked=True)
        await asyncio.sleep(0.5)
    finally:
        waits.cancel()
        await session.aclose()
    return result


CASES = [
    pytest.param(call, id=f"{name} {kind}".strip().replace(" ", "-"))
    for name, calls in CALLS.items()
    for kind, call in calls.items()
]


@pytest.mark.promise("odd-input")
@pytest.mark.parametrize("call", CASES)
def test_no_change_makes_a_call_fail(call: Call, monkeypatch, caplog):
    """It returns, with a reason in words where it has nothing else; the log has no error."""
    for held, name in in_turn(HELD, CHANGES):
        caplog.clear()
        result = run(call_and_change(call, held, CHANGES[name]), monkeypatch)
        errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert not errors, (held, name)
        assert reads_well(result), (held, name, result)


def reads_well(result: object) -> bool:
    """Return whether *result* has content, or a reason in words."""
    match result:
        case LastAnswer():
            return reads_well(result.answer)
        case Answer():
            return bool(result.suggestions) or is_in_words(result.end.words)
        case Edited():
            return result.lines is not None or is_in_words(result.note)
    return True


def is_in_words(reason: str) -> bool:
    """Return whether *reason* is neither empty nor the name of a class."""
    return " " in reason and not reason.endswith(("Error", "Exception"))
