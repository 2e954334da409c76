"""What a reader of one request pays: how often the code comes back to a file that it left."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from fim_lsp.session.answering.dispatcher import Dispatcher
from tests.clock import on_clock
from tests.typist import QUICK, Typist, faked, wait_judged

ROOT = Path(__file__).parents[2]
TEXT = "def add(first, second):\n    return first + second\n\n\ntotal = add(1, 2)\nprint(tot"
MOST_RETURNS = 76  # each function read once, in the order in which it is come to; the goal is 50
MOST_CHANGES = 392  # of file, as it runs; the goal is 350


class Walk:
    """The files entered, as the code runs (*stays*), and with each function read once (*read*)."""

    def __init__(self) -> None:
        self.stays: list[str] = []
        self.read: list[str] = []
        self._known: set[CodeType] = set()

    def step(self, frame: FrameType, event: str, _: object) -> None:
        """Note that a function is entered or left: a function for `sys.setprofile`."""
        if event not in ("call", "return") or not (name := name_of(frame)):
            return
        if event == "call" and frame.f_code not in self._known:
            self._known.add(frame.f_code)
            if not frame.f_code.co_name.startswith("<"):
                self.read += [name] * (self.read[-1:] != [name])
        caller = frame if event == "call" else frame.f_back
        while caller is not None and not name_of(caller):
            caller = caller.f_back
        if caller is not None:
            self.stays += [name_of(caller)] * (self.stays[-1:] != [name_of(caller)])

    @contextmanager
    def within(self) -> Iterator[None]:
        before = sys.getprofile()
        sys.setprofile(self.step)
        try:
            yield
        finally:
            sys.setprofile(before)


def name_of(frame: FrameType) -> str:
    """Return the module of the product that *frame* is in, "" for none."""
    return find_module(frame.f_code.co_filename)


@cache  # asked at each call
def find_module(file: str) -> str:
    own = file.startswith((f"{ROOT}/fim_lsp/", f"{ROOT}/server_bridge/"))
    return file.removeprefix(f"{ROOT}/") if own else ""


def count_returns(files: list[str]) -> int:
    """Return how many of these files were left before."""
    return len(files) - len({*files})


@on_clock
async def test_one_request_is_read_without_turning_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the dispatcher to the answer, of one token; each number may only fall."""
    typist = Typist(faked(QUICK, lambda *_: "al)"), TEXT)
    await typist.session.connection.wait_ready()
    await wait_judged(typist.session)
    typist.session._lane._jobs.clear()
    walk = Walk()
    ask = Dispatcher.ask

    async def follow(*what: Any) -> Any:
        with walk.within():
            return await ask(*what)

    monkeypatch.setattr(Dispatcher, "ask", follow)
    [suggestion] = await typist.ask()
    await typist.session.aclose()
    assert suggestion.text == "al)"
    assert count_returns(walk.read) <= MOST_RETURNS
    assert len(walk.stays) <= MOST_CHANGES
