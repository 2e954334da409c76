"""Clients that hang up, dawdle, send too much, or come all at once."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from fim_lsp.http_server import connections
from server_bridge.machine import sockets
from tests.fake_backend import FakeBackend
from tests.http_server.clients import Served, served, vim
from tests.server_bridge.waiting import until
from tests.typist import faked

ABOVE = "def add(first, second):\n    return first + second\n\n\n"
BLOCK = ABOVE + "class Cart:\n    def __init__(self, width, height):\n"
KEY = "Authorization: Bearer secret\r\n"


@pytest.fixture
async def at_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Served]:
    monkeypatch.setattr(connections, "UNREAD_S", 0.1)
    async with served(faked(), tmp_path, tmp_path / "cache", key="secret") as found:
        yield found


def raw(port: int, body: dict[str, object], path: str = "/infill") -> bytes:
    """Return a request as it goes onto the wire."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Content-Length: {len(content)}\r\n{KEY}\r\n"
    )
    return head.encode() + content


async def until_closed(reader: asyncio.StreamReader) -> bytes:
    """Return what comes until the port hangs up."""
    return await asyncio.wait_for(reader.read(), 20)


async def answer_to(port: int, data: bytes) -> bytes:
    """Return what comes for *data* until the port hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    answer = await until_closed(reader)
    writer.close()
    return answer


async def test_a_client_that_hangs_up_ends_its_request(at_port: Served) -> None:
    """It is given up at once, whatever the model does, and the next one is answered."""
    model = cast("FakeBackend", at_port.session.connection.backend)
    port = at_port.port.port
    model.hold("stream")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(raw(port, vim(BLOCK, 5, 38)))
    await asyncio.wait_for(model.until_held(), 10)
    writer.close()
    await until(lambda: at_port.session.stats()["outcomes"] == {"superseded": 1})
    assert await reader.read() == b""
    model.release()
    await at_port.post("/infill", vim(BLOCK, 5, 38))


def get(target: str, more: str = "") -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{more}\r\n".encode()


async def test_work_that_is_cancelled_is_answered() -> None:
    """Whatever cancelled it, the client hears of it, and asks again on the same connection; a stream shows no end."""

    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"begun"
        raise asyncio.CancelledError

    async def handle(request: connections.HttpRequest) -> connections.Response:
        if request.target == "/lost":
            raise asyncio.CancelledError
        if request.target == "/stream":
            return connections.Response(200, {}, pieces=pieces())
        return connections.Response(200, {}, b"found")

    port = await connections.listen(0, lambda _: None, handle, lambda _: None)
    answers = await answer_to(port.port, get("/lost") + get("/", "Connection: close\r\n"))
    assert answers.startswith(b"HTTP/1.1 503")
    assert answers.endswith(b"found")
    answer = await answer_to(port.port, get("/stream"))
    assert b"begun" in answer
    assert not answer.endswith(b"0\r\n\r\n")
    assert not port.open_now
    await port.aclose()


async def test_requests_that_come_before_the_answer(at_port: Served) -> None:
    """All are answered, in their order."""
    port = at_port.port.port
    health = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{KEY}\r\n"
    requests = raw(port, vim(BLOCK, 4, 4)) + raw(port, vim(BLOCK, 4, 5)) + health.encode()
    answers = await answer_to(port, requests)
    assert answers.count(b"HTTP/1.1 200") == 3
    assert answers.endswith(b'{"status":"ok"}')


@pytest.mark.promise("your-programs-only")
async def test_a_page_costs_no_memory_and_holds_no_connection(at_port: Served) -> None:
    """It is refused by its head, whatever it says is to follow."""
    head = b"POST /infill HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 7000000\r\n\r\n"
    assert (await answer_to(at_port.port.port, head)).startswith(b"HTTP/1.1 403")


async def test_a_client_that_dawdles(at_port: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its head or its body: it is left, and the others are served meanwhile."""
    monkeypatch.setattr(connections, "HEAD_S", 0.2)
    monkeypatch.setattr(connections, "BODY_S", 0.2)
    whole = raw(at_port.port.port, vim(BLOCK, 4, 4))
    for sent in (b"", b"POST /infill HT", whole[:-10]):
        reader, writer = await asyncio.open_connection("127.0.0.1", at_port.port.port)
        writer.write(sent)
        assert (await at_port.client.get("/health")).status_code == 200
        assert await until_closed(reader) == b""
        writer.close()


@pytest.mark.promise("your-programs-only")
@pytest.mark.parametrize(
    ("owners", "is_too_many"),
    [([1], False), ([1, 1], True), ([2, 1], False), ([2, 1, 1], True), ([1, 2, 3, 4], True)],
)
async def test_whose_connections_are_too_many(owners: list[int], is_too_many: bool, monkeypatch):
    """Of the process of the newest one; the system is asked whose they are where that decides."""
    monkeypatch.setattr(connections, "CONNECTIONS", 2)
    monkeypatch.setattr(connections, "IN_ALL", 4)
    n_asked = 0
    end: Any = None

    def peers(asked: object) -> list[int]:
        nonlocal n_asked
        n_asked += 1
        return [1, *owners]

    monkeypatch.setattr(sockets, "peer_processes", peers)
    assert await connections._are_too_many([end] * len(owners), end) is is_too_many
    assert n_asked == (2 <= len(owners) < 4)


HOG = """
import socket, sys
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(5)]
print(held[-1].recv(12))
sys.stdout.flush()
sys.stdin.read()
"""


@pytest.mark.promise("your-programs-only")
@pytest.mark.skipif(not sockets.can_tell(), reason="the system does not tell")
async def test_one_program_leaves_connections_to_the_others(at_port, monkeypatch) -> None:
    """A process that opens too many gets no more; another one is answered as ever."""
    monkeypatch.setattr(connections, "CONNECTIONS", 3)
    hog = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", HOG, str(at_port.port.port),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert b"HTTP/1.1 503" in await asyncio.wait_for(hog.stdout.readline(), 20)
        assert (await at_port.client.get("/health")).status_code == 200
    finally:
        await hog.communicate(b"")


async def test_a_text_that_would_hold_up_the_editor(at_port: Served) -> None:
    """It is refused, before it becomes a document."""
    body = vim("x = 1\n" * 300_000, 1, 0, n_suffix=10**9)
    answer = await at_port.client.post("/infill", json=body)
    assert answer.status_code == 413
    assert not at_port.session.documents


async def test_many_texts_at_once(at_port: Served) -> None:
    """More than are kept: each request is answered, and no more texts stay open than before."""
    texts = [f"# file {n}\ndef price_{n}(item):\n    ret" for n in range(50)]
    await asyncio.gather(*(at_port.post("/infill", vim(text, 2, 7)) for text in texts))
    assert len(at_port.session.documents) <= 8


async def test_the_same_text_asked_about_at_many_places(at_port: Served) -> None:
    """The newest request ends the others; all get an answer."""
    asked = (at_port.post("/infill", vim(BLOCK, 5, column)) for column in range(4, 34))
    answers = await asyncio.gather(*asked)
    assert all("content" in answer for answer in answers)


@pytest.mark.parametrize("name", ["input_prefix", "prompt", "input_suffix"])
async def test_text_that_no_file_can_hold(at_port: Served, name: str) -> None:
    """JSON can spell half a character; so can the name of a file."""
    extra = {"filename": "\ud800\0.py", "text": "x = '\udfff'\n" * 9}
    body = vim(BLOCK, 4, 4) | {name: "# \ud83d\n", "input_extra": [extra]}
    answer = await at_port.client.post("/infill", content=json.dumps(body))
    assert answer.status_code == 200


NAMES = (
    "a" * 5000, "a/" * 3000, ".", "..", "/", "", "../" * 40 + "etc/passwd", "a\nb", "C:\\x.py",
    "file:///etc/passwd", "~/.ssh/id", "\x7f\x1b[31m",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
async def test_names_that_no_file_can_have(at_port: Served, name: str) -> None:
    """Whatever a client calls its files, it is answered."""
    extra = {"filename": name, "text": "def shown(x):\n    return x\n" * 3}
    named = f"<|file_sep|>{name}\n<|fim_prefix|>x = <|fim_suffix|>\n<|fim_middle|>"
    await at_port.post("/infill", vim(BLOCK, 4, 4) | {"input_extra": [extra]})
    await at_port.post("/v1/completions", {"prompt": named})
