"""
What the mirror calls sure is so, on a real server, whatever its users do: random sessions on models of every kind.

`scripts/test` has a short session of some kinds; for others, and longer ones with other seeds:

    python -m tests.server_bridge.llama.test_random_sessions SEED N_REQUESTS [KIND…]
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest

from server_bridge.fim.layout import ids
from server_bridge.llama import completion
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.own import Own
from server_bridge.process import sizing
from tests import architectures
from tests.fuzz import FUZZ
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.llama.test_slots import evaluate

N_CTX = 4096
N_BATCH = 512
N_COPIES = 16
N_DOCUMENTS = 8
N_SHARED = (200, 500, 900)  # tokens that some documents begin with
N_REQUESTS = 40
LONGEST = 2500
GIB = 1 << 30
TOKENS = range(300, 3000)  # of the vocabulary that all these models have


class Kind(NamedTuple):
    """A *model* of `architectures`, "" for the bundled one; prompts set aside take *aside_mib*."""

    model: str = ""
    aside_mib: int = 512
    speculates: bool = False


KINDS = {
    "dense": Kind(),
    "few aside": Kind(aside_mib=8),
    "none aside": Kind(aside_mib=0),
    "speculation": Kind(speculates=True),
    "latent": Kind("deepseek2"),
    "window": Kind("gemma3"),
    "state space": Kind("granitehybrid"),
    "delta nets": Kind("qwen35"),
    "convolutions": Kind("lfm2"),
    "state space, few aside": Kind("granitehybrid", aside_mib=16),
}
SHORT = ("dense", "few aside", "speculation", "window", "state space")


class Count(NamedTuple):
    """Predictions: called sure and *right* or *wrong*, and not called sure."""

    right: int
    wrong: list[tuple[int, Any, int]]
    unsure: int


@contextmanager
def serving(kind: Kind, folder: Path) -> Iterator[tuple[str, Path]]:
    """Run a server as the product starts one; yield its address and its model."""
    model = BUNDLED
    if kind.model:
        model = architectures.write(folder / f"{kind.model}.gguf", kind.model)
    settings: dict[str, Any] = {
        "n_ctx": 2 * N_CTX, "n_batch": N_BATCH, "n_ubatch": N_BATCH, "swa_full": True,
        "cache_ram_mib": kind.aside_mib, "n_ctx_checkpoints": N_COPIES, "checkpoint_min_step": 256,
        "endpoint_slots": True, "ngrams": kind.speculates,
    }  # fmt: skip
    with llama_server(model, **settings) as url:
        yield url, model


async def play(url: str, model: Path, kind: Kind, seed: int, n_requests: int) -> Count:
    """Type, delete, jump, look, and close streams in some documents; count what was foretold."""
    memory = sizing.memory_of(sizing.read_facts(model), N_BATCH, 2, 24 * GIB)
    memory = memory._replace(aside_bytes=kind.aside_mib << 20, n_checkpoints=N_COPIES)
    rng = random.Random(seed)
    right = 0
    unsure = 0
    wrong: list[tuple[int, Any, int]] = []
    async with aclosing(LlamaServer(url, own=Own("test", memory))) as server:
        await server.connect()
        assert server._connected is not None
        cache = server._connected.cache
        for n, (document, tokens) in enumerate(edits(rng, n_requests)):
            prompt = ids(tokens)
            options = {"n_predict": rng.choice([0, 1, 4, 12]), **completion.GREEDY}
            if rng.random() < 0.15:
                slot = await cache.prepare(document, prompt)
                await close(
                    cache.client.decode(document, prompt, {**options, "n_predict": 40}, slot), rng
                )
                continue
            done = await evaluate(cache, document, prompt, options)
            outlook = done.outlook
            if outlook is None or not outlook.sure:
                unsure += 1
            elif outlook.reused == done.cost.cache_n:
                right += 1
            else:
                wrong.append((n, outlook, done.cost.cache_n))
    return Count(right, wrong, unsure)


def edits(rng: random.Random, n: int) -> Iterator[tuple[str, list[int]]]:
    """Yield *n* times a document and its tokens after a change."""

    def draw(count: int) -> list[int]:
        return rng.choices(TOKENS, k=count)

    shared = [draw(rng.choice(N_SHARED)) for _ in range(3)]
    texts = [shared[n % 3] + draw(rng.choice([100, 300, 600])) for n in range(N_DOCUMENTS)]
    at = 0
    for _ in range(n):
        if rng.random() < 0.3:
            at = rng.randrange(N_DOCUMENTS)
        text = texts[at]
        kind = rng.random()
        if kind < 0.15:
            text = text[: max(50, len(text) - rng.choice([1, 3, 30, 200, 700]))]
        elif kind > 0.95:  # something of what is shared is dropped
            text = shared[at % 3][:100] + text[200:]
        text = text + draw(rng.choice([1, 2, 5, 40]))
        texts[at] = text if len(text) <= LONGEST else text[:1000]
        yield f"d{at}", texts[at]


async def close(events: Any, rng: random.Random) -> None:
    """Read some events of a stream, and close it."""
    n_read = rng.choice([2, 4])
    async with aclosing(events):
        async for _ in events:
            n_read -= 1
            if n_read < 0:
                break


def count(name: str, seed: int, n_requests: int) -> Count:
    """Return what was foretold in a session on a server of its own."""
    kind = KINDS[name]
    with TemporaryDirectory() as folder, serving(kind, Path(folder)) as (url, model):
        return asyncio.run(play(url, model, kind, seed, n_requests))


@pytest.mark.engine
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("name", SHORT if FUZZ == 1 else KINDS)
def test_what_is_called_sure_is_so(name: str) -> None:
    """No token more or less is reused than was foretold; and most is foretold."""
    for seed in range(76, 76 + FUZZ):
        counted = count(name, seed, N_REQUESTS)
        assert not counted.wrong
        assert counted.right > counted.unsure or name == "window"


if __name__ == "__main__":
    first, n_requests, *names = sys.argv[1:]
    for seed, name in enumerate(names or KINDS, int(first)):
        print(f"{name}, seed {seed}: {count(name, seed, int(n_requests))}", flush=True)
