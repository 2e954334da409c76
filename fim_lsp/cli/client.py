"""
A headless editor: it starts the real server and uses it over stdio as an editor does.

`complete`, `demo` and `doctor` work through it, so they show what an editor would get: positions in
UTF-16, incremental changes, inline completion declared, one request at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient
from pygls.protocol import JsonRPCResponseMessage, default_converter

from fim_lsp import __version__
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Document, Edit, Position, after, apply_edits, open_document
from fim_lsp.lsp import convert
from server_bridge.machine.executables import PACKAGES, python_command

# Longest wait for an answer, or for the next token that the model evaluates or writes for it.
ANSWER_SECONDS = 60.0
# A backend that refuses connections for longer is not just restarting.
DOWN_SECONDS = 3.0
# Python, pygls and the config files; ten times what a busy small machine needs.
START_SECONDS = 20.0
# A server that has not exited after this long is killed.
EXIT_SECONDS = 5.0
POLL_SECONDS = 0.1  # often enough for a line of progress
LOOK_SECONDS = 0.5  # between two looks at what the model does; a step of prefill takes half of it
LOG_LINES = 20  # of the server, kept for an error message

ENCODING = "utf-16"  # the one that every client supports

# Of files that no grammar of ours is for.
LANGUAGES = {
    ".kt": "kotlin", ".md": "markdown", ".sql": "sql", ".swift": "swift", ".toml": "toml",
    ".yaml": "yaml", ".yml": "yaml", ".zig": "zig",
}  # fmt: skip


class EditorError(Exception):
    """The server ended or does not answer; the message has the last lines of its log."""


class Suggested(NamedTuple):
    """
    One suggestion: replace the text between *start* and *end* by *text*; *item* as the server sent
    it.
    """

    text: str
    start: Position
    end: Position
    item: types.InlineCompletionItem


class EditorAnswer(NamedTuple):
    """The suggestions for one request, and after how many milliseconds they came."""

    suggestions: tuple[Suggested, ...]
    ms: float


class LspClient:
    """One server process, and the documents opened in it."""

    def __init__(self, client: LanguageClient, last_lines: deque[str]) -> None:
        self._client = client
        self._last_lines = last_lines
        self._documents: dict[Path, Document] = {}

    def document(self, path: Path) -> Document:
        """Return an open document with its text now."""
        return self._documents[path]

    def open(self, path: Path, text: str) -> None:
        """Open a file in the server."""
        language = language_of(path.name) or LANGUAGES.get(path.suffix.lower(), "plaintext")
        uri = path.resolve().as_uri()
        self._documents[path] = open_document(uri, language, 1, text)
        item = types.TextDocumentItem(uri, language, 1, text)
        self._client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def replace(self, path: Path, start: Position, end: Position, text: str) -> Position:
        """Change the text between two positions; returns where the new text ends."""
        before = self._documents[path]
        where = convert.client_range(before, start, end, ENCODING)
        params = types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(before.version + 1, before.uri),
            [types.TextDocumentContentChangePartial(where, text)],
        )
        self._client.text_document_did_change(params)
        self._documents[path] = apply_edits(before, [Edit(start, end, text)], before.version + 1)
        return after(start, text)

    async def complete(
        self,
        path: Path,
        position: Position,
        *,
        invoked: bool = False,
        progress: Callable[[int, float], None] = lambda *_: None,
    ) -> EditorAnswer:
        """
        Request inline completions, by default automatic ones, as an editor does during typing.

        *progress* is given how many tokens the model has evaluated so far, and after how many
        seconds.
        """
        document = self._documents[path]
        kind = types.InlineCompletionTriggerKind
        params = types.InlineCompletionParams(
            types.InlineCompletionContext(kind.Invoked if invoked else kind.Automatic),
            types.TextDocumentIdentifier(document.uri),
            convert.client_position(document, position, ENCODING),
        )
        started = time.perf_counter()
        request = self._client.text_document_inline_completion_async(params)
        result = await self.answer(self._while_it_works(request, progress), longest_s=None)
        ms = (time.perf_counter() - started) * 1000
        items = result.items if isinstance(result, types.InlineCompletionList) else result or ()
        parse = partial(_parse_suggestion, document)
        return EditorAnswer(tuple(map(parse, items)), ms)

    async def accept(self, path: Path, suggestion: Suggested, length: int) -> Position:
        """
        Put the first *length* characters of a suggestion into the text and tell the server, as
        editors do: by the item's command for all of it, by a notification for a part.
        """
        taken = suggestion.text[:length]
        cursor = self.replace(path, suggestion.start, suggestion.end, taken)
        command = suggestion.item.command
        if length < len(suggestion.text):
            units = len(taken.encode("utf-16-le")) // 2
            params = {"item": suggestion.item, "acceptedLength": units}
            self._client.protocol.notify("textDocument/didPartiallyAcceptCompletion", params)
        elif command is not None:
            request = types.ExecuteCommandParams(command.command, command.arguments)
            await self.answer(self._client.workspace_execute_command_async(request))
        return cursor

    async def stats(self) -> dict[str, Any]:
        """Return the server's own counts."""
        request = self._client.protocol.send_request_async("fim/stats", {})
        return cast("dict[str, Any]", await self.answer(request))

    async def wait_settled(self, progress: Callable[[float], None]) -> dict[str, Any]:
        """Wait until it can be asked, or will not be soon; returns `stats()["backend"]`."""
        started = up = time.perf_counter()
        while True:
            backend: dict[str, Any] = (await self.stats())["backend"]
            now = time.perf_counter()
            up = up if backend["state"] == "down" else now
            settled = backend["ready"] or backend["state"] == "unusable"
            if settled or now - up > DOWN_SECONDS or now - started > ANSWER_SECONDS:
                return backend
            progress(now - started)
            await asyncio.sleep(POLL_SECONDS)

    async def _while_it_works(
        self, request: Awaitable[Any], progress: Callable[[int, float], None]
    ) -> Any:
        """
        Return the answer to *request*, however long the model works on it; `TimeoutError` once it
        does nothing.
        """
        answer = asyncio.ensure_future(request)
        started = moved = time.perf_counter()
        n_before = -1
        while not (await asyncio.wait({answer}, timeout=LOOK_SECONDS))[0]:
            tokens = (await self.stats())["tokens"]
            now = time.perf_counter()
            n_evaluated = tokens["evaluated"] + tokens["background"]
            if (n := n_evaluated + tokens["predicted"]) != n_before:
                n_before = n
                moved = now
            if now - moved > ANSWER_SECONDS:
                answer.cancel()
                raise TimeoutError
            progress(n_evaluated, now - started)
        return answer.result()

    async def answer(
        self, request: Any, longest_s: float | None = ANSWER_SECONDS, failure: str = "no answer"
    ) -> Any:
        """Return the answer to *request*. Raises EditorError with *failure* and the log."""
        try:
            return await asyncio.wait_for(request, longest_s)
        except (TimeoutError, JsonRpcException, RuntimeError, ConnectionError) as error:
            raise EditorError("\n".join((*self._last_lines, f"{failure}: {error!r}"))) from error


@asynccontextmanager
async def editor(root: Path, settings: Mapping[str, object]) -> AsyncIterator[LspClient]:
    """
    Start a server with *root* (absolute) as its workspace and *settings* of the section `fim`;
    at the end of the block, shut it down as the protocol says.
    """
    client = LanguageClient("fim-lsp", __version__, converter_factory=_converter)
    # pygls logs every message that it sends, and late answers as errors.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    last_lines: deque[str] = deque(maxlen=LOG_LINES)
    await client.start_io(*python_command("fim_lsp", "--stdio"), cwd=PACKAGES)
    process = client._server  # noqa: SLF001 - pygls has no other access to the process
    assert process is not None
    assert process.stderr is not None
    # This pipe must be read: a full one stops the server.
    listener = asyncio.create_task(_listen(process.stderr, last_lines))
    server = LspClient(client, last_lines)
    try:
        started = client.initialize_async(_hello(root, settings))
        await server.answer(started, START_SECONDS, "the server did not start")
        client.initialized(types.InitializedParams())
        yield server
        await asyncio.wait_for(client.shutdown_async(None), EXIT_SECONDS)
        client.exit(None)
    except BaseException:
        # A request that still waits gets no answer, and there is no handler left to tell.
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        with contextlib.suppress(ProcessLookupError):
            process.terminate()  # it ends what it started within a second
        raise
    finally:
        try:
            await asyncio.wait_for(process.wait(), EXIT_SECONDS)
        except TimeoutError:
            process.kill()
        await client.stop()  # type: ignore[no-untyped-call]
        await listener


def _hello(root: Path, settings: Mapping[str, object]) -> types.InitializeParams:
    return types.InitializeParams(
        capabilities=types.ClientCapabilities(
            text_document=types.TextDocumentClientCapabilities(
                inline_completion=types.InlineCompletionClientCapabilities()
            ),
        ),
        client_info=types.ClientInfo("fim-lsp", __version__),
        root_uri=root.as_uri(),
        initialization_options={"fim": dict(settings)},
    )


async def _listen(stderr: asyncio.StreamReader, last_lines: deque[str]) -> None:
    async for line in stderr:
        last_lines.append(line.decode("utf-8", "replace").rstrip())


def _converter() -> Converter:
    """Make a converter that leaves answers to requests outside of LSP as plain dicts."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(
        JsonRPCResponseMessage, lambda o, cls: cls(o["id"], o["jsonrpc"], o.get("result"))
    )
    return converter


def _parse_suggestion(document: Document, item: types.InlineCompletionItem) -> Suggested:
    assert item.range  # our own server's
    places = item.range.start, item.range.end
    start, end = (convert.position(document.lines, place, ENCODING) for place in places)
    return Suggested(str(item.insert_text), start, end, item)
