"""What `doctor` says of the model that answers, and of how fast it does."""

from __future__ import annotations

import os
import re
import sys
from contextlib import aclosing
from types import SimpleNamespace

import pytest

from fim_lsp.__main__ import open_backend
from fim_lsp.cli.checks import Target, model, speculation, speed
from fim_lsp.cli.server_checks import memory
from fim_lsp.settings.config import Config
from fim_lsp.settings.merge import Layer, merge_layers
from server_bridge.llama.identity import open_to_pages
from server_bridge.process.command_line import Machine
from server_bridge.protocol import Engine, Health, Reply, Request, State, Stop, Timings
from server_bridge.weights.choice import offers
from server_bridge.weights.table import GIGABYTE, NAMES

HERE = "http://127.0.0.1:8012"
NO_SERVER = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("name", "why", "level", "fix"),
    [
        ("qwen2.5-coder-7b.gguf", "", "ok", ""),
        ("fim-tiny-q8_0.gguf", "", "warn", "fim-lsp setup"),
        ("gemma-3-4b-it.gguf", "it is asked in words", "warn", f"fim-lsp setup --get {NAMES[1]}"),
    ],
)
async def test_a_model_is_the_right_one_or_second_best(name: str, why: str, level: str, fix: str):
    """With the model to take instead."""
    state = State(Health.READY, "llama-server", "http://127.0.0.1:8012", name, second_best=why)

    async def connect() -> SimpleNamespace:
        return SimpleNamespace(state=state)

    async def nothing(_: str) -> bool:
        return False

    [found] = await model(Target(Config(), (), SimpleNamespace(connect=connect), nothing))
    assert (found.level, why in found.says, fix in found.fix) == (level, True, True)
    assert ("second best" in found.says) == bool(why)


@pytest.mark.parametrize("openai", [False, True])
async def test_a_named_server_that_does_not_answer_is_named(*, openai: bool) -> None:
    """Also where the bundled model answers in its place: that is not what was set up."""
    kind = {"kind": "openai"} if openai else {}
    config, _ = merge_layers([Layer("file", {"backend": {"url": NO_SERVER, **kind}})])
    async with aclosing(open_backend(config)) as backend:
        [found] = await model(Target(config, (), backend, open_to_pages))
    assert found.level == "bad"
    assert NO_SERVER in found.says


@pytest.mark.parametrize(
    ("name", "url", "ms", "level", "fix"),
    [
        ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "", 26.0, "ok", ""),
        ("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", "", 90.0, "ok", ""),
        ("qwen2.5-coder-7b-q8_0.gguf", HERE, 190.0, "warn", "fim-lsp setup --get qwen-0.5b"),
        ("qwen2.5-coder-7b-q8_0.gguf", HERE, 20.0, "ok", ""),
        ("big.gguf", "http://10.0.0.7:8012", 190.0, "warn", "its GPU"),
    ],
)
async def test_speed_is_judged_by_what_this_machine_can_do(
    name: str, url: str, ms: float, level: str, fix: str
) -> None:
    """The model that suits the machine is quick enough on it; a larger one is slow where a smaller one is not."""
    state = State(Health.READY, "llama-server" if url else "embedded", url, name)
    cost = Timings(cache_n=40, predicted_n=16, predicted_ms=16 * ms)

    async def complete(_: Request) -> Reply:
        return Reply("x", (), (), Stop.LIMIT, cost)

    best = offers(Machine(round(8 * GIGABYTE), 2), {})[0]

    async def connect() -> SimpleNamespace:
        return backend

    backend = SimpleNamespace(state=state, complete=complete, connect=connect)
    [found] = await speed(Target(Config(), (), backend, open_to_pages, best=best))
    assert (found.level, fix in found.fix) == (level, True)


@pytest.mark.parametrize(
    ("engine", "says"),
    [
        pytest.param(
            Engine(pid=os.getpid(), most_kept=1_300_000_000),
            r"\d\.\d GB now, the model's file included; .* 1\.3 GB at most",
            marks=pytest.mark.skipif(sys.platform != "linux", reason="the system does not tell"),
        ),
        (Engine(most_kept=1_300_000_000), "what it has evaluated takes 1.3 GB at most"),
        (Engine("vllm"), ""),
    ],
)
async def test_the_memory_of_an_engine_of_ours_is_told(engine: Engine, says: str) -> None:
    """What its process has now, where the system tells, and the limit of what it keeps."""
    state = State(Health.READY, "embedded", model="a.gguf", engine=engine)
    found = await memory(Target(Config(), (), SimpleNamespace(state=state), open_to_pages))
    assert len(found) == bool(says)
    assert all(re.fullmatch(says, each.says) for each in found)


async def test_a_server_that_drafts_is_not_asked_for_a_trial() -> None:
    """A page that is open has it looked at once a minute, and nothing is evaluated for that."""
    state = State(Health.READY, "llama-server", HERE, "a.gguf", drafters="ngram", drafts=True)
    [found] = await speculation(Target(Config(), (), SimpleNamespace(state=state), open_to_pages))
    assert (found.level, "ngram" in found.says) == ("ok", True)
