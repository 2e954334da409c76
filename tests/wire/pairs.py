"""
Stories of two servers: each comes and goes, or has a certificate that is not trusted; the first one
attacks, too.

The laws are those of `tests.wire.laws`, and *key*: no server ever sees the key of the other one.

    python -m tests.wire.pairs FIRST N      each kind of trouble in N seeds, shrunk to a few steps
"""

from __future__ import annotations

import random
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from typing import Any

import httpcore
import pytest

from server_bridge.bridge import BackendSettings
from server_bridge.http import transport
from server_bridge.http.api_key import Key
from tests.wire.attacks import ATTACKS
from tests.wire.laws import HOW, PAUSES, Run, Story, find
from tests.wire.network import Asked, Connection, Network
from tests.wire.servers import SERVERS

HOSTS = ("one.example", "two.example")
KEYS = ("key-of-one", "key-of-two")
FAULTS = ("certificate has expired", "Hostname mismatch", "self-signed certificate")


class Ways(httpcore.AsyncNetworkBackend):
    """The ways to both servers, by host."""

    def __init__(self, networks: dict[str, Network]) -> None:
        self._networks = networks

    @property
    def n_open(self) -> int:
        return sum(network.n_open for network in self._networks.values())

    async def connect_tcp(self, host: str, *_: Any, **__: Any) -> Connection:
        return await self._networks[host].connect_tcp()

    async def sleep(self, seconds: float) -> None:
        await self._networks[HOSTS[0]].sleep(seconds)


class Pair(Run):
    """One run of a story, whose *kind* names both servers."""

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        second = SERVERS[story.kind.split()[1]]()
        self.networks = [Network(partial(self.serve_at, n, (None, second)[n])) for n in (0, 1)]
        self.network = Ways(dict(zip(HOSTS, self.networks, strict=True)))

    def settings(self) -> BackendSettings:
        kinds: list[Any] = self.story.kind.split()
        return BackendSettings(
            endpoints=tuple(
                BackendSettings(kind, f"https://{host}", key=Key(env=key.replace("-", "_")))
                for kind, host, key in zip(kinds, HOSTS, KEYS, strict=True)
            )
        )

    async def serve_at(self, n: int, second: Any, asked: Asked) -> AsyncGenerator[bytes, None]:
        if KEYS[1 - n] in asked.head or KEYS[n] not in asked.head:
            self.blame("key", f"of another, or none: {asked.path}")
        async with aclosing(self.serve(asked, second)) as pieces:
            async for piece in pieces:
                yield piece

    async def do_honest(self) -> None:
        self.attack = None
        for network in self.networks:
            network.is_down = False
            network.fault = ""

    async def do_gone(self, n: str) -> None:
        self.networks[int(n)].is_down = True

    async def do_fault(self, n: str, fault: str) -> None:
        self.networks[int(n)].fault = FAULTS[int(fault)]

    async def do_far(self, n: str) -> None:
        self.networks[int(n)].way_s = 0.4

    async def do_well(self, n: str) -> None:
        self.networks[int(n)].is_down = False
        self.networks[int(n)].fault = ""


def draw(seed: int) -> Story:
    """Return the story of a seed."""
    rng = random.Random(seed)
    kind = " ".join(rng.choice([*SERVERS]) for _ in HOSTS)
    attack = rng.choice([*ATTACKS])
    steps = list[str]()
    for _ in range(rng.randrange(3, 12)):
        pause = rng.choice(PAUSES)
        name = rng.choice("aab")
        n = rng.choice((0, 0, 1))
        match rng.randrange(9):
            case 0:
                scope = rng.choice(("all", "stream", "rest"))
                steps.append(f"attack {attack} {scope} {rng.choice((1, 0.5))} {pause}")
            case 1:
                steps.append(f"fault {n} {rng.randrange(len(FAULTS))} {pause}")
            case 2:
                steps.append(f"{rng.choice(('gone', 'gone', 'far'))} {n} {pause}")
            case 3 | 4:
                steps.append(f"{rng.choice((f'well {n}', 'cancel', f'key {name}'))} {pause}")
            case _:
                steps.append(f"key {name} 0.0")
                steps.append(f"ask {name} {rng.choice(HOW)} {pause}")
    return Story(kind, tuple(steps))


def prepare(patch: pytest.MonkeyPatch) -> None:
    """Set the keys; the connections in memory need no certificates, which take 25 ms to read."""
    patch.setattr(transport, "certificates", lambda *_: False)
    for key in KEYS:
        patch.setenv(key.replace("-", "_"), key)


if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        prepare(patch)
        seeds = range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2]))
        for seed, what, smallest in find(seeds, Pair, draw):
            print(f"{seed} {what}: {smallest}", flush=True)
