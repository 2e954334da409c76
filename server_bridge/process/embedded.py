"""
llama.cpp in a child process as a `Backend`: started at the first `connect`, gone with us.

The child (`embedded_child`) listens on a free port of 127.0.0.1 behind a random key; from there on
it is a `LlamaServer` like any other. When it dies it is started again, at once the first time and
then less and less often.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from server_bridge.http import Http
from server_bridge.llama import LlamaServer
from server_bridge.protocol import (
    BackendError,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Measure,
    Prompt,
    Reply,
    Request,
    Sink,
    State,
    Warmed,
)

PACKAGE = Path(__file__).resolve().parent
BUNDLED = PACKAGE / "models" / "fim-tiny-q8_0.gguf"
START_S = 120.0  # a big model from a slow disk; ours takes 0.3 s
STOP_S = 2.0  # it exits at once when stdin closes; after this it is stuck
STEADY_S = 60.0  # who lived so long is forgiven earlier deaths
LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """
    What to run and how.

    One thread, because llama.cpp's threads spin and two of them on a busy two-core machine are
    forty times slower than one. *n_ctx* is the most tokens per slot, see `memory`: a full ring of 16
    chunks of 64 lines takes some 12,000. Two slots serve any number of documents, see `slots`.
    Without *slots_dir* no state can be saved; without *log* the child's log is dropped.
    """

    model: str = str(BUNDLED)
    n_threads: int = 1
    n_slots: int = 2
    n_ctx: int = 16384
    slots_dir: str = ""
    log: str = ""


class Embedded:
    """One child process and the connection to it; see `protocol.Backend`."""

    def __init__(self, settings: EmbeddedSettings) -> None:
        self._settings = settings
        self._state = State(Health.UNKNOWN, "embedded", model=Path(settings.model).name)
        self._child: asyncio.subprocess.Process | None = None
        self._server: LlamaServer | None = None
        self._connecting = asyncio.Lock()
        self._n_deaths = 0
        self._started = 0.0

    @property
    def state(self) -> State:
        """What is known now."""
        return self._server.state if self._server else self._state

    @property
    def pid(self) -> int | None:
        """The child's process id while it runs."""
        return self._child.pid if self._child and self._child.returncode is None else None

    async def connect(self) -> State:
        """Start the child, or start it again."""
        return await (await self._running()).connect()

    async def measure(self, prompt: Prompt) -> Measure:
        """See `Backend`."""
        return await (await self._running()).measure(prompt)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """See `Backend`."""
        return await (await self._running()).warm(prompt, step)

    async def complete(self, request: Request) -> Reply:
        """See `Backend`."""
        return await (await self._running()).complete(request)

    async def save(self, prompt: Prompt) -> int:
        """See `Saves`."""
        return await self._server.save(prompt) if self._server and self.pid else 0

    async def restore(self, prompt: Prompt) -> int:
        """See `Saves`."""
        return await (await self._running()).restore(prompt)

    async def run_on(self, prompt: Prompt, n_predict: int, sink: Sink) -> AsyncGenerator[str, None]:
        """See `Endless`."""
        async with aclosing((await self._running()).run_on(prompt, n_predict, sink)) as text:
            async for piece in text:
                yield piece

    async def aclose(self) -> None:
        """End the child."""
        if self._server is not None:
            await self._server.aclose()
        if self._child is not None:
            await _end(self._child)
        self._server = self._child = None
        self._state = replace(self._state, health=Health.UNKNOWN)

    async def _running(self) -> LlamaServer:
        async with self._connecting:
            if self._server is None or self.pid is None:
                await self._start()
            assert self._server is not None
            return self._server

    async def _start(self) -> None:
        if self._server is not None:
            await self.aclose()
            lived = time.monotonic() - self._started
            self._n_deaths = 1 if lived >= STEADY_S else self._n_deaths + 1
        wait = self._started + restart_delay(self._n_deaths) - time.monotonic()
        if wait > 0 and self._state.health is Health.UNUSABLE:
            raise BackendUnusable(self._state.message)
        if wait > 0:
            raise BackendUnavailable(f"llama.cpp ended; it is started again in {wait:.0f} s")
        self._started = time.monotonic()
        self._state = replace(self._state, health=Health.LOADING, message="")
        try:
            key = secrets.token_urlsafe()
            answer = await self._new_child(key)
        except BackendError as error:
            self._n_deaths += 1
            health = Health.UNUSABLE if isinstance(error, BackendUnusable) else Health.DOWN
            self._state = replace(self._state, health=health, message=str(error))
            raise
        # All that decides what its cache holds, and that it does not say itself: types and flash
        # attention are llama.cpp's defaults.
        engine = f"xllamacpp {answer['engine']}"
        self._server = LlamaServer(
            Http(answer["url"], lambda: key),
            "embedded",
            engine=engine,
            shelf=self._settings.slots_dir,
        )

    async def _new_child(self, key: str) -> dict[str, str]:
        with open(self._settings.log or os.devnull, "ab") as log:  # noqa: ASYNC230, PTH123
            self._child = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "server_bridge.embedded_child",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                cwd=PACKAGE.parent,  # -m looks there first: never in the user's project
            )  # fmt: skip
        return await _handshake(self._child, {**asdict(self._settings), "key": key, "port": 0})


async def _handshake(
    child: asyncio.subprocess.Process, settings: dict[str, object]
) -> dict[str, str]:
    """Give the child its settings and wait for its address and engine."""
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(json.dumps(settings).encode() + b"\n")
        answer: dict[str, str] = json.loads(
            await asyncio.wait_for(child.stdout.readline(), START_S)
        )
    except (ValueError, OSError, asyncio.TimeoutError):
        await _end(child)
        raise BackendUnavailable("llama.cpp did not start") from None
    except BaseException:
        await asyncio.shield(_end(child))
        raise
    if "url" not in answer:
        await _end(child)
        raise BackendUnusable(
            f"llama.cpp cannot run {settings['model']} ({answer['error']}): "
            "set fim.backend.model to a GGUF file it can load, or reinstall fim-lsp"
        )
    return answer


async def _end(child: asyncio.subprocess.Process) -> None:
    """Let the child go, by force if it must be."""
    assert child.stdin is not None
    child.stdin.close()
    try:
        await asyncio.wait_for(child.wait(), STOP_S)
    except asyncio.TimeoutError:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


def restart_delay(n_deaths: int) -> float:
    """Seconds to wait after the last start when the child died *n_deaths* times in a row."""
    return 0.0 if n_deaths <= 1 else min(2.0 ** (n_deaths - 2), LONGEST_WAIT_S)
