"""A server that takes time, goes and comes back, and looks at what it is shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from server_bridge.protocol import (
    BackendUnavailable,
    Health,
    Measure,
    Prompt,
    Reply,
    Request,
    Warmed,
)
from tests.convergence.waits import Delays
from tests.fake_backend import FakeBackend, Ids, _parts

N_CTX = 2048
PREFILL_PER_S = 400.0
FENCE = "```"
SAID = "".join(f"total_{n} = price * {n}\n" for n in range(60))
ANSWERED = f"def total(price: float) -> float:\n    return {{}}\n{FENCE}"


def say(prompt: Prompt, sample: int) -> str:
    """Return what is left of the text that the model writes, wherever it was interrupted."""
    text = ANSWERED.format(sample) if prompt.turns else SAID
    before = prompt.prefix * (not prompt.turns) + prompt.middle + prompt.forced
    ends = (n for n in range(min(len(text), len(before)), 0, -1) if before.endswith(text[:n]))
    return text[next(ends, 0) :]


class Machine:
    """
    What runs at an address: whether it is there, its model, its context. One that is sick answers
    who connects, and fails at each prompt.
    """

    def __init__(self) -> None:
        self.is_gone = False
        self.is_sick = False
        self.model = "fake"
        self.n_ctx = N_CTX


class Server(FakeBackend):
    """
    The way to a *machine*; *look* is called with each prompt, before the server has it. *is_other*:
    the machine changed, and no measure has told of it yet.
    """

    is_other = False

    def __init__(
        self, machine: Machine, delays: Delays, look: Callable[[Prompt], None], disk: list[Ids]
    ) -> None:
        super().__init__(say, n_ctx=machine.n_ctx, disk=disk)
        self.machine = machine
        self._delays = delays
        self._look = look
        self.state = replace(self.state, prefill_per_s=PREFILL_PER_S, health=Health.UNKNOWN)

    def lacks(self, ids: Ids) -> int:
        """Return how many of *ids* are to be evaluated."""
        return len(ids) - self._held_of(ids)

    def end(self) -> None:
        """End the process of the server: what it held is lost."""
        self.machine.is_gone = self.is_other = True
        self._slots = [(), ()]
        self._answer = [()]
        self._aside = [()]

    async def connect(self) -> Server:
        if not self.state.is_ready:
            await self._wait(self._delays("connect"))
            self.state = replace(
                self.state, health=Health.READY, message="", cause="", model=self.machine.model
            )
        return self

    async def measure(self, prompt: Prompt) -> Measure:
        await self._see("measure", prompt)
        self.is_other = False
        return await super().measure(prompt)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        await self._see("warm", prompt)
        return await super().warm(prompt, step)

    async def save(self, prompt: Prompt, files: tuple[str, ...] = ()) -> int:
        await self._see("save", prompt)
        return await super().save(prompt, files)

    async def restore(self, prompt: Prompt) -> int:
        await self._see("restore", prompt)
        return await super().restore(prompt)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        await self._see("stream", request.prompt)
        seconds = self._delays("pieces") / 10
        async with aclosing(super().stream(request)) as replies:
            async for reply in replies:
                await self._wait(seconds)
                yield reply

    async def _see(self, call: str, prompt: Prompt) -> None:
        self._look(prompt)
        await self._wait(self._delays(call), "it fails" if self.machine.is_sick else "")

    async def _wait(self, seconds: float, why: str = "") -> None:
        """Take time; then the machine may be gone, or another model may be there."""
        await asyncio.sleep(abs(seconds))
        why = "it is gone" if self.machine.is_gone else why
        if not why and self.state.is_ready and self.state.model != self.machine.model:
            why = "it has another model now"
        if why:
            self.state = replace(self.state, health=Health.DOWN, message=why, cause=why)
            raise BackendUnavailable(why)
        if self.state.n_ctx != self.machine.n_ctx:
            self.state = replace(self.state, n_ctx=self.machine.n_ctx)


def ids_of(prompt: Prompt) -> Ids:
    """Return the token ids of *prompt*."""
    return sum(_parts(prompt), ())
