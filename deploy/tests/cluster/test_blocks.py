"""What a key costs vLLM, which keeps whole blocks only; benchmarks/keystrokes.py as its user runs it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import subprocess
import sys
from contextlib import aclosing, suppress
from pathlib import Path

import httpx
import pytest

from benchmarks.figures import at
from benchmarks.metrics import SAMPLE
from deploy.tests import vllm_server
from deploy.tests.vllm_server import Running, running
from server_bridge.http.client import Http
from server_bridge.http.responses import Loading
from server_bridge.openai.backend import OpenAiServer
from server_bridge.protocol import Request
from tests.llama_server import free_port
from tests.server_bridge.prompts import prompt
from tests.server_bridge.waiting import until


@pytest.mark.parametrize(("block", "most"), [(32, 24), (128, 80)])
def test_a_completion_evaluates_half_a_block_and_what_was_typed(
    block: int, most: int, tmp_path: Path
) -> None:
    """The median of a file typed straight on; in one request each it cannot be much more."""
    replica = vllm_server.replica(free_port(), block=block)
    with running(replica):
        command = [
            sys.executable,
            "-m",
            "benchmarks.keystrokes",
            "--kind",
            "openai",
            "--url",
            replica.url,
        ]
        options = ["--clients", "ours", "--traces", "straight", "--out", str(tmp_path)]
        subprocess.run([*command, *options], check=True, env={**os.environ, "PYTHONPATH": "."})
    [row] = json.loads((tmp_path / "keystrokes.json").read_text("utf-8"))["rows"]
    assert len(row["evaluated"]) > 50
    assert at(row["evaluated"], 0.5) <= most


async def test_a_stream_that_is_closed_ends_the_work(pair: list[Running]) -> None:
    """vLLM stops within moments, not after the 3,000 tokens that it could have made."""
    backend = OpenAiServer(Http(pair[0].url, patience_s=600))

    async def is_awake() -> bool:
        with suppress(Loading):  # a busy machine is late with the first word
            return bool((await (await backend.connect()).complete(Request(prompt(), 1))).text)
        return False

    await until(is_awake)
    before = await counted(pair[0], "vllm:generation_tokens_total")
    async with aclosing(backend.stream(Request(prompt(), n_predict=3000))) as replies:
        await anext(replies)
    while await counted(pair[0], "vllm:num_requests_running"):
        await asyncio.sleep(0.1)
    assert await counted(pair[0], "vllm:generation_tokens_total") - before < 500
    await backend.aclose()


async def counted(replica: Running, series: str) -> int:
    async with httpx.AsyncClient(trust_env=False) as client:
        text = (await client.get(f"{replica.url}/metrics")).text
    return sum(int(float(value)) for name, value in SAMPLE.findall(text) if name == series)


async def test_two_keys_count_while_the_key_is_changed() -> None:
    """Each of both completes, no other does; and neither is in vLLM's log or arguments."""
    own = secrets.token_hex(32)
    other = secrets.token_hex(32)
    replica = vllm_server.replica(free_port(), keys=(own, other))
    body = {"model": vllm_server.MODEL, "prompt": "def f", "max_tokens": 1}
    with running(replica):
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
            statuses = [
                (
                    await client.post(
                        f"{replica.url}/v1/completions", json=body,
                        headers={"Authorization": f"Bearer {key}"},
                    )
                ).status_code
                for key in (own, other, other[:-1], "x")
            ]  # fmt: skip
        log = (
            Path(replica.command[0]).parent.parent / "log" / f"{replica.url.rpartition(':')[2]}.log"
        )
        text = log.read_text("utf-8") + " ".join(replica.command)
    assert statuses == [200, 200, 401, 401]
    assert own not in text
    assert other not in text
