"""A session at a real port, asked as the plugins ask."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fim_lsp import events
from fim_lsp.session.stats import Answer
from server_bridge.machine.private_files import find_announced
from server_bridge.protocol import Reply, Request
from tests.asked import model_of, requests_to
from tests.http_server.clients import Served, served, vim
from tests.typist import faked

PROJECT = Path(__file__).parent.parent.parent / "fim_lsp" / "prompt"
ABOVE = "def add(first, second):\n    return first + second\n\n\n"
BEGUN = ABOVE + "def subtract(first, second):\n"
TYPED = BEGUN + "    ret"


@pytest.fixture
async def at_port(tmp_path: Path) -> AsyncIterator[Served]:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "sums.py").write_text(ABOVE + "print(add(1, 2))\n")
    async with served(faked(), tmp_path / "shop", tmp_path / "cache") as found:
        yield found


async def test_typing_costs_what_it_costs_in_an_editor(at_port: Served) -> None:
    """With windows that slide, each key evaluates a few tokens; llama.vim's own prompt costs hundreds."""
    lines = (PROJECT / "window.py").read_text().split("\n")
    typed = "def doubled(value: int) -> int:\n    return value * 2\n"
    text = [*lines[:120], "", *lines[120:]]
    row = 120
    costs = []
    for line in typed.split("\n"):
        for column in range(len(line) + 1):
            text[row] = line[:column]
            body = vim("\n".join(text), row, column, n_prefix=60, n_suffix=20)
            answer = await at_port.post("/infill", body)
            costs.append(answer["timings/prompt_n"])
        row += 1
        text.insert(row, "")
    await at_port.session.wait_idle()
    assert sorted(costs)[len(costs) // 2] <= 10
    assert len(at_port.session.documents) == 1


async def test_a_suggestion_fits_where_the_cursor_is(at_port: Served) -> None:
    """The text to insert, as llama.vim looks for it before it reads the answer: without a blank."""
    answer = await at_port.client.post("/infill", json=vim(BEGUN, 4, 28))
    assert answer.json()["content"].strip().startswith("return")
    assert '"content":"' in answer.text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
async def test_a_jump_within_a_file(end: str, at_port: Served, tmp_path: Path) -> None:
    """Small windows far apart are of one document, which has the whole file, and what was typed."""
    whole = "".join(f"def f{n}(x):\n    return x + {n}\n\n\n" for n in range(100))
    (tmp_path / "shop" / "long.py").write_text(whole, newline=end)
    lines = whole.split("\n")
    for row in (40, 360, 41):
        lines[row] = "# here"
        above = "\n".join(lines[row - 10 : row + 1])
        below = "\n" + "\n".join(lines[row + 1 : row + 11])
        prompt = f"<|file_sep|>long.py\n<|fim_prefix|>{above}<|fim_suffix|>{below}<|fim_middle|>"
        await at_port.post("/v1/completions", {"prompt": prompt})
    [document] = at_port.session.documents.values()
    assert document.uri.endswith("/long.py")
    assert document.text == "\n".join(lines)


async def test_an_editor_that_has_the_file_open(at_port: Served) -> None:
    """What it says of its document is true; the client's text is kept beside it."""
    body = vim(TYPED, 5, 7)
    await at_port.post("/infill", body)
    [ours] = at_port.session.documents.values()
    at_port.session.handle(events.Opened(ours.uri, "python", 1, "import os\n"))
    answer = await at_port.post("/infill", body)
    assert answer["content"].startswith("urn")
    assert at_port.session.documents[ours.uri].text == "import os\n"
    at_port.session.handle(events.Closed(ours.uri))
    await at_port.post("/infill", body)


async def test_ahead_of_a_suggestion_of_several_lines(at_port: Served) -> None:
    """What would follow all of it is asked for where it ends; the text stays what was typed."""
    await at_port.post("/infill", vim(BEGUN.rstrip(), 4, 28))
    accepted = "    return first - second\n\n\ndef multiply(first, second):\n    ret"
    ahead = vim(BEGUN + accepted, 9, 7) | {"t_max_predict_ms": 1000}
    answer = await at_port.post("/infill", ahead)
    assert answer["content"].startswith("urn")
    [document] = at_port.session.documents.values()
    assert "multiply" not in document.text


async def test_accepted_text_is_counted(at_port: Served) -> None:
    """The client does not say so; its next request shows it, also where it has asked ahead meanwhile."""
    text = TYPED + (await at_port.post("/infill", vim(TYPED, 5, 7)))["content"]
    lines = text.split("\n")
    ahead = vim(text, len(lines) - 1, len(lines[-1])) | {"t_max_predict_ms": 1000}
    await at_port.post("/infill", ahead)
    assert at_port.session.stats()["accepted"] == 0
    await at_port.post("/infill", vim(text + "\n", len(lines), 0))
    assert at_port.session.stats()["accepted"] == 1


async def test_the_same_question_several_times_at_once(at_port, monkeypatch) -> None:
    """minuet asks three times by default; the model is asked once."""
    body = {"prompt": TYPED, "suffix": "\n"}
    complete = at_port.session.complete

    async def when_all_wait(*arguments: Any, **options: Any) -> Answer:
        while at_port.port._routes.counts["/v1/completions"] < 3:
            await asyncio.sleep(0.01)
        for _ in range(20):  # the last one was read, and joins within some turns of the loop
            await asyncio.sleep(0)
        return await complete(*arguments, **options)

    monkeypatch.setattr(at_port.session, "complete", when_all_wait)
    answers = await asyncio.gather(*(at_port.post("/v1/completions", body) for _ in range(3)))
    assert len({answer["choices"][0]["text"] for answer in answers}) == 1
    assert at_port.session.stats()["requests"] == 1


BLOCK = ABOVE + "class Cart:\n    def __init__(self, name, value):"


async def test_streams(at_port: Served) -> None:
    """Lines come as they become certain, and together they are what comes in one piece."""
    body = {"prompt": BLOCK, "suffix": "\n"}
    whole = await at_port.post("/v1/completions", body)
    other = {"prompt": BLOCK.replace("Cart", "Crate"), "suffix": "\n", "stream": True}
    for asked in (other, body | {"stream": True}):  # unknown yet, and known
        answer = await at_port.client.post("/v1/completions", json=asked)
        assert answer.headers["content-type"] == "text/event-stream"
        *events, done = map(event_of, filter(None, answer.text.split("\n")))
        assert done == "[DONE]"
        choices = [json.loads(event)["choices"][0] for event in events]
        assert [choice["finish_reason"] for choice in choices[:-1]] == [None] * (len(choices) - 1)
        assert choices[-1]["finish_reason"] == "stop"
        assert "".join(choice["text"] for choice in choices).strip()
    assert "".join(c["text"] for c in choices) == whole["choices"][0]["text"]


async def test_a_stream_begins_before_the_text_is_whole(at_port: Served) -> None:
    """The first line is there while the model still writes."""
    session = at_port.session
    told = list[tuple[Any, int]]()
    shown = replace(session.config.completion, min_confidence=0.0)
    session.configure(replace(session.config, completion=shown))
    stream = model_of(session).stream
    n_pieces = 0

    async def counted(request: Request) -> AsyncGenerator[Reply, None]:
        nonlocal n_pieces
        async with aclosing(stream(request)) as replies:
            async for reply in replies:
                n_pieces += 1
                await asyncio.sleep(0.02)
                yield reply

    model_of(session).stream = counted  # type: ignore[method-assign]
    body = vim(BLOCK, 5, 36) | {"stream": True, "response_fields": None}
    async with at_port.client.stream("POST", "/infill", json=body) as answer:
        async for line in answer.aiter_lines():
            if line:
                told.append((json.loads(event_of(line)), n_pieces))
    (_, n_first), *_, (last, n_last) = told
    assert [event["stop"] for event, _ in told] == [False] * (len(told) - 1) + [True]
    assert n_first < n_last
    assert last["timings"]["predicted_n"] > 0


def event_of(line: str) -> str:
    return line.removeprefix("data: ")


async def test_other_files_that_a_client_shows(at_port: Served) -> None:
    """Its ring becomes part of ours, as documents that are open; a request without a text only shows it."""
    extra = {"filename": "prices.py", "text": "def price(item):\n    return item.cost * 2\n" * 3}
    warm_up = {"input_prefix": "", "input_suffix": "", "prompt": "", "n_predict": 0}
    body = warm_up | {"input_extra": [extra], "response_fields": [""]}
    assert await at_port.post("/infill", body) == {}
    assert [uri.rpartition("/")[2] for uri in at_port.session.documents] == ["prices.py"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/chat/completions", {"messages": []}, 404),
        ("/v1/completions", {"prompt": "hello", "stream": True}, 400),
    ],
)
async def test_what_is_no_completion_at_a_cursor_is_not_answered(
    at_port: Served, path: str, body: dict[str, Any], status: int
) -> None:
    """The client is told where to ask instead, and the model server gets nothing."""
    requests = requests_to(at_port.session.connection.backend)
    answer = await at_port.client.post(path, json=body)
    assert answer.status_code == status
    assert "model server itself" in answer.json()["error"]["message"]
    assert requests == []
    assert not at_port.port._routes.counts


INFILL = {"input_prefix": "def area(w, h):\n", "prompt": "    return ", "input_suffix": "\n"}
FIM = "<|fim_prefix|>def area(w, h):\n    return <|fim_suffix|>\n<|fim_middle|>"
LOOSE: list[tuple[str, dict[str, Any]]] = [
    ("/infill?model=x", INFILL),
    ("///infill//", INFILL),
    ("/infill", INFILL | {"prompt": ["    return "], "input_extra": None}),
    ("/v1/v1/completions", {"prompt": FIM}),
    ("/v1//v1/completions/", {"prompt": [FIM]}),
    ("/v1/completions", {"prompt": FIM, "suffix": None, "stop": None, "max_tokens": None}),
]


@pytest.mark.parametrize(("path", "body"), LOOSE)
async def test_a_client_may_write_a_path_loosely(at_port, path: str, body: dict[str, Any]) -> None:
    """A slash or a `/v1` too many, null for nothing, one text in a list: it is answered."""
    url = f"http://127.0.0.1:{at_port.port.port}{path}"
    answer = await at_port.client.post(url, json=body)
    assert answer.status_code == 200, answer.text


async def test_what_clients_look_at_first(at_port: Served) -> None:
    """Health, models and properties."""
    paths = "/health", "/v1/models", "/props"
    health, models, props = [(await at_port.client.get(path)).json() for path in paths]
    assert health == {"status": "ok"}
    assert models["data"][0]["id"] == at_port.session.connection.state.model
    assert props["default_generation_settings"]["n_ctx"] > 0


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"{", 400), (b"[]", 400), (b'{"a":' + b"[" * 100_000, 400), (b"\0" * 9_000_000, 413)],
)
async def test_bodies_that_make_no_sense(at_port: Served, content: bytes, status: int) -> None:
    """An error in words, and the port goes on."""
    answer = await at_port.client.post("/infill", content=content)
    assert answer.status_code == status
    assert (await at_port.client.get("/health")).status_code == 200


async def test_garbage_on_the_wire(at_port: Served) -> None:
    """What is not HTTP ends its connection and nothing else."""
    reader, writer = await asyncio.open_connection("127.0.0.1", at_port.port.port)
    writer.write(b"\x16\x03\x01 hello\r\n\r\n")
    await writer.drain()
    assert await reader.read() == b""
    writer.close()
    assert (await at_port.client.get("/health")).status_code == 200


async def test_it_says_where_it_is_while_it_is_open(tmp_path: Path) -> None:
    """In a file that only this user may read."""
    cache = tmp_path / "cache"
    async with served(faked(), tmp_path, cache, key="secret") as at_port:
        [there] = find_announced(cache)
        assert (there.url, there.token) == (at_port.port.url, "secret")
    assert find_announced(cache) == []
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", at_port.port.port)
