"""Documents alternate on real llama.cpp servers of every kind, with a long ring in common."""

from __future__ import annotations

import asyncio
import itertools
import json
import statistics
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover.endpoints import Endpoints
from server_bridge.http.client import Http
from server_bridge.http.responses import Object
from server_bridge.llama.backend import LlamaServer
from server_bridge.protocol import Chunk, Model, Prompt, Request
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.prompts import LINES, TYPED

pytestmark = [pytest.mark.engine, pytest.mark.usefixtures("patient")]

RING = tuple(Chunk(f"lib/m{n}.py", "".join(LINES[n * 15 : n * 15 + 15])) for n in range(6))
EXCLUSIVE = "embedded"
SERVERS: dict[str, dict[str, Any]] = {
    "separate": {"n_parallel": 2},
    "unified": {"n_parallel": 4, "kv_unified": True},
    "one slot": {"n_parallel": 1, "n_ctx": 4096},
    "hidden": {"endpoint_slots": False},
    "no memory": {"cache_ram_mib": 0},
    "four": {"n_parallel": 4, "n_ctx": 16384},
}
FEW = 12  # tokens: what was typed and the marks behind it, or the end of a window
WINDOW = 320  # tokens: all but the ring, which has three times as many


def in_document(n: int, middle: str = "") -> Prompt:
    """Return a prompt in the n-th document, all of which share the ring: some 1,200 tokens."""
    at = 700 + 100 * n
    prefix, suffix = "".join(LINES[at - 24 : at]), "".join(LINES[at : at + 8])
    return Prompt("demo", RING, f"app/d{n}.py", prefix, suffix, middle)


class Heard(Http):
    """Notes the slots that are named, and how often the slots are looked at."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.named: list[int] = []
        self.n_looks = 0

    async def post(self, path: str, body: bytes) -> Object:
        slot = json.loads(body).get("id_slot", -1)
        self.named += [slot] if slot >= 0 else []
        return await super().post(path, body)

    async def get(self, path: str, *, named: bool = True, opens: bool = True) -> Object:
        self.n_looks += path == "/slots"
        return await super().get(path, named=named, opens=opens)


@asynccontextmanager
async def running(kind: str, n: int = 1) -> AsyncIterator[list[Endpoints | LlamaServer]]:
    """A number of backends, each as if it was another editor's, on one server of this kind."""
    async with AsyncExitStack() as stack:
        if kind == EXCLUSIVE:
            backends: list[Endpoints | LlamaServer] = [
                open_backend(BackendSettings(kind="embedded"))
            ]
        else:
            settings = {"endpoint_slots": True, **SERVERS[kind]}
            url = stack.enter_context(llama_server(BUNDLED, **settings))
            backends = [LlamaServer(url) for _ in range(n)]
        for backend in backends:
            stack.push_async_callback(backend.aclose)
        yield backends


async def visit(backend: Model, n_document: int, middle: str) -> int:
    """Ask twice in a document; returns the tokens evaluated at first. Everything must be foretold."""
    costs = []
    for typed in (middle, middle + "x"):
        reply = await backend.complete(Request(in_document(n_document, typed), n_predict=2))
        assert reply.timings.expected_n in (None, reply.timings.cache_n)
        costs.append(reply.timings.prompt_n)
    assert costs[1] <= FEW
    return costs[0]


def typed(n_round: int) -> str:
    """Return what stands after the anchor in this round: a word more than in the one before."""
    return TYPED[: TYPED.index(" ", 12 * n_round + 12)]


@pytest.mark.parametrize(
    ("kind", "n_documents"), [(EXCLUSIVE, 2), (EXCLUSIVE, 4), ("separate", 2), ("four", 4)]
)
async def test_coming_back_costs_a_few_tokens(kind: str, n_documents: int) -> None:
    """Documents that take turns are evaluated once each: any number on our own server, one per slot elsewhere."""
    async with running(kind) as [backend]:
        first = [await visit(backend, n, typed(0)) for n in range(n_documents)]
        assert first[0] > 3 * WINDOW
        assert max(first[1:]) <= WINDOW
        for n_round in range(1, 4):
            assert max([await visit(backend, n, typed(n_round)) for n in range(n_documents)]) <= FEW


@pytest.mark.parametrize("kind", ["unified", "one slot", "hidden", "separate"])
async def test_where_slots_cannot_be_named_the_ring_stays(kind: str) -> None:
    """Of three documents the one that comes back pays for its window at most, and we know it beforehand."""
    async with running(kind) as [backend]:
        for n_round in range(3):
            costs = [await visit(backend, n, typed(n_round)) for n in range(3)]
            assert n_round == 0 or max(costs) <= WINDOW


async def test_without_memory_a_document_moves_into_its_own_slot_while_idle() -> None:
    """A new document is a guest in the slot that has the ring; once warmed it has its own."""
    async with running("no memory") as [backend]:
        for _ in range(3):  # until it shows that the server saves nothing
            for n in range(2):
                await backend.complete(Request(in_document(n, typed(0)), n_predict=2))
                while (await backend.warm(in_document(n, typed(0)), 4000)).left:
                    pass
        for n_round in range(1, 4):
            assert max([await visit(backend, n, typed(n_round)) for n in range(2)]) <= FEW


async def test_editors_on_one_server_leave_each_other_alone() -> None:
    """Two editors with two documents each on four slots: switching in one costs the other nothing."""
    async with running("four", 2) as editors:
        for n_round in range(4):
            for n_editor, backend in enumerate(editors):
                for n in range(2):
                    cost = await visit(backend, 2 * n_editor + n, typed(n_round))
                    assert n_round == 0 or cost <= FEW


async def test_an_editor_that_finds_no_slot_leaves_it_to_the_server() -> None:
    """Where others hold all slots the third editor names none, asks once, and gets its completions."""
    with llama_server(BUNDLED, endpoint_slots=True, **SERVERS["separate"]) as url:
        wires = [Heard(url) for _ in range(3)]
        editors = [LlamaServer(wire) for wire in wires]
        for n, backend in enumerate(editors):
            await backend.complete(Request(in_document(n, typed(0)), n_predict=2))
        before = wires[2].n_looks
        await visit(editors[2], 2, typed(1))
        assert await visit(editors[2], 2, typed(2)) <= FEW
        # Once when they met, to see whether it drafts, and once for an empty slot.
        assert (before, wires[2].n_looks, wires[2].named) == (2, 2, [])
        for backend in editors:
            await backend.aclose()


@pytest.mark.parametrize("kind", ["separate", "four", "one slot", "unified", "no memory"])
async def test_a_slot_is_named_for_the_first_prompt_of_a_document_only(kind: str) -> None:
    """llama.cpp loads what a request wants into the slot it names even while that one is busy."""
    with llama_server(BUNDLED, endpoint_slots=True, **SERVERS[kind]) as url:
        wire = Heard(url)
        backend = LlamaServer(wire)
        await backend.complete(Request(in_document(0, typed(0)), n_predict=2))
        await backend.complete(Request(in_document(1, typed(0)), n_predict=2))
        while (await backend.warm(in_document(1, typed(0)), 4000)).left:
            pass
        wire.named.clear()
        for n_round in range(1, 4):
            for n in range(2):
                await visit(backend, n, typed(n_round))
        await backend.aclose()
    assert wire.named == []


async def test_editors_that_begin_together_get_their_answers() -> None:
    """Six editors on four slots, all asking at once: all get answers, and most keys cost a few tokens."""
    async with running("four", 6) as editors:

        async def ask(n: int, n_round: int) -> int:
            own = replace(in_document(n, typed(n_round)), repo=f"project{n}", chunks=())
            return (await editors[n].complete(Request(own, n_predict=2))).timings.prompt_n

        async def all_ask(n_round: int) -> list[int]:
            return await asyncio.gather(*(ask(n, n_round) for n in range(len(editors))))

        costs = [await all_ask(n_round) for n_round in range(12)]
    assert statistics.median(itertools.chain(*costs[1:])) <= FEW
