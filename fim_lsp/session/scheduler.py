"""
Two lanes to one backend: the only place where work waits for its turn. Knows only coroutines.

Operations: run a foreground step now; leave a background job for a quiet moment; observe, which is
no work: no job waits longer and no stream ends for it. Goal: a request waits for at most the step
that is running. Plan: work comes in *steps* that are short (≤ 250 ms of prefill) or that see, after
each token, whether they are in the way (`is_wanted`). So nothing is ever cancelled on the wire: a
cancelled request that is not a stream costs llama.cpp up to a second until it notices (measured),
and on other servers its work is lost.

- Foreground steps run one at a time, in the order they came.
- Each background job has a *kind* and one waiting slot per kind: a newer job replaces a waiting
  older one, because it has newer state. Kinds are served in the order given, and only when no
  foreground step is due and the foreground has been quiet for the job's delay.
- A job is a function that does one step and says whether there is more. A running step is never
  interrupted; between steps everything else may come first.
- A job that leaves work for later itself (`again`) goes behind the other kinds, waits longer each
  time, and ends after `ROUNDS` in which it got nothing done.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from fim_lsp.tasks import LAST_S, Tasks

T = TypeVar("T")
Step = Callable[[], Awaitable[bool]]  # does one step; True when there is more to do

# The first few wait no longer than they ask for: the next ones twice as long each.
FIRST_ROUNDS = 3
ROUNDS = 12

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Job:
    """Background work of one kind, not to be started before *due* (loop time)."""

    step: Step
    due: float
    delay: float


class Scheduler:
    """
    Foreground and background steps to one backend. State: the wire, what waits for it, the jobs.
    """

    def __init__(self, kinds: tuple[str, ...], off_wire: tuple[str, ...] = ()) -> None:
        self._kinds = kinds
        self._off_wire = off_wire  # kinds that only compute: they are in no foreground step's way
        self._jobs: dict[str, Job] = {}
        self._running: Job | None = None  # the last one that a step was done of
        # in which a kind got nothing done, one after another
        self._rounds = dict.fromkeys(kinds, 0)
        self._wire = asyncio.Lock()
        self._n_due = 0  # foreground steps that wait or run
        self._n_waiting = 0
        self._quiet_since = 0.0  # loop time
        self._changed = asyncio.Event()
        self._runner: asyncio.Task[None] | None = None
        self._tasks = Tasks()

    @property
    def idle(self) -> bool:
        """Return whether nothing waits, runs or is left for later."""
        return not (self._n_due or self._jobs or self._wire.locked())

    @property
    def quiet_s(self) -> float:
        """Return how long no foreground step has been due, and nothing else has `stir`red."""
        return 0.0 if self._n_due else asyncio.get_running_loop().time() - self._quiet_since

    @property
    def is_wanted(self) -> bool:
        """Return whether a foreground step waits for the one on the wire."""
        return self._n_waiting > 0

    async def foreground(self, step: Callable[[], Awaitable[T]]) -> T:
        """Run *step* as soon as the one on the wire is done."""
        self._n_due += 1
        self._n_waiting += 1
        try:
            try:
                await self._wire.acquire()
            finally:
                self._n_waiting -= 1
            try:
                return await step()
            finally:
                self._wire.release()
        finally:
            self._n_due -= 1
            self.stir()

    async def observe(self, step: Callable[[], Awaitable[T]]) -> T:
        """Run *step* after the one on the wire, as if the user had done nothing."""
        async with self._wire:
            return await step()

    def background(self, kind: str, step: Step, *, delay: float = 0.0) -> None:
        """Leave *step* for when the foreground has been quiet for *delay* seconds."""
        self._leave(kind, step, delay, 0)

    def again(self, kind: str, step: Step, *, delay: float) -> None:
        """
        Reschedule the running job of this *kind* with *step*, after *delay* seconds of quiet. A
        newer job of this kind stays.
        """
        if self._jobs.get(kind) is not self._running:
            return
        rounds = self._rounds[kind] + 1
        if rounds > ROUNDS:
            log.info("%s was given up: nothing came of it %d times", kind, ROUNDS)
            return
        self._leave(kind, step, delay * 2 ** max(0, rounds - FIRST_ROUNDS), rounds)

    def note_progress(self, kind: str) -> None:
        """Note that work of this *kind* got something done."""
        self._rounds[kind] = 0

    def _leave(self, kind: str, step: Step, delay: float, rounds: int) -> None:
        assert kind in self._kinds, kind
        if self._tasks.are_over:
            return
        due = asyncio.get_running_loop().time() + delay
        self._rounds[kind] = rounds
        self._jobs[kind] = Job(step, due, delay)
        self._changed.set()
        if self._runner is None or self._runner.done():
            self._runner = self._tasks.start(self._run(), "background")

    def stir(self) -> None:
        """Make background jobs wait for quiet again: the user is at work."""
        self._quiet_since = now = asyncio.get_running_loop().time()
        for job in self._jobs.values():
            job.due = max(job.due, now + job.delay)
        self._changed.set()

    async def wait_idle(self) -> None:
        """Wait until nothing is left to do; for tests and for the command line."""
        while not self.idle:
            await asyncio.sleep(0.005)

    async def aclose(self) -> None:
        """
        End the background lane; the step on the wire may end by itself, but not take long. No work
        is left for later any more.
        """
        self._jobs.clear()
        self._changed.set()
        await self._tasks.aclose(LAST_S)

    async def _run(self) -> None:
        """Serve background jobs until none is left."""
        while self._jobs:
            await asyncio.sleep(0)  # a step may wait for nothing
            self._changed.clear()
            now = asyncio.get_running_loop().time()
            due = [k for k in self._kinds if (job := self._jobs.get(k)) and job.due <= now]
            kind = min(due, key=self._rounds.__getitem__, default=None)
            if kind is not None and not self._n_due:
                await self._serve(kind, self._jobs[kind])
                continue
            pause = min((job.due for job in self._jobs.values()), default=now) - now
            await self._wait_change(None if self._n_due else max(pause, 0.001))

    async def _serve(self, kind: str, job: Job) -> None:
        """
        Do one step of *job*; it stays in its slot while there is more, unless replaced meanwhile.
        """
        async with contextlib.nullcontext() if kind in self._off_wire else self._wire:
            self._running = job
            try:
                more = await job.step()
            except Exception:
                log.exception("background %s failed", kind)
                more = False
        if not more and self._jobs.get(kind) is job:
            del self._jobs[kind]

    async def _wait_change(self, longest_s: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), longest_s)
