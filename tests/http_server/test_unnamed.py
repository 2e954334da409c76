"""A text without a name goes to a model of this machine only, whatever happens while it waits."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fim_lsp.__main__ import open_backend
from fim_lsp.session.session import Session
from fim_lsp.settings.config import BackendConfig, Config, NextEditConfig
from server_bridge.process.programs import BUNDLED
from tests.fake_backend import FakeBackend
from tests.fault_proxy import FaultProxy, fault_proxy
from tests.http_server.clients import served, vim
from tests.llama_server import llama_server
from tests.typist import BRIEF

ELSEWHERE = "llm.example.org"
TEXT = "def canary_of(shop):\n    total = 0\n    for item in shop:\n        tot"
LONG = "".join(f"\n    price_{n} = shop.price({n})" for n in range(200)) + "\n"
UNNAMED = "/infill", vim(TEXT, 3, 11)


def named(path: str) -> tuple[str, dict[str, Any]]:
    """Return a request that says of which file the text is."""
    prompt = f"<|file_sep|>{path}\n<|fim_prefix|>{TEXT}<|fim_suffix|>\n<|fim_middle|>"
    return "/v1/completions", {"prompt": prompt}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "shop" / "conf").mkdir(parents=True)
    (tmp_path / "shop" / "conf" / ".gitignore").write_text("settings.py\n")
    (tmp_path / "shop" / "conf" / "settings.py").write_text(TEXT)
    (tmp_path / "shop" / "cart.py").write_text(TEXT)
    return tmp_path / "shop"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with llama_server(BUNDLED) as address:
        yield address


@pytest.fixture
async def server(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[FaultProxy]:
    """A model server of this machine that can be reached as one elsewhere, too."""
    look_up = socket.getaddrinfo
    names = (ELSEWHERE, ELSEWHERE.encode())

    def look_up_here(host: Any, *arguments: Any, **options: Any) -> Any:
        return look_up("127.0.0.1" if host in names else host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", look_up_here)
    monkeypatch.setenv("NO_PROXY", ELSEWHERE)
    async with fault_proxy(url) as proxy:
        yield proxy


def settings(kind: str, url: str) -> Config:
    """Return the settings that name the server at *url* as one of this machine, as one elsewhere, or as one of two."""
    other = url.replace("127.0.0.1", ELSEWHERE)
    here, there = (BackendConfig(kind="llama-server", url=address) for address in (url, other))
    match kind:
        case "here":
            return replace(BRIEF, backend=here)
        case "elsewhere":
            return replace(BRIEF, backend=there)
        case "one of two elsewhere":
            return replace(BRIEF, backend=BackendConfig(endpoints=(here, there)))
    server = BackendConfig(url=other, model="zeta-2")
    return replace(BRIEF, backend=here, next_edit=NextEditConfig(server=server))


@pytest.mark.promise("known-servers-only")
@pytest.mark.parametrize(
    ("kind", "asked", "is_sent"),
    [
        ("here", UNNAMED, True),
        ("here", named("settings.py"), True),
        ("here", named("conf/settings.py"), False),
        ("elsewhere", UNNAMED, False),
        ("elsewhere", named("cart.py"), True),
        ("elsewhere", named("settings.py"), False),  # which no file of the folder is called
        ("elsewhere", named("conf/settings.py"), False),
        ("one of two elsewhere", UNNAMED, False),
        ("next edits elsewhere", UNNAMED, False),
    ],
)
async def test_where_a_text_is_sent(kind: str, asked, is_sent: bool, root, server, caplog) -> None:
    """Where nothing is sent, the answer is empty and the log says why, once."""
    session = Session(settings(kind, server.url), open_backend)
    async with served(session, root, root.parent / "cache") as at_port:
        for _ in range(2):
            answer = await at_port.post(*asked)
        await session.wait_idle()
    # Prompts are token ids: what llama.cpp is asked to spell is the text.
    assert (b"canary_of" in b"".join(server.heard)) is is_sent
    if not is_sent:
        [choice] = answer.get("choices", [{}])
        assert {answer.get("content", ""), choice.get("text", "")} == {""}
        assert caplog.text.count("nothing was sent") == 1


@pytest.mark.promise("known-servers-only")
@pytest.mark.parametrize("call", ["measure", "warm", "stream"])
async def test_the_model_changes_while_the_text_waits(call: str, root, tmp_path) -> None:
    """A request, and what is evaluated ahead of the next one, is not carried over to a server elsewhere."""
    backends: list[FakeBackend] = []

    def opened(_: Config) -> FakeBackend:
        backends.append(FakeBackend())
        return backends[-1]

    session = Session(BRIEF, opened)
    async with served(session, root, tmp_path / "cache") as at_port:
        if call == "warm":
            await at_port.post(*UNNAMED)
        backends[0].hold(call)
        asking = asyncio.create_task(at_port.post("/infill", vim(TEXT + LONG + "    ret", 204, 7)))
        await backends[0].until_held()
        session.configure(settings("elsewhere", "http://127.0.0.1:8012"))
        backends[0].release()
        await asking
        await session.wait_idle()
    assert len(backends) == 2
    assert (backends[1].seen, backends[1].warmed) == ([], [])


@pytest.mark.promise("known-servers-only")
async def test_an_unnamed_text_shares_its_workspace_with_no_file(root, tmp_path) -> None:
    """What a client shows without a name is in no prompt for a file of the project, and the other way round."""
    backend = FakeBackend()
    session = Session(BRIEF, lambda _: backend)
    extra = {"filename": "notes.py", "text": "def shown_beside(shop):\n    return shop.total\n" * 3}
    hidden = {"filename": "conf/settings.py", "text": "def hidden_from_all():\n    return 1\n" * 3}
    async with served(session, root, tmp_path / "cache") as at_port:
        await at_port.post("/infill", vim("def unnamed_one(shop):\n    tot", 1, 7))
        for _ in range(2):
            body = vim(TEXT, 3, 11) | {"input_extra": [extra, hidden]}
            await at_port.post("/infill", body)
            await session.wait_idle()
        await at_port.post(*named("cart.py"))
        await session.wait_idle()
        prompts = [request.prompt for request in backend.seen] + backend.warmed
    of_file = [str(prompt) for prompt in prompts if prompt.repo == "shop"]
    of_unnamed = [str(prompt) for prompt in prompts if prompt.repo != "shop"]
    assert of_file
    assert "shown_beside" in of_unnamed[-1]
    assert not [text for text in of_file if "unnamed_one" in text or "shown_beside" in text]
    assert not [text for text in (*of_file, *of_unnamed) if "hidden_from_all" in text]
