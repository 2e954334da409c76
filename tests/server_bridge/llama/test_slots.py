"""
Documents alternate in the slots of llama.cpp servers of every kind, with a long ring in common.

What is decided is seen on a server that does what `Mirror` says llama.cpp does; that it does so is seen on real ones.
"""

from __future__ import annotations

import json
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover.endpoints import Endpoints
from server_bridge.fim.layout import WIDTH, Ids, head, ids, join_runs
from server_bridge.http.client import Http
from server_bridge.http.responses import Object
from server_bridge.llama import answers, completion
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.cache import PREFILL, Cache
from server_bridge.llama.checkpoints import ModelMemory
from server_bridge.llama.contents import n_tokens
from server_bridge.llama.identity import Identity
from server_bridge.llama.link import Body, Link
from server_bridge.llama.mirror import Mirror
from server_bridge.llama.own import Own
from server_bridge.llama.slot_client import Evaluated, SlotClient, body
from server_bridge.llama.slots import ASIDE, SlotChoice
from server_bridge.process import sizing
from server_bridge.protocol import BackendUnusable, Chunk, Prompt, Request
from server_bridge.speeds import Speeds
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.prompts import LINES

FEW = 12  # tokens: what was typed and the marks behind it, or the end of a window
WINDOW = 320  # tokens: all but the ring, which has three times as many


class Server:
    """A llama.cpp server with so many slots, by `Mirror`, in place of a `Link` to it."""

    url = "http://simulated"

    def __init__(
        self, n_slots: int, *, unified: bool = False, hidden: bool = False, saves: bool = True
    ) -> None:
        self.n_slots = n_slots
        self.named: list[int] = []
        self.n_looks = 0
        self.busy: dict[int, int] = {}  # tokens of prompts that were given up, by slot
        self._is_hidden = hidden
        self._mirror = Mirror(n_slots)
        self._mirror.unified = unified
        self._mirror.saves = saves

    async def stream(self, fields: Object, write: Body) -> AsyncGenerator[answers.Event, None]:
        body = json.loads(write(fields))
        prompt = ids(body["prompt"])
        named = body["id_slot"]
        self.named += [named] if named >= 0 else []
        reused = self._mirror.expect_reused(prompt.packed, named if named >= 0 else None)
        slot = named if named >= 0 else self._mirror.predict_slot(prompt.packed)
        if slot < 0:
            slot = min({*range(self.n_slots)} - self._mirror.held.keys() - self.busy.keys())
        made = ids([5] * body["n_predict"])
        held = (prompt.packed + made.packed)[: (prompt.n + max(0, made.n - 1)) * WIDTH]
        self._mirror.settle(slot, prompt.packed, held, named=named >= 0, n_reused=reused)
        yield answers.Event(
            tokens=[5] * made.n, stop=True, stop_type="limit", id_slot=slot,
            tokens_predicted=made.n, tokens_cached=n_tokens(held),
            timings=answers.SlotCost(prompt.n - reused, reused, made.n, 1.0, 1.0),
        )  # fmt: skip

    async def get(self, kind: type, path: str) -> list[answers.Slot]:
        assert (kind, path) == (answers.Slot, "/slots")
        self.n_looks += 1
        if self._is_hidden:
            raise BackendUnusable("started without --slots")
        held = self._mirror.held
        counts = {**{slot: n_tokens(held[slot].tokens) for slot in held}, **self.busy}
        return [
            answers.Slot(slot, counts.get(slot, 0), is_processing=slot in self.busy)
            for slot in range(self.n_slots)
        ]


KINDS: dict[str, dict[str, Any]] = {
    "ours": {"n_slots": 2},
    "separate": {"n_slots": 2},
    "unified": {"n_slots": 4, "unified": True},
    "one slot": {"n_slots": 1},
    "hidden": {"n_slots": 2, "hidden": True},
    "no memory": {"n_slots": 2, "saves": False},
    "four": {"n_slots": 4},
}


def editor(server: Server, *, exclusive: bool = False, memory: ModelMemory | None = None) -> Cache:
    """Return the slots of *server* as one editor uses them, which believes in such a *memory*."""
    identity = Identity("b20000", "model.gguf", server.n_slots, 4096)
    link = cast("Link", server)
    client = SlotClient(link, identity, Speeds(), memory or ModelMemory(), exclusive=exclusive)
    return Cache(client, foreign=1)


def whole(n_document: int, n_round: int, more: int = 0) -> Ids:
    """Return the prompt of the n-th document: a ring that all share, a window, and three tokens for each round."""
    window = range(2000 + 1000 * n_document, 2000 + 1000 * n_document + WINDOW - FEW)
    return ids([*range(100, 100 + 3 * WINDOW), *window, *range(10, 13 + 3 * n_round + more)])


async def evaluate(cache: Cache, document: str, prompt: Ids, options: Object) -> Evaluated:
    """Evaluate a prompt in the slot that serves it best, as for a state that is to be saved."""
    slot = await cache.prepare(document, prompt)
    return await cache.client.run(document, prompt, options, slot)


async def see(cache: Cache, n_document: int, n_round: int) -> int:
    """Ask twice in a document; returns the tokens evaluated at first. Everything must be foretold."""
    costs = []
    for more in range(2):
        prompt = whole(n_document, n_round, more)
        options = {**PREFILL, "n_predict": 2}
        done = await evaluate(cache, f"d{n_document}", prompt, options)
        if done.outlook is not None and done.outlook.sure:
            assert done.outlook.reused == done.cost.cache_n
        costs.append(done.cost.prompt_n)
    assert costs[1] <= FEW
    return costs[0]


async def warm(cache: Cache, n_document: int) -> None:
    while (await cache.warm(f"d{n_document}", whole(n_document, 0), 4000)).left:
        pass


TURNS = [("ours", 2), ("ours", 4), ("separate", 2), ("four", 4)]
UNNAMED = [(kind, 3) for kind in ("unified", "one slot", "hidden", "separate")]


@pytest.mark.parametrize(("kind", "n_documents"), [*TURNS, *UNNAMED])
async def test_coming_back_costs_a_few_tokens(kind: str, n_documents: int) -> None:
    """
    Documents that take turns are evaluated once each: any number on our own server, one per slot elsewhere; where
    slots cannot be named the one that comes back pays for its window at most, and we know it beforehand.
    """
    cache = editor(Server(**KINDS[kind]), exclusive=kind == "ours")
    first = [await see(cache, n, 0) for n in range(n_documents)]
    assert first[0] > 3 * WINDOW
    assert max(first[1:]) <= WINDOW
    most = FEW if (kind, n_documents) in TURNS else WINDOW
    for n_round in range(1, 4):
        assert max([await see(cache, n, n_round) for n in range(n_documents)]) <= most


async def test_without_memory_a_document_moves_into_its_own_slot_while_idle() -> None:
    """A new document is a guest in the slot that has the ring; once warmed it has its own."""
    cache = editor(Server(**KINDS["no memory"]))
    for _ in range(3):  # until it shows that the server saves nothing
        for n in range(2):
            await evaluate(cache, f"d{n}", whole(n, 0), {**PREFILL, "n_predict": 2})
            await warm(cache, n)
    for n_round in range(1, 4):
        assert max([await see(cache, n, n_round) for n in range(2)]) <= FEW


async def test_editors_on_one_server_leave_each_other_alone() -> None:
    """Two editors with two documents each on four slots: switching in one costs the other nothing."""
    server = Server(**KINDS["four"])
    editors = [editor(server), editor(server)]
    for n_round in range(4):
        for n_editor, cache in enumerate(editors):
            for n in range(2):
                cost = await see(cache, 2 * n_editor + n, n_round)
                assert n_round == 0 or cost <= FEW


async def test_an_editor_that_finds_no_slot_leaves_it_to_the_server() -> None:
    """Where others hold all slots the third editor names none, asks once, and gets its completions."""
    server = Server(**KINDS["separate"])
    editors = [editor(server) for _ in range(3)]
    for n, cache in enumerate(editors[:2]):
        await see(cache, n, 0)
    server.named.clear()
    before = server.n_looks
    for n_round in range(2):
        await see(editors[2], 2, n_round)
    assert await see(editors[2], 2, 2) <= FEW
    assert (server.n_looks - before, server.named) == (1, [])


@pytest.mark.parametrize("first", [0, 1])
async def test_an_editor_that_is_left_alone_has_its_slot_found(first: int) -> None:
    """What the others did to the slots is not known: the server finds the next prompt, then the slot is named."""
    server = Server(**KINDS["separate"])
    editors = [editor(server), editor(server)]
    for n in (first, 1 - first):
        await see(editors[n], n, 0)
    server.named.clear()
    cache = editors[1]
    cache.client.share(exclusive=True)
    prompt = whole(1, 1)
    options = {**PREFILL, "n_predict": 2}
    done = await evaluate(cache, "d1", prompt, options)
    assert (done.cost.prompt_n <= FEW, server.named) == (True, [])
    assert await see(cache, 1, 2) <= FEW
    assert server.named == [done.slot, done.slot]


async def test_a_slot_at_work_does_not_tell_what_happens_to_idle_ones() -> None:
    """A slow server still evaluates what was given up: that it is not emptied does not make the slots separate."""
    server = Server(**KINDS["unified"])
    server.busy = {3: 100}
    cache = editor(server)
    await see(cache, 0, 0)
    server.busy.clear()
    for n_round in range(1, 3):
        costs = [await see(cache, n, n_round) for n in range(3)]
        assert n_round == 1 or max(costs) <= WINDOW
    assert not cache.client.check.problem


@pytest.mark.parametrize("kind", ["separate", "four", "one slot", "unified", "no memory"])
async def test_a_slot_is_named_for_the_first_prompt_of_a_document_only(kind: str) -> None:
    """llama.cpp loads what a request wants into the slot it names even while that one is busy."""
    server = Server(**KINDS[kind])
    cache = editor(server)
    for n in range(2):  # where nothing is saved that is not foretold yet
        await evaluate(cache, f"d{n}", whole(n, 0), {**PREFILL, "n_predict": 2})
    await warm(cache, 1)
    server.named.clear()
    for n_round in range(1, 4):
        for n in range(2):
            await evaluate(cache, f"d{n}", whole(n, n_round), {**PREFILL, "n_predict": 2})
    assert server.named == []


@pytest.mark.parametrize("kind", ["ours", "one slot"])
async def test_what_is_evaluated_aside_is_there_and_takes_nothing_away(kind: str) -> None:
    """Twice, with another document between; where there is one slot, nothing is evaluated aside."""
    cache = editor(Server(**KINDS[kind]), exclusive=True)
    for n_round in range(2):
        await see(cache, 0, n_round)
        above = whole(0, 0)
        below = ids([*range(5000 + n_round, 5100 + n_round)])
        end = join_runs((head(above, above.n - FEW), below))
        warmed = await cache.warm("d0" + ASIDE, end, 4000)
        assert bool(warmed.evaluated) == (kind == "ours")
        done = await evaluate(cache, "d0", whole(0, n_round, 1), PREFILL)
        assert done.cost.prompt_n <= FEW
        if warmed.evaluated:
            done = await evaluate(cache, "d0", end, PREFILL)
            assert done.cost.prompt_n <= FEW
        await see(cache, 1, n_round)


RING = tuple(Chunk(f"lib/m{n}.py", "".join(LINES[n * 15 : n * 15 + 15])) for n in range(6))


@pytest.mark.engine
@pytest.mark.usefixtures("patient")
async def test_real_servers_do_as_the_mirror_says() -> None:
    """Documents take turns on our engine, and on a server; what each costs was foretold."""
    await take_turns(open_backend(BackendSettings(kind="embedded")), 4, FEW)
    with llama_server(BUNDLED, endpoint_slots=True, n_parallel=4, kv_unified=True) as url:
        await take_turns(LlamaServer(url), 3, WINDOW)


async def take_turns(backend: Endpoints | LlamaServer, n_documents: int, most: int) -> None:
    async with aclosing(backend):
        for n_round, middle in enumerate(("    def f(", "    def f(self, ")):
            costs = []
            for n in range(n_documents):
                above = LINES[684 + 100 * n : 700 + 100 * n]
                below = LINES[700 + 100 * n :][:8]
                gap = Prompt("demo", RING, f"{n}.py", "".join(above), "".join(below), middle)
                timings = (await backend.complete(Request(gap, n_predict=2))).timings
                assert timings.expected_n in (None, timings.cache_n)
                costs.append(timings.prompt_n)
            assert n_round == 0 or max(costs) <= most


def _own_memory(model: Path, aside_mib: int) -> ModelMemory:
    """Return what is known of a model that we started, with so much for what is set aside."""
    memory = sizing.memory_of(sizing.read_facts(model), 512, 2, 64 << 30)
    return memory._replace(aside_bytes=aside_mib << 20)


async def visit(url: str, n_documents: int, memory: ModelMemory) -> tuple[list[int], str]:
    """
    Look twice at documents of 150 tokens behind 200 that all share; return what each round
    evaluated beside what had to be, and what the user is told.
    """
    own = Own("test", memory)
    rng = random.Random(1)
    shared = [*range(300, 500)]
    counts = list[int]()
    windows = [rng.choices(range(300, 3000), k=150) for _ in range(n_documents)]
    async with aclosing(LlamaServer(url, own=own)) as server:
        await server.connect()
        assert server._connected is not None
        cache = server._connected.cache
        for _ in range(2):
            counts.append(0)
            for n, window in enumerate(windows):
                done = await evaluate(cache, f"d{n}", ids(shared + window), PREFILL)
                counts[-1] += done.cost.prompt_n
                sure = done.outlook is not None and done.outlook.sure
                assert not sure or done.outlook.reused <= done.cost.cache_n
        return counts, server.state.cache_problem


@pytest.mark.engine
@pytest.mark.usefixtures("patient")
async def test_a_second_visit_of_many_files_costs_a_token_each() -> None:
    """What the engine has set aside of 40 files is known, and loaded: no window is paid for twice."""
    with llama_server(BUNDLED, endpoint_slots=True, cache_ram_mib=64) as url:
        (_, again), problem = await visit(url, 40, _own_memory(BUNDLED, 64))
    assert again <= 80
    assert not problem


@pytest.mark.engine
@pytest.mark.usefixtures("patient")
async def test_what_the_engine_drops_is_not_expected() -> None:
    """Of 40 files in room for eight the oldest are gone: that is foretold, and no trouble."""
    with llama_server(BUNDLED, endpoint_slots=True, cache_ram_mib=7) as url:
        (_, again), problem = await visit(url, 40, _own_memory(BUNDLED, 7))
    assert again > 80
    assert not problem


@pytest.mark.engine
@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("clears", [False, True])
async def test_a_busy_slot_is_never_named(*, clears: bool) -> None:
    """Another client took it since we looked: our prompt and a third client's go to the idle one."""
    with llama_server(BUNDLED, endpoint_slots=True, n_ctx=2 * 8192) as url:
        server = LlamaServer(url)
        http = Http(url)
        async with aclosing(http), aclosing(server):
            await server.connect()
            assert server._connected is not None
            cache = server._connected.cache
            client = server._connected.cache.client
            prompt = ids([*range(300, 340)])
            long = {
                **PREFILL,
                **completion.ALWAYS,
                "n_predict": 6000,
                "id_slot": 0,
                "ignore_eos": True,
            }
            other = Link(http)
            await other.meet()
            working = other.stream(long, partial(body, ids([*range(700, 740)])))
            async with aclosing(working):
                await anext(working)
                client.slots.choose = lambda *_, **__: SlotChoice(0, clear=clears)  # type: ignore[method-assign]
                slot = await cache.prepare("d", prompt) if clears else 0
                ours = await client.run("d", prompt, PREFILL, slot)
                third = await client.run("", ids([*range(900, 940)]), PREFILL, None)
                shown = {slot.id: slot.is_processing for slot in await client.look() or []}
    assert (ours.slot, third.slot) == (1, 1)
    assert shown == {0: True, 1: False}
