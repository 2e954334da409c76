"""What `doctor` says of the model that answers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fim_lsp.cli.checks import Target, model
from fim_lsp.settings.config import Config
from server_bridge.protocol import Health, State
from server_bridge.weights.table import NAMES


@pytest.mark.parametrize(
    ("name", "why", "level", "fix"),
    [
        ("qwen2.5-coder-7b.gguf", "", "ok", ""),
        ("fim-tiny-q8_0.gguf", "", "warn", "fim-lsp setup"),
        ("gemma-3-4b-it.gguf", "it is asked in words", "warn", f"fim-lsp setup --get {NAMES[1]}"),
    ],
)
async def test_a_model_is_the_right_one_or_second_best(
    name: str, why: str, level: str, fix: str
) -> None:
    """With the model to take instead."""
    state = State(Health.READY, "llama-server", "http://127.0.0.1:8012", name, second_best=why)

    async def connect() -> State:
        return state

    async def nothing(_: str) -> bool:
        return False

    [found] = await model(Target(Config(), (), SimpleNamespace(connect=connect), nothing))
    assert (found.level, why in found.says, fix in found.fix) == (level, True, True)
    assert ("second best" in found.says) == bool(why)
