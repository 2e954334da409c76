"""Disks that do not answer: what is undone, and what was seen last."""

from __future__ import annotations

import asyncio
import threading

import pytest

from server_bridge.machine import disks

PATIENCE_S = 60.0  # only a test that fails waits so long


@pytest.mark.parametrize("how", ["late", "cancelled", "in time"])
async def test_what_comes_when_no_caller_waits_is_undone(how: str) -> None:
    """A lock that is taken too late would last for as long as the process."""
    answers = threading.Event()
    undone = threading.Event()

    def take() -> int:
        answers.wait(PATIENCE_S)
        return 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disks, "DISK_S", 0.0 if how == "late" else PATIENCE_S)
        asked = asyncio.create_task(disks.within(take, undo=lambda _: undone.set()))
        await asyncio.sleep(0)
        if how == "cancelled":
            asked.cancel()
        if how != "in time":
            await asyncio.wait([asked])
        answers.set()
        if how == "in time":
            assert await asked == 1
            assert not undone.is_set()
        else:
            assert await asyncio.to_thread(undone.wait, PATIENCE_S)
            assert asked.cancelled() or isinstance(asked.exception(), TimeoutError)


async def test_what_a_look_fails_of_is_raised() -> None:
    """A time-out of its own, too: another program has a lock."""

    def fail() -> None:
        raise TimeoutError("another program")

    with pytest.raises(TimeoutError, match="another program"):
        await disks.within(fail)


async def test_what_was_seen_last_is_the_answer_while_a_disk_hangs() -> None:
    """One look at a time, and the answer of now once there is one."""
    answers = threading.Event()
    values = [1, 2, 3]
    n_looks = 0

    def look() -> int:
        nonlocal n_looks
        n_looks += 1
        answers.wait(PATIENCE_S)
        return values.pop(0)

    seen = disks.LastSeen(look, seen=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disks, "SOON_S", 0.01)
        assert [await seen.ask() for _ in range(3)] == [0, 0, 0]
    assert n_looks == 1
    answers.set()
    assert seen.looking is not None
    await asyncio.wrap_future(seen.looking)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disks, "SOON_S", PATIENCE_S)
        assert [await seen.ask(), await seen.ask()] == [2, 3]
