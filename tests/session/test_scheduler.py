"""Two lanes: the foreground first, the background only in quiet moments."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from fim_lsp.session.scheduler import ROUNDS, Scheduler
from tests.clock import on_clock


class Work:
    """Steps that end when told to, and a list of what ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}

    def step(self, name: str, n_steps: int = 1):
        gate = self.gates.setdefault(name, asyncio.Event())
        left = n_steps

        async def run() -> bool:
            nonlocal left
            self.ran.append(name)
            await gate.wait()
            left -= 1
            return left > 0

        return run


async def settled() -> None:
    """Let every task run until it waits."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_foreground_step_waits_for_the_one_on_the_wire_only() -> None:
    """Background steps left to do come after it."""
    work = Work()
    scheduler = Scheduler(("warm",))
    scheduler.background("warm", work.step("warm", n_steps=3))
    await settled()
    front = asyncio.create_task(scheduler.foreground(work.step("front")))
    await settled()
    assert work.ran == ["warm"]
    work.gates["warm"].set()
    work.gates["front"].set()
    await front
    assert work.ran[:2] == ["warm", "front"]
    await scheduler.wait_idle()
    assert work.ran == ["warm", "front", "warm", "warm"]


@pytest.mark.parametrize(
    ("jobs", "ran"),
    [
        ([("warm", "old"), ("warm", "new")], ["new"]),  # what is out of date never runs
        ([("warm", "warm"), ("speculate", "speculate")], ["speculate", "warm"]),  # on screen first
    ],
)
async def test_background_jobs_behind_a_request(jobs: list[tuple[str, str]], ran: list[str]):
    """The newest of a kind runs, and the kinds are served in their order."""
    work = Work()
    scheduler = Scheduler(("speculate", "warm"))
    front = asyncio.create_task(scheduler.foreground(work.step("front")))
    await settled()
    for kind, name in jobs:
        scheduler.background(kind, work.step(name))
    for gate in work.gates.values():
        gate.set()
    await front
    await scheduler.wait_idle()
    assert work.ran == ["front", *ran]


async def test_what_observes_is_no_work() -> None:
    """It waits for the wire, and neither ends the step on it nor has a job wait longer."""
    work = Work()
    scheduler = Scheduler(("warm",))
    scheduler.background("warm", work.step("warm"))
    await settled()
    observing = asyncio.create_task(scheduler.observe(work.step("look")))
    await settled()
    quiet_since = asyncio.get_running_loop().time() - scheduler.quiet_s
    assert (work.ran, scheduler.is_wanted) == (["warm"], False)
    work.gates["warm"].set()
    work.gates["look"].set()
    await observing
    assert work.ran == ["warm", "look"]
    since = asyncio.get_running_loop().time() - scheduler.quiet_s
    assert since == pytest.approx(quiet_since, abs=1e-3)


async def test_a_failing_job_ends_alone() -> None:
    """An error in the background is logged, and the lane goes on."""
    work = Work()
    scheduler = Scheduler(("speculate", "warm"))

    async def broken() -> bool:
        raise ValueError

    scheduler.background("speculate", broken)
    scheduler.background("warm", work.step("warm"))
    work.gates["warm"].set()
    await scheduler.wait_idle()
    assert work.ran == ["warm"]


@on_clock
async def test_work_that_leaves_itself_for_later_ends(caplog: pytest.LogCaptureFixture) -> None:
    """After some rounds without result, ever more seldom, with a line in the log; others go on."""
    caplog.set_level("INFO")
    ran: list[tuple[str, float]] = []
    scheduler = Scheduler(("always", "once"))
    loop = asyncio.get_running_loop()

    async def always() -> bool:
        ran.append(("always", loop.time()))
        scheduler.again("always", always, delay=0.5)
        return False

    async def once() -> bool:
        ran.append(("once", loop.time()))
        return False

    scheduler.background("always", always)
    scheduler.background("once", once, delay=0.5)
    await asyncio.sleep(3600)
    assert scheduler.idle
    times = [at for name, at in ran if name == "always"]
    waits = [later - sooner for sooner, later in pairwise(times)]
    assert len(times) == ROUNDS + 1
    assert waits == sorted(waits)
    assert ran.index(("once", 0.5)) < ran.index(("always", 0.5))  # it goes behind the others
    assert "always was given up" in caplog.text


@on_clock
async def test_progress_begins_the_rounds_again() -> None:
    """Work that gets something done each time ends when it is done."""
    n_rounds = 3 * ROUNDS
    scheduler = Scheduler(("slow",))
    ran = 0

    async def slow() -> bool:
        nonlocal ran
        ran += 1
        scheduler.note_progress("slow")
        if ran < n_rounds:
            scheduler.again("slow", slow, delay=0.5)
        return False

    scheduler.background("slow", slow)
    await asyncio.sleep(3600)
    assert ran == n_rounds


async def test_a_job_that_waits_for_nothing_lets_others_run() -> None:
    """The event loop runs between two steps, also of a job without an end."""
    scheduler = Scheduler(("endless",), off_wire=("endless",))
    ran = 0

    async def endless() -> bool:
        nonlocal ran
        ran += 1
        return ran < 100_000

    scheduler.background("endless", endless)
    await settled()
    assert 0 < ran < 100
    await scheduler.aclose()


async def test_a_cancelled_request_does_not_hold_the_wire() -> None:
    """Who gives up while waiting leaves the queue."""
    work = Work()
    scheduler = Scheduler(("warm",))
    first = asyncio.create_task(scheduler.foreground(work.step("first")))
    second = asyncio.create_task(scheduler.foreground(work.step("second")))
    await settled()
    second.cancel()
    work.gates["first"].set()
    await first
    await asyncio.gather(second, return_exceptions=True)
    assert work.ran == ["first"]
    assert scheduler.idle
