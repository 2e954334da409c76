"""Speculation by a real llama-server: the same text, sooner; and told when it is off in spite of all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fim_lsp.cli import checks
from fim_lsp.cli.checks import Target
from fim_lsp.settings.config import Config
from server_bridge.llama.backend import LlamaServer
from server_bridge.llama.identity import open_to_pages
from server_bridge.protocol import Reply, Request, append_text
from tests.architectures import write
from tests.llama_server import PROGRAM
from tests.models import BUNDLED
from tests.server_bridge.prompts import prompt
from tests.server_bridge.serving import served

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not PROGRAM, reason="needs llama-server: scripts/test-server"),
]

REPETITIVE = "".join(f"    register_handler('name_{n}', handler_{n})\n" for n in range(16))
PORTIONS = (8,) * 6


async def written(server: LlamaServer) -> list[Reply]:
    """Return a text written in several requests in a place that repeats what stands above."""
    replies: list[Reply] = []
    at = replace(prompt("    register_handler(", at=900), prefix=f"def register():\n{REPETITIVE}")
    for n_tokens in PORTIONS:
        replies.append(await server.complete(Request(at, n_tokens)))
        at = append_text(at, replies[-1].text, replies[-1].tokens)
    return replies


@pytest.mark.parametrize("hybrid", [False, True])
async def test_the_text_is_the_same_with_and_without(tmp_path: Path, *, hybrid: bool) -> None:
    """
    Speculation changes how many tokens a step gives, never which; it is counted, and foretold.

    Of a hybrid model's draft that is wrong the server takes its state back.
    """
    texts = set()
    model = str(write(tmp_path / "hybrid.gguf", "granitehybrid") if hybrid else BUNDLED)
    for wishes in ({"speculate": False}, {}, {"draft": str(BUNDLED)}):
        async with served(tmp_path, model=model, **wishes) as server:
            replies = await written(server)
        costs = [reply.timings for reply in replies]
        texts.add("".join(reply.text for reply in replies))
        speculates = wishes != {"speculate": False}
        assert (server.state.drafts, bool(server.state.drafters)) == (speculates, speculates)
        n_drafted = sum(cost.draft_n for cost in costs)
        assert bool(n_drafted) == speculates or hybrid  # random text repeats nothing
        assert sum(cost.draft_accepted_n for cost in costs) <= n_drafted
        n_wrong = sum(cost.expected_n not in {None, cost.cache_n} for cost in costs)
        assert n_wrong <= hybrid  # what cannot be cut is seen at the first request that cuts
    assert len(texts) == 1


async def test_a_draft_model_that_is_silently_dropped_is_noticed(tmp_path, no_fim_model) -> None:
    """llama-server starts with a draft model of another vocabulary, and does not speculate."""
    async with served(tmp_path, draft=str(no_fim_model), speculate=False) as server:
        await server.complete(Request(prompt("    def "), 4))
        [finding] = await checks.speculation(Target(Config(), (), server, open_to_pages))
    assert (server.state.drafters, server.state.drafts) == ("draft-simple", False)
    assert (finding.level, "another family" in finding.fix) == ("warn", True)
