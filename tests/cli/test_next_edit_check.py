"""What `doctor` says of the model for next edits, and what its server gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fim_lsp.__main__ import open_model
from fim_lsp.cli.checks import Finding, Target, next_edit, privacy
from fim_lsp.settings.merge import Layer, merge_layers
from server_bridge.bridge import Unusable
from tests.server_bridge.recorder import Heard, Recorder, recorder


@contextmanager
def listing(*models: str, key: str = "") -> Iterator[Recorder]:
    """A server that lists models, to those who know the key if there is one."""
    names = json.dumps({"data": [{"id": name} for name in models]}).encode()

    def answer(heard: Heard) -> tuple[int, bytes]:
        return (401 if key and heard.key != f"Bearer {key}" else 200), names

    with recorder(answer=answer) as server:
        yield server


def target_of(*, enabled: bool = True, **server: object) -> Target:
    settings = {"enabled": enabled, "server": server}
    config, problems = merge_layers([Layer("file", {"nextEdit": settings})])
    assert not problems

    async def nothing(_: str) -> bool:
        return False

    backend = Unusable("openai", "there is none")
    return Target(config, (), backend, nothing, next_edits=open_model(config))


async def told(**settings: Any) -> list[Finding]:
    target = target_of(**settings)
    found = await next_edit(target)
    if target.next_edits:
        await target.next_edits.aclose()
    return found


@pytest.mark.parametrize(
    ("models", "named", "level", "says"),
    [
        (["zeta-2.1"], "zeta-2.1", "ok", "zeta-2.1 at http://"),
        ([], "zeta-2.1", "ok", "zeta-2.1 at http://"),
        (["zed-industries_zeta-2-Q8_0.gguf"], "zeta-2", "ok", "called zed-industries_zeta-2-Q8_0"),
        (["zeta-2"], "zeta-2.1", "warn", "set fim.nextEdit.server.model to zeta-2"),
        (["qwen", "sweep-next-edit-1.5B"], "sweep", "warn", "to sweep-next-edit-1.5B"),
        (["qwen2.5-coder"], "zeta-2", "warn", "has no zeta-2, but qwen2.5-coder"),
        (["qwen2.5-coder"], "qwen2.5-coder", "warn", "is no known next-edit model"),
    ],
)
async def test_the_name_is_compared_with_what_is_served(
    models: list[str], named: str, level: str, says: str
) -> None:
    """A file's name will do where there is one model; another format is named to set."""
    with listing(*models) as server:
        [found] = await told(model=named, url=server.url)
    assert found.level == level
    assert says in f"{found.says} {found.fix}"


async def test_what_is_not_set_or_not_there() -> None:
    """Nothing is said of a model that is not wanted; completions work in any case."""
    assert await told() == []
    assert await told(enabled=False, model="zeta-2", url="http://127.0.0.1:9") == []
    for settings, says in (
        ({"model": "zeta-2"}, "no fim.nextEdit.server.url"),
        ({"url": "http://127.0.0.1:9"}, "fim.nextEdit.server.model is not set"),
        ({"model": "zeta-2", "url": "http://127.0.0.1:9"}, "127.0.0.1:9"),
    ):
        [found] = await told(**settings)
        assert (found.level, says in found.says, bool(found.fix)) == ("warn", True, True)


async def test_its_key_is_in_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of its own; what is wrong with it is said by its own name."""
    with listing("zeta-2", key="opensesame") as server:
        settings: Any = {"model": "zeta-2", "url": server.url, "apiKeyEnv": "EDIT_KEY"}
        [refused] = await told(**settings)
        [unset] = [f for f in await privacy(target_of(**settings)) if f.level == "warn"]
        monkeypatch.setenv("EDIT_KEY", "opensesame")
        [found] = await told(**settings)
    assert "fim.nextEdit.server.apiKeyEnv" in refused.says
    assert "EDIT_KEY (fim.nextEdit.server.apiKeyEnv) is not set" in unset.says
    assert found.level == "ok"
    assert "opensesame" not in str((refused, unset, found))


async def test_certificates_that_cannot_be_read() -> None:
    """Said by the setting's name; nothing is sent."""
    [found] = await told(model="zeta-2", url="https://127.0.0.1:9", caFile="/nowhere/ca.pem")
    assert "fim.nextEdit.server.caFile" in found.says
