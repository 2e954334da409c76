"""`fim_lsp.lsp.rpc`: messages into calls of handlers, in turns with everything else."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from fim_lsp.lsp.rpc import SLICE_S, LanguageServer, types
from fim_lsp.lsp.run import serve
from fim_lsp.lsp.transport import BadFrame, Frame, Skipped

HELLO = {"id": 0, "method": "initialize", "params": {"capabilities": {}}}


class Connection:
    """A client that said all its *messages* at once, and what it was sent."""

    def __init__(self, *messages: object) -> None:
        self.frames: list[Frame | BadFrame] = [
            each
            if isinstance(each, bytes | Skipped | BadFrame)
            else json.dumps({"jsonrpc": "2.0", **each}).encode()  # type: ignore[dict-item]
            for each in messages
        ]
        self.sent: list[dict[str, Any]] = []

    async def messages(self) -> AsyncIterator[Frame]:
        for frame in self.frames:
            if isinstance(frame, BadFrame):
                raise frame
            yield frame

    def write(self, data: bytes) -> None:
        header, _, body = data.partition(b"\r\n\r\n")
        assert header == b"Content-Length: %d" % len(body)
        self.sent.append(json.loads(body, parse_constant=pytest.fail))


async def served(server: LanguageServer, *messages: object) -> list[dict[str, Any]]:
    """Return what the server sends for *messages*."""
    connection = Connection(HELLO, *messages)
    await serve(server.protocol, connection, lambda _: None)  # type: ignore[arg-type]
    await asyncio.sleep(0)
    return connection.sent[1:]


@pytest.fixture
def server() -> LanguageServer:
    return LanguageServer("test", "0", types.NotebookDocumentSyncOptions([]))


@pytest.mark.parametrize("read", [str, int])
async def test_the_id_of_our_request_is_a_number(
    server: LanguageServer, read: Callable[[str], object]
) -> None:
    """Spyder reads it as one, and answers with that; other clients with the text that it is in."""
    connection = Connection(HELLO)
    await serve(server.protocol, connection, lambda _: None)  # type: ignore[arg-type]
    answer = server.protocol.send_request("workspace/configuration", types.ConfigurationParams([]))
    said = {"jsonrpc": "2.0", "id": read(connection.sent[-1]["id"]), "result": [7]}
    await server.protocol.receive(json.dumps(said).encode())
    assert list(answer.result(0)) == [7]


async def test_other_tasks_go_on_while_messages_come(server: LanguageServer) -> None:
    """Also between notifications, once these have taken a moment."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    @server.feature("test/slow")
    def slow(_: None) -> None:
        until = asyncio.get_running_loop().time() + SLICE_S
        while asyncio.get_running_loop().time() <= until:
            pass

    counting = asyncio.create_task(count())
    await served(server, *[{"method": "test/slow"}] * 20)
    counting.cancel()
    assert turns >= 20


async def test_a_change_in_slices_comes_before_what_follows_it(server: LanguageServer) -> None:
    """The next message is about the text that the one before left."""
    seen = []

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: types.DidChangeTextDocumentParams) -> None:
        for _ in range(9):
            await asyncio.sleep(0)
        seen.append(params.text_document.version)

    @server.feature("test/ask")
    def ask(_: None) -> None:
        seen.append(0)

    params = [{"textDocument": {"uri": "u", "version": n}, "contentChanges": []} for n in (1, 2)]
    calls = [{"method": "textDocument/didChange", "params": each} for each in params]
    ask_it = {"method": "test/ask"}
    await served(server, calls[0], {"id": 1, **ask_it}, calls[1], ask_it)
    assert seen == [1, 0, 2, 0]


@pytest.mark.parametrize("result", [float("nan"), object()], ids=["nan", "object"])
async def test_a_result_that_cannot_be_written_is_an_error(server: LanguageServer, result: object):
    """Not nothing, and not what clients cannot read."""

    @server.feature("test/odd")
    def odd(_: None) -> object:
        return result

    (answer,) = await served(server, {"id": 7, "method": "test/odd"})
    assert answer["id"] == 7
    assert answer["error"]["code"] == -32603


async def test_a_handler_that_fails_is_logged_and_the_next_is_called(
    server: LanguageServer, caplog: pytest.LogCaptureFixture
) -> None:
    """For requests and notifications, in turn and later; the user is shown nothing."""

    @server.feature("test/now")
    def now(_: None) -> None:
        raise ValueError("now")

    @server.feature("test/later")
    async def later(_: None) -> None:
        raise ValueError("later")

    calls = [{"method": name} for name in ("test/now", "test/later")]
    sent = await served(server, *calls, *({"id": n, **call} for n, call in enumerate(calls, 1)))
    await asyncio.sleep(0.01)
    assert [each["error"]["code"] for each in sent] == [-32603, -32603]
    ours = [record for record in caplog.records if record.name == "fim_lsp.lsp.rpc"]
    causes = [str(record.exc_info[1]) for record in ours if record.exc_info]
    assert sorted(causes) == ["later", "later", "now", "now"]


async def test_what_cannot_be_read_is_refused(server: LanguageServer) -> None:
    """A message that was skipped, and where nothing more can be read; the exit code says it."""
    skipped: list[Skipped] = []
    connection = Connection(HELLO, Skipped("too long"), BadFrame("no header"), {"id": 2})
    code = await serve(server.protocol, connection, skipped.append)  # type: ignore[arg-type]
    assert code == 1
    assert skipped == [Skipped("too long")]
    assert [each["error"]["message"] for each in connection.sent[1:]] == ["too long", "no header"]
    told = [(each["id"], each["error"]["code"]) for each in connection.sent[1:]]
    assert told == [(None, -32600), (None, -32700)]


@pytest.mark.promise("odd-input")
@pytest.mark.parametrize("number", [{"a": 1}, [1], None, 1.5, True])
async def test_a_cancellation_of_what_is_no_id_is_ignored(
    server: LanguageServer, number: object, caplog: pytest.LogCaptureFixture
) -> None:
    """It is no error of ours: the log has no traceback, and the next request is answered."""
    cancel = {"method": "$/cancelRequest", "params": {"id": number}}
    answers = await served(server, cancel, {"id": 7, "method": "test/unknown"})
    assert [answer["id"] for answer in answers if "id" in answer] == [7]
    assert not [record for record in caplog.records if record.exc_info]
