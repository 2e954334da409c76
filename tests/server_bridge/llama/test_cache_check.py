"""A server that forgets is found out: by `fim/stats`, by `doctor`, and once in the log."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from fim_lsp.cli import checks
from fim_lsp.cli.checks import Target, cache
from fim_lsp.settings.config import Config
from server_bridge.http.client import Http
from server_bridge.http.responses import Object
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.cache_check import RECENT, CacheCheck
from server_bridge.llama.checkpoints import Kind, ModelMemory, unfit
from server_bridge.llama.identity import open_to_pages
from server_bridge.llama.mirror import Mirror, Outlook
from tests import architectures
from tests.llama_server import llama_server
from tests.models import BUNDLED
from tests.server_bridge.llama.heard import Stream, Wrapped

SLOT, CUT, LOAD = (Outlook(90, loaded=n == 2, cut=n == 1) for n in range(3))


SHARED = Mirror(1, exclusive=False)
OURS = Mirror(1)
STARTED = ModelMemory(Kind.RECURRENT, aside_bytes=1 << 30, is_told=True)
EMBEDDED, EMBEDDED_SHARED = (Mirror(1, exclusive=alone, memory=STARTED) for alone in (True, False))


def of(kind: Kind) -> Mirror:
    return Mirror(1, memory=ModelMemory(kind))


@pytest.mark.parametrize(
    ("mirror", "outlooks", "found", "says"),
    [
        (SHARED, [SLOT], [90], ""),
        (SHARED, [SLOT], [0], "keeps nothing"),
        (SHARED, [SLOT, LOAD], [90, 0], "--cache-ram"),
        (SHARED, [SLOT, CUT], [90, 0], "--swa-full"),
        (SHARED, [SLOT, CUT], [90, 10], "--swa-full"),
        (SHARED, [SLOT, SLOT], [90, 10], "another client"),
        (SHARED, [SLOT, CUT], [10, 10], "another client"),
        (SHARED, [None, SLOT], [0, 95], ""),
        # No other client has to do with what falls short here.
        (of(Kind.RECURRENT), [SLOT, CUT], [90, 10], "--checkpoint-min-step 256"),
        (of(Kind.SLIDING), [SLOT, CUT], [90, 10], "--swa-full"),
        (of(Kind.PLAIN), [SLOT, CUT], [90, 10], "report"),  # it can be cut: something else is wrong
        (OURS, [SLOT], [10], "report"),
        # Its user can set no option of the embedded engine.
        (EMBEDDED, [SLOT, LOAD], [90, 0], "report"),
        (EMBEDDED, [SLOT, CUT], [90, 10], "report"),
        (EMBEDDED_SHARED, [SLOT, LOAD], [90, 0], "other editors"),
    ],
)
def test_persistent_disagreement_has_a_likely_reason(
    mirror: Mirror, outlooks: list[Outlook | None], found: list[int], says: str
) -> None:
    """What differs, and when, tells apart the reasons why a server evaluates too much."""
    check = CacheCheck()
    for _ in range(RECENT // len(outlooks)):
        for outlook, n in zip(outlooks, found, strict=True):
            check.compare(outlook, n, mirror)
    assert says in check.problem
    assert bool(says) == bool(check.problem)
    assert mirror is SHARED or "client" not in check.problem
    assert mirror.memory.aside_bytes is None or "-np" not in check.problem


@pytest.mark.parametrize(
    ("build", "kind", "is_outdated"),
    [
        ("b10863-abc", Kind.RECURRENT, True),
        ("b10864", Kind.RECURRENT, False),
        ("b9000", Kind.PLAIN, False),
        ("b0-unknown", Kind.RECURRENT, False),
    ],
)
def test_builds_that_lose_checkpoints_are_named(build: str, kind: Kind, *, is_outdated: bool):
    """By number, and only where the model needs them."""
    assert ("b10864" in unfit(build, ModelMemory(kind))) == is_outdated


def test_a_slip_now_and_then_is_no_problem() -> None:
    """Two wrong predictions in fifty are accidents, and a problem is forgotten when all is well again."""
    check = CacheCheck()
    for n in range(RECENT):
        check.compare(SLOT, 0 if n in (3, 30) else 90, Mirror(1))
    assert not check.problem
    for _ in range(5):
        check.compare(SLOT, 0, Mirror(1))
    assert check.problem
    for _ in range(RECENT):
        check.compare(SLOT, 90, Mirror(1))
    assert not check.problem


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize(
    ("name", "memory", "flag"),
    [
        ("granitehybrid", "recurrent", "--checkpoint-min-step 256"),
        ("gemma3", "sliding window", "--swa-full"),
        ("starcoder2", "plain", ""),  # llama.cpp does not use its window
    ],
)
async def test_doctor_names_what_a_model_has(name: str, memory: str, flag: str, tmp_path) -> None:
    """On a server at its defaults it is known by the first requests, with the flag for it."""
    model = architectures.write(tmp_path / "model.gguf", name)
    with llama_server(model) as url:
        backend = LlamaServer(url)
        target = Target(Config(), (), backend, open_to_pages)
        await backend.connect()
        await checks.speed(target)
        [finding] = await checks.cache(target)
        assert backend.state.memory == memory
        assert flag in finding.says + finding.fix
        assert (finding.level, "client" in finding.fix) == (
            "warn" if name == "gemma3" else "ok",
            False,
        )
        await backend.aclose()


class Forgetful(Wrapped):
    """Empties both slots before each completion."""

    async def pass_on(self, stream: Stream, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        for slot in range(2):
            await self.post(f"/slots/{slot}?action=erase", b"{}")
        async with aclosing(super().pass_on(stream, path, body)) as events:
            async for event in events:
                yield event


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("kind", [Http, Forgetful])
async def test_doctor_says_why_too_much_is_evaluated(kind: type[Http], caplog) -> None:
    """With every slot emptied behind our back, the likely cause is named, once."""
    with llama_server(BUNDLED, endpoint_slots=True, slot_save_path="/tmp/") as url:
        backend = LlamaServer(kind(url))
        await backend.connect()
        [finding] = await cache(Target(Config(), (), backend, open_to_pages))
        forgets = kind is Forgetful
        assert finding.level == ("warn" if forgets else "ok")
        assert bool(finding.fix) == forgets
        assert finding.fix == backend.state.cache_problem
        warnings = [r for r in caplog.records if r.levelno >= logging.WARNING]
        assert len(warnings) == forgets
        await backend.aclose()
