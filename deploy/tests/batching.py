"""
A slow model server that batches as vLLM and llama.cpp do, and knows the text that its users type.

A step decodes a token of each request under way and evaluates new prompt tokens of the others; all of them wait for
its end. What a session has sent before is cached. It computes nothing, so its speed is the same on a busy machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from server_bridge.fim.tokens import n_common

CHARS = 4  # per token
MODEL = {"object": "list", "data": [{"id": "coder", "owned_by": "vllm", "max_model_len": 8192}]}


class Pace(NamedTuple):
    """How fast a server is: seconds per step, prompt tokens per second, of a step, and of one request in it."""

    step_s: float = 0.02
    per_second: float = 10_000
    in_a_step: int = 2048
    of_one: int = 128
    slots: int = 8


@dataclass(eq=False)
class Job:
    """A request: *new* prompt tokens to evaluate, tokens that it wants, and those that are ready."""

    new: int
    wanted: list[str]
    ready: asyncio.Queue[str] = field(default_factory=asyncio.Queue)


class Batching:
    """State: the *jobs* under way and those that wait, and the prompts of each session."""

    def __init__(self, pace: Pace, text: str) -> None:
        self.pace = pace
        self._text = text
        self.jobs: list[Job] = []
        self._prompts: dict[str, list[str]] = {}
        self._more = asyncio.Event()

    async def run(self) -> None:
        """Take step after step, for ever."""
        while True:
            self._more.clear()
            if not self.jobs:
                await self._more.wait()
            active = self.jobs[: self.pace.slots]
            decoding = [job for job in active if not job.new]
            left = self.pace.in_a_step - len(decoding)
            for job in active:
                n = min(job.new, self.pace.of_one, left)
                job.new -= n
                left -= n
            n_read = self.pace.in_a_step - len(decoding) - left
            await asyncio.sleep(self.pace.step_s + n_read / self.pace.per_second)
            for job in decoding:
                job.ready.put_nowait(job.wanted.pop(0) if job.wanted else "")

    @asynccontextmanager
    async def working_on(self, session: str, prompt: str, n_tokens: int) -> AsyncIterator[Job]:
        """Put a request in line; it leaves with the block."""
        known = self._prompts.setdefault(session, [])
        cached = max((n_common(prompt, other) for other in known), default=0)
        self._prompts[session] = [*known[-3:], prompt]
        text = self._continuation(prompt)[: n_tokens * CHARS]
        wanted = [text[at : at + CHARS] for at in range(0, len(text), CHARS)]
        job = Job(max(1, (len(prompt) - cached) // CHARS), wanted)
        self.jobs.append(job)
        self._more.set()
        try:
            yield job
        finally:
            self.jobs.remove(job)

    def _continuation(self, prompt: str) -> str:
        """Return the rest of the line that the prompt's end begins in the text."""
        end = prompt.rpartition("<|fim_middle|>")[2][-40:]
        at = self._text.find(end) + len(end) if end and end in self._text else -1
        return self._text[at:].partition("\n")[0] if at >= 0 else "x" * 999
