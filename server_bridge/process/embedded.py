"""
llama.cpp in a child process as a `Backend`: started at the first `connect`, gone with us.

The child (`embedded_child`) listens on a free port of 127.0.0.1 behind a random key; from there on
it is a `LlamaServer` like any other. When it dies the next call starts it again (`supervisor`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from server_bridge.llama.backend import LlamaServer, Own
from server_bridge.process import programs, sizing
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
START_S = 120.0  # a big model from a slow disk
GONE = "the bundled model answers: {} is not there; get another one with `fim-lsp setup`"

log = logging.getLogger(__name__)


class Embedded:
    """One child process and the connection to it; see `protocol.Backend`."""

    def __init__(self, settings: EmbeddedSettings) -> None:
        self._settings = self._wanted = settings
        self._state = State(Health.UNKNOWN, "embedded", model=Path(settings.model).name)
        self._supervisor = Supervisor()
        self._server: LlamaServer | None = None
        self._connecting = asyncio.Lock()
        self._not_saved = ""  # why, as the log has it
        self.on_change: Callable[[], None] = lambda: None

    @property
    def state(self) -> State:
        """The last known state; it says where the bundled model answers in place of another."""
        state = self._server.state if self._server else self._state
        gone = "" if self._settings is self._wanted else GONE.format(self._wanted.model)
        return replace(state, message=state.message or gone)

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._supervisor.pid

    async def connect(self) -> Model:
        """Start the child, or start it again where it ended."""
        async with self._connecting:
            if self._server is None or self.pid is None:
                await self._start()
            assert self._server is not None
            return await self._server.connect()

    async def disconnect(self) -> None:
        """Close the connection to the child."""
        if self._server is not None:
            await self._server.disconnect()

    async def aclose(self) -> None:
        """End the child."""
        server, self._server = self._server, None
        self._state = replace(self._state, health=Health.UNKNOWN)
        if server is not None:
            await server.aclose()
        await self._supervisor.end()

    def _note_change(self) -> None:
        self.on_change()

    async def _start(self) -> None:
        if self._server is not None:
            server, self._server = self._server, None
            await server.aclose()
        self._check_wait()
        bundled = replace(self._wanted, model=str(programs.BUNDLED), n_threads=1)
        is_there = await asyncio.to_thread(Path(self._wanted.model).is_file)
        self._settings = self._wanted if is_there else bundled
        self._state = State(Health.LOADING, "embedded", model=Path(self._settings.model).name)
        key = secrets.token_urlsafe()
        try:
            answer = await self._new_child(key)
        except BackendError as error:
            health = Health.UNUSABLE if isinstance(error, BackendUnusable) else Health.DOWN
            self._state = replace(self._state, health=health, message=str(error))
            raise
        self._server = self._server_at(answer, key)

    def _check_wait(self) -> None:
        """Raise what the last start raised while it is too early for another."""
        if (wait := self._supervisor.wait_s) <= 0:
            return
        if self._state.health is Health.UNUSABLE:
            raise BackendUnusable(self._state.message)
        raise BackendUnavailable(f"llama.cpp ended; it is started again in {wait:.0f} s")

    async def _new_child(self, key: str) -> dict[str, str]:
        """Start a child; what it says of itself."""
        try:
            child = await self._supervisor.start(programs.embedded(self._settings, key))
            assert child.stdout is not None
            answer: dict[str, str] = json.loads(
                await asyncio.wait_for(child.stdout.readline(), START_S)
            )
        except (TimeoutError, ValueError, OSError):
            await self._supervisor.fail()
            raise BackendUnavailable("llama.cpp did not start") from None
        except BaseException:
            await self._supervisor.end()
            raise
        if "url" not in answer:
            await self._supervisor.fail()
            raise BackendUnusable(_why_not(self._settings.model, answer["error"]))
        return answer

    def _server_at(self, answer: dict[str, str], key: str) -> LlamaServer:
        """Return the connection to a child that runs."""
        if answer["not_saved"] != self._not_saved:
            self._not_saved = answer["not_saved"]
            log.warning("evaluated prompts are not kept over a restart: %s", self._not_saved)
        settings = self._settings
        facts = sizing.read_facts(Path(settings.model))
        # All that decides what its cache holds, and that it does not say itself: types and flash
        # attention are llama.cpp's defaults.
        server = LlamaServer(
            self._supervisor.http(answer["url"], key),
            "embedded",
            own=Own(
                f"xllamacpp {answer['engine']}",
                sizing.memory_of(facts, settings.n_batch, settings.n_slots, sizing.physical()),
                self._supervisor,
            ),
            state_dir="" if self._not_saved else settings.slots_dir,
        )
        server.on_change = self._note_change
        return server


def _why_not(model: str, error: str) -> str:
    """Return what is wrong where llama.cpp cannot run *model*, and how to fix it."""
    if missing := MISSING.search(error):
        return (
            f"llama.cpp needs the system's library {missing[1]}, which is not installed: install it "
            "(libgomp.so.1 is in the package libgomp1 of Debian and Ubuntu, libgomp of Fedora)"
        )
    if "Failed to init" in error:  # all that llama.cpp says of a file that it began to read
        if sizing.is_cut_off(Path(model)):
            return f"{model} is cut off, its end is missing: download it again"
        error = "its end is missing, or this llama.cpp does not know its kind"
    return (
        f"llama.cpp cannot run {model} ({error}): "
        "set fim.backend.model to a GGUF file it can load, or get one with `fim-lsp setup`"
    )
