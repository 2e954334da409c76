"""
How many prompt tokens servers have evaluated, by their own Prometheus counters.

A stream that its client closes early tells no usage, and a router's answer does not say which replica evaluated
it: the replicas' `/metrics` count all the same.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import httpx

from benchmarks.deployment.wire import Wire
from server_bridge.http.client import UNTAGGED, Tags
from server_bridge.http.responses import Object

SAMPLE = re.compile(r"^(\w+:\w+)(?:\{[^}\n]*\})? ([\d.e+]+)$", re.MULTILINE)
# Prompt tokens, and those of them that were not evaluated; llama.cpp counts only what it evaluates.
COUNTERS = (
    ("llamacpp:prompt_tokens_total", ""),
    ("vllm:prompt_tokens_total", "vllm:prompt_tokens_cached_total"),
    ("sglang:prompt_tokens_total", "sglang:cached_tokens_total"),
)
UNKNOWN = -1


def count_evaluated(text: str) -> int:
    """Prompt tokens that a server has evaluated since it started, or `UNKNOWN`; *text* is its `/metrics`."""
    sums: dict[str, float] = {}
    for name, value in SAMPLE.findall(text):
        sums[name] = sums.get(name, 0) + float(value)  # one sample per engine of a server
    for prompt, cached in COUNTERS:
        if prompt in sums:
            return round(sums[prompt] - sums.get(cached, 0))
    return UNKNOWN


def count_decoded(text: str) -> int:
    """Return tokens that a llama.cpp has decoded since it started; *text* is its `/metrics`."""
    return round(float(dict(SAMPLE.findall(text))["llamacpp:tokens_predicted_total"]))


async def total(urls: Sequence[str]) -> int:
    """Return what the servers at *urls* have evaluated together; `UNKNOWN` where one of them keeps no count."""
    async with httpx.AsyncClient(trust_env=False) as client:
        counts = [count_evaluated((await client.get(f"{url}/metrics")).text) for url in urls]
    return UNKNOWN if UNKNOWN in counts else sum(counts)


class Metered(Wire):
    """A wire whose calls are counted at *servers*, which serve no other client meanwhile."""

    def __init__(self, url: str, servers: Sequence[str], tags: Tags = UNTAGGED) -> None:
        super().__init__(url, tags)
        self._servers = servers

    async def stream(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """See `Wire`."""
        n_calls = len(self.calls)
        before = await total(self._servers)
        try:
            async with aclosing(super().stream(path, body)) as events:
                async for event in events:
                    yield event
        finally:
            after = await total(self._servers)
            if len(self.calls) > n_calls and after != UNKNOWN:
                self.calls[-1] = self.calls[-1]._replace(evaluated=after - before)
