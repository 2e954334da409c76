"""
llama.cpp in a process as a `Backend`: found or started at the first `connect`.

The process (`embedded_child`) listens on a free port of 127.0.0.1 behind a random key; from there
on it is a `LlamaServer` like any other. An engine that only we use is our child, and gone with us;
an engine that all editors of this user use is apart from us, and ends when no editor has used it
for a while (`machine.locks`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from server_bridge.http.client import Http, Trust
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.own import Own
from server_bridge.machine import disks, processes
from server_bridge.machine.disks import in_disk_thread
from server_bridge.process import membership, programs, sizing
from server_bridge.process.membership import Membership
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.process.supervisor import Supervisor
from server_bridge.protocol import (
    BackendError,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Model,
    State,
)

# glibc's words; xllamacpp's wheel leaves OpenMP to the system, and small containers have none.
MISSING = re.compile(r"([\w.+-]{1,80}): cannot open shared object file")
NAME = "the engine"  # in messages: its port says nothing to a user
START_S = 120.0  # a big model from a slow disk
LOOK_S = 0.1  # between two looks at an engine that another editor starts
SLOW = f"{NAME} does not start: it took longer than two minutes"
GONE = "the bundled model answers: {} is not there; get another one with `fim-lsp setup`"

Answer = dict[str, str]  # what an engine says of itself, see `embedded_child`
SAID = ("url", "key", "engine", "not_saved", "model", "pid")

log = logging.getLogger(__name__)


class Embedded:
    """
    One process and the connection to it; see `protocol.Backend` and `llama.link.Process`.

    State: the process, *pid* while it runs; of one that is shared, our place among its users.
    """

    def __init__(self, settings: EmbeddedSettings) -> None:
        self._settings = self._wanted = settings
        self._state = State(Health.UNKNOWN, "embedded", model=Path(settings.model).name)
        self._supervisor = Supervisor()
        self._shared: Membership | None = None
        self._server: LlamaServer | None = None
        self._watching: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._not_saved = ""  # why, as the log has it
        self.pid: int | None = None
        self.on_change: Callable[[], None] = lambda: None

    @property
    def state(self) -> State:
        """The last known state; it says where the bundled model answers in place of another."""
        state = self._server.state if self._server else self._state
        if self._server and state.health is Health.DOWN and not self._was_running():
            state = replace(state, health=Health.LOADING, message="")  # `_watch` is told next
        gone = "" if self._settings is self._wanted else GONE.format(self._wanted.model)
        return replace(state, message=state.message or gone)

    async def connect(self) -> Model:
        """Find the process or start it, again where it ended."""
        async with self._connecting:
            if self._server is None:
                await self._start()
            assert self._server is not None
            return await self._server.connect()

    async def disconnect(self) -> None:
        """Close the connection."""
        if self._server is not None:
            await self._server.disconnect()

    async def aclose(self) -> None:
        """End the child, or leave the engine to the editors that still use it."""
        await self._leave()
        self._state = replace(self._state, health=Health.UNKNOWN)

    def cpu_s(self) -> float | None:
        """Return the seconds that it has computed; None once it has ended."""
        return None if self.pid is None else processes.cpu_s(self.pid)

    async def kill(self) -> None:
        """End it at once, for all who use it: it hangs."""
        if await self._look() and self.pid is not None:
            processes.kill(self.pid)

    def _was_running(self) -> bool:
        """Return whether it is the process that we met, as far as is known without its disk."""
        is_said = self._shared is None or self._shared.was_said
        return is_said and self.cpu_s() is not None

    async def _look(self) -> bool:
        """Return whether it is the process that we met: another may have its number by now."""
        if self._shared is not None:
            await self._shared.is_said()
        return self._was_running()

    async def _check(self) -> None:
        """Raise BackendUnavailable once it has ended: another may have its port by now."""
        if not await self._look():
            raise BackendUnavailable(f"{NAME} ended")

    async def _is_shared(self) -> bool:
        """Return whether other sessions use it now, too."""
        return self._shared is not None and not await self._shared.is_alone()

    async def _leave(self) -> None:
        """Close the connection, and end a child."""
        server = self._server
        self._server = None
        self.pid = None
        if self._watching is not None:
            self._watching.cancel()
        if server is not None:
            await server.aclose()
        await self._leave_shared()
        await self._supervisor.end()

    async def _leave_shared(self) -> None:
        """Be no user of the engine that editors share."""
        shared = self._shared
        self._shared = None
        if shared is not None:
            await shared.leave()

    async def _watch(self, pid: int, server: LlamaServer) -> None:
        """Note that the process has ended: `connect` starts another, at once the first time."""
        await processes.wait_ended(pid)
        self._server = self._watching = self.pid = None
        self._supervisor.note_death()
        self._state = replace(self._state, health=Health.LOADING, message="")
        await server.aclose()
        self.on_change()

    async def _start(self) -> None:
        await self._leave()
        self._check_wait()
        bundled = replace(self._wanted, model=str(programs.BUNDLED), n_threads=1)
        is_there = await in_disk_thread(Path(self._wanted.model).is_file)
        self._settings = self._wanted if is_there else bundled
        self._state = State(Health.LOADING, "embedded", model=Path(self._settings.model).name)
        try:
            answer = await self._meet()
        except BackendError as failure:
            await self._leave()
            health = Health.UNUSABLE if isinstance(failure, BackendUnusable) else Health.DOWN
            self._state = replace(self._state, health=health, message=str(failure))
            raise
        facts = await in_disk_thread(sizing.read_facts, Path(self._settings.model))
        self._server = self._server_at(answer, facts)
        self.pid = int(answer["pid"])
        self._watching = asyncio.create_task(self._watch(self.pid, self._server), name="watch")

    def _check_wait(self) -> None:
        """Raise what the last start raised while it is too early for another."""
        if (wait := self._supervisor.wait_s) <= 0:
            return
        if self._state.health is Health.UNUSABLE:
            raise BackendUnusable(self._state.message)
        raise BackendUnavailable(f"{NAME} ended; it is started again in {wait:.0f} s")

    async def _meet(self) -> Answer:
        """Return what the engine says of itself: one that editors share, else a child of ours."""
        try:
            if file := await disks.within(self._settings.find_file):
                return await self._meet_shared(file)
        except OSError as error:
            log.warning("this editor has an engine of its own: %s", error)
        await self._leave_shared()
        return await self._new_child()

    async def _meet_shared(self, file: Path) -> Answer:
        """
        Return what the engine of *file* says. Raises OSError where it cannot be shared, also where
        it says nothing in time, or what none of ours of this version writes.
        """
        shared = self._shared = await membership.join(file)
        async with asyncio.timeout(START_S) as limit:
            while not (said := await shared.find()):
                if (lock := await shared.take()) is None:
                    await asyncio.sleep(LOOK_S)
                    continue
                limit.reschedule(None)  # a start has its own
                try:
                    await self._new_child(lock)
                finally:
                    disks.begin(partial(os.close, lock))
        shared.said = said
        try:
            answer = json.loads(said)
            return {name: str(answer[name]) for name in SAID} | {"pid": str(int(answer["pid"]))}
        except (ValueError, LookupError, TypeError) as error:
            raise OSError(f"{file} is of another version: {error}") from None

    async def _new_child(self, lock: int | None = None) -> Answer:
        """Start a child, which goes on apart from us with a *lock*; what it says of itself."""
        key = secrets.token_urlsafe()
        program = await in_disk_thread(programs.embedded, self._settings, key, lock)
        try:
            async with asyncio.timeout(START_S):
                child = await self._supervisor.start(program)
                assert child.stdout is not None
                answer: Answer = json.loads(await child.stdout.readline())
        except (ValueError, OSError) as error:
            await self._supervisor.fail()
            is_slow = isinstance(error, TimeoutError)
            raise BackendUnavailable(SLOW if is_slow else "llama.cpp did not start") from None
        if "url" not in answer:
            await self._supervisor.fail()
        if "unshared" in answer:
            raise OSError(answer["unshared"])
        if "error" in answer:
            raise BackendUnusable(_why_not(self._settings.model, answer["error"]))
        return answer

    def _server_at(self, answer: Answer, facts: sizing.Facts) -> LlamaServer:
        """Return the connection to the process that runs a model with these *facts*."""
        if answer["not_saved"] != self._not_saved:
            self._not_saved = answer["not_saved"]
            log.warning("evaluated prompts are not kept over a restart: %s", self._not_saved)
        settings = self._settings
        # All that decides what its cache holds, and that it does not say itself: types and flash
        # attention are llama.cpp's defaults.
        server = LlamaServer(
            Http(answer["url"], answer["key"], trust=Trust(guard=self._check, name=NAME)),
            "embedded",
            own=Own(
                f"xllamacpp {answer['engine']}",
                sizing.memory_of(facts, settings.n_batch, settings.n_slots, sizing.physical()),
                self,
                self._is_shared,
            ),
            state_dir="" if self._not_saved else settings.slots_dir,
        )
        server.on_change = lambda: self.on_change()  # noqa: PLW0108 (it is set later)
        return server


def _why_not(model: str, error: str) -> str:
    """Return what is wrong where llama.cpp cannot run *model*, and how to fix it."""
    if missing := MISSING.search(error):
        return (
            f"llama.cpp needs the system's library {missing[1]}, which is not installed: install it "
            "(libgomp.so.1 is in the package libgomp1 of Debian and Ubuntu, libgomp of Fedora)"
        )
    if "Failed to init" in error:  # all that llama.cpp says of a file that it began to read
        error = "its end is missing, or this llama.cpp does not know its kind"
    return (
        f"llama.cpp cannot run {model} ({error}): "
        "set fim.backend.model to a GGUF file it can load, or get one with `fim-lsp setup`"
    )
