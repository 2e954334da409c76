"""Servers that answer others than the user: warned of, with the fix."""

from __future__ import annotations

from contextlib import aclosing
from types import SimpleNamespace

import pytest

from fim_lsp.cli import checks, server_checks
from fim_lsp.cli.checks import Target
from fim_lsp.cli.doctor import hung
from fim_lsp.cli.server_checks import access, answers, context
from fim_lsp.settings.files import STACKS, cache_folder
from fim_lsp.settings.merge import Layer, merge_layers
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.llama.identity import open_to_pages
from server_bridge.machine import private_files
from server_bridge.protocol import Engine, Health, State
from tests.llama_server import llama_server
from tests.models import BUNDLED

pytestmark = pytest.mark.promise("no-web-page")

THERE = "http://10.0.0.7:8012"
HERE = "http://127.0.0.1:8012"


@pytest.mark.parametrize(
    ("backend", "to_pages", "fix"),
    [
        ({"url": THERE}, False, "--api-key-file"),
        ({"endpoints": [{"url": HERE}, {"url": THERE}]}, False, "--api-key-file"),
        ({"url": THERE, "apiKeyEnv": "KEY"}, False, ""),
        ({"url": HERE}, False, ""),
        ({"url": HERE}, True, "--cors-origins localhost"),
        ({"url": HERE, "apiKeyEnv": "KEY"}, True, ""),
    ],
)
async def test_a_server_that_answers_everyone_is_warned_of(
    backend: dict[str, object], *, to_pages: bool, fix: str
) -> None:
    """It answered without a key, and is not this machine or listens to every web page."""
    config, _ = merge_layers([Layer("file", {"backend": backend})])
    state = State(Health.READY, "llama-server", HERE if backend.get("url") == HERE else THERE)

    async def open_to_pages(url: str) -> bool:
        assert url == state.url
        return to_pages

    server = SimpleNamespace(state=state)
    found = await access(Target(config, (), server, open_to_pages))
    assert [finding.level for finding in found] == ["warn"] * bool(fix)
    assert all(fix in finding.fix for finding in found)


@pytest.mark.parametrize(
    ("settings", "answer"),
    [({}, True), ({"cors_origins": "localhost"}, False), ({"api_keys": ["secret"]}, False)],
)
async def test_whether_pages_may_ask_is_seen_on_the_server(
    settings: dict[str, object], *, answer: bool
) -> None:
    """llama.cpp's own answer to a page of another origin; a server with a key answers no page."""
    with llama_server(BUNDLED, **settings) as url:
        assert await open_to_pages(url) is answer
    assert not await open_to_pages(url)


async def test_the_doctor_names_a_server_that_hung(tmp_path, monkeypatch) -> None:
    """Where it was, and what to do; nothing of a user who had none."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    target = Target(merge_layers([])[0], (), SimpleNamespace(), open_to_pages)
    assert await hung(target) == []
    stack = 'Thread 0x1 (most recent call first):\n  File "/a.py", line 3 in loop\n'
    private_files.write(cache_folder() / STACKS, stack.encode())
    [finding] = await hung(target)
    assert "in loop (/a.py:3)" in finding.says
    assert "report it" in finding.fix


ENGINES = {  # by engine: the option for another machine, and the one for web pages
    "llamacpp": ("--api-key-file FILE", "--cors-origins localhost"),
    "llama-cpp-python": ("--api_key KEY", "--api_key KEY"),
    "vllm": ("--api-key KEY", "--allowed-origins '[]'"),
    "vllm-0.32.0-f55815c1": ("--api-key KEY", "--allowed-origins '[]'"),
    "mlx_lm.server": ("proxy", "--allowed-origins http://localhost"),
    "": ("a key", "see its documentation"),
    "someone": ("a key", "see its documentation"),
}


@pytest.mark.parametrize("engine", ENGINES)
async def test_advice_names_only_options_that_the_server_has(engine: str) -> None:
    """Each engine has its own names for a key and for the pages that may ask."""
    for url, fix in zip((THERE, HERE), ENGINES[engine], strict=True):
        config, _ = merge_layers([Layer("file", {"backend": {"url": url, "kind": "openai"}})])
        state = State(Health.READY, "openai", url, engine=Engine(engine))

        async def open_to_pages(_: str) -> bool:
            return True

        server = SimpleNamespace(state=state)
        [found] = await access(Target(config, (), server, open_to_pages))
        assert fix in found.fix
        other = {"--api-key ", "--api_key", "--api-key-file", "--cors-origins"} - {
            fix.split(" ")[0]
        }
        assert engine != "" or not any(option in found.fix for option in other)


CONTEXTS = [  # kind, guessed, tokens: what is said, the level and the advice
    ("llama-server", "", 8192, "8192 tokens in each of 2 slots", "ok", ""),
    ("openai", "slots", 8192, "8192 tokens", "ok", ""),
    (
        "openai",
        "slots context",
        4096,
        "4096 tokens, assumed: the server does not say",
        "ok",
        "fim.backend.contextTokens",
    ),
    ("openai", "slots", 2048, "2048 tokens: no room for other files", "warn", "--n_ctx"),
    (
        "llama-server",
        "",
        2048,
        "2048 tokens in each of 2 slots: no room for other files",
        "warn",
        "a larger -c ",
    ),
]


@pytest.mark.parametrize(("kind", "guessed", "n_ctx", "says", "level", "fix"), CONTEXTS)
async def test_a_context_is_said_as_a_guess_where_it_is_one(
    kind: str, guessed: str, n_ctx: int, says: str, level: str, fix: str
) -> None:
    """And slots, which such a server does not tell of, are not named at all."""
    engine = "llama-cpp-python" if kind == "openai" else ""
    untold = frozenset(guessed.split())
    state = State(Health.READY, kind, HERE, n_ctx=n_ctx, slots=2, engine=Engine(engine, untold))
    config, _ = merge_layers([])
    [found] = await context(Target(config, (), SimpleNamespace(state=state), open_to_pages))
    assert (found.says, found.level) == (says, level)
    assert bool(found.fix) == bool(fix)
    assert fix in found.fix


async def streaming(state: State, times: list[float], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is said of a server whose pieces come after so many milliseconds."""

    async def trial(_: object) -> list[float]:
        return times

    monkeypatch.setattr(server_checks, "time_pieces", trial)
    config, _ = merge_layers([])
    target = Target(config, (), SimpleNamespace(state=state), open_to_pages)
    return [finding.says for finding in await answers(target)]


STREAMS = [  # milliseconds of pieces; whether they come in blocks
    ([100.0] * 20, True),
    ([96.0, *[97.0] * 18, 100.0], True),
    ([10.0 + 5 * n for n in range(20)], False),
    ([5.0] * 20, False),  # too fast to tell
    ([100.0] * 4, False),  # too few
    ([], False),
]


@pytest.mark.parametrize(("times", "is_blocks"), STREAMS)
async def test_a_proxy_that_holds_pieces_back_is_told_of(
    times: list[float], monkeypatch: pytest.MonkeyPatch, *, is_blocks: bool
) -> None:
    """The first and the last piece of a long text come together, each time."""
    said = await streaming(State(Health.READY, "openai", HERE), times, monkeypatch)
    assert ["pieces back" in each for each in said] == [True] * is_blocks


async def test_what_answers_do_not_tell_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings that change nothing there, and a server that ends answers for others."""
    state = State(
        Health.READY, "openai", HERE, engine=Engine("llama-cpp-python", frozenset({"confidence"}))
    )
    said = await streaming(state, [], monkeypatch)
    assert ["minConfidence" in each for each in said] == [True, False]
    assert "another request waits" in said[1]


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_server_that_keeps_one_prompt_is_told_of(*, keeps: bool) -> None:
    """A real one with one slot: what it keeps of another prompt is in its memory beside, or nowhere."""
    config, _ = merge_layers([])
    with llama_server(BUNDLED, n_parallel=1, cache_ram_mib=256 if keeps else 0) as url:
        async with aclosing(open_backend(BackendSettings("openai", url))) as backend:
            found = await checks.cache(Target(config, (), backend, open_to_pages))
    assert [("one prompt" in each.says, "-np 2" in each.fix) for each in found] == (
        [] if keeps else [(True, True)]
    )
