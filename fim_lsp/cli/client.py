"""
A small editor without a screen: it starts the real server and does to it over stdio what a person does.

`complete`, `demo` and `doctor` all go this way, so what they show is what an editor would get.
It behaves like one: positions in UTF-16, incremental changes, inline completion declared, one
request at a time.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient
from pygls.protocol import JsonRPCResponseMessage, default_converter

from fim_lsp import __version__, convert
from fim_lsp.documents import Document, Edit, Position, edited, opened

# Longest wait for one answer. A first completion on a slow machine evaluates the whole prompt.
ANSWER_SECONDS = 60.0
# A server that refuses connections for so long is not just restarting.
DOWN_SECONDS = 3.0
# Python, pygls and the config files; ten times what a busy small machine needs.
START_SECONDS = 20.0
# A server that was told to exit and has not after this long is ended.
EXIT_SECONDS = 5.0
POLL_SECONDS = 0.1  # a person sees a progress line move
LAST_WORDS = 20  # lines of the server's log kept for an error message

ENCODING = "utf-16"  # what every client can; most can nothing else

SERVER = (sys.executable, "-m", "fim_lsp", "--stdio")
# `-m` looks in the current folder first: never let that be the user's project.
SERVER_FOLDER = Path(__file__).resolve().parent.parent.parent

LANGUAGES = {
    ".bash": "shellscript", ".c": "c", ".cc": "cpp", ".cpp": "cpp", ".cs": "csharp", ".css": "css",
    ".cxx": "cpp", ".go": "go", ".h": "c", ".hpp": "cpp", ".html": "html", ".java": "java",
    ".js": "javascript", ".json": "json", ".jsx": "javascriptreact", ".kt": "kotlin", ".lua": "lua",
    ".md": "markdown", ".mjs": "javascript", ".php": "php", ".py": "python", ".pyi": "python",
    ".rb": "ruby", ".rs": "rust", ".sh": "shellscript", ".sql": "sql", ".swift": "swift",
    ".toml": "toml", ".ts": "typescript", ".tsx": "typescriptreact", ".yaml": "yaml",
    ".yml": "yaml", ".zig": "zig",
}  # fmt: skip


class ServerError(Exception):
    """The server ended or does not answer; the message has its last words."""


class Offer(NamedTuple):
    """One suggestion: replace the text between *start* and *end* by *text*; *item* as it came."""

    text: str
    start: Position
    end: Position
    item: types.InlineCompletionItem


class Answer(NamedTuple):
    """What came back for one request, and after how many milliseconds."""

    offers: tuple[Offer, ...]
    ms: float


class Editor:
    """One server process, and the documents opened in it."""

    def __init__(self, client: LanguageClient, last_words: deque[str]) -> None:
        self._client = client
        self._last_words = last_words
        self._documents: dict[Path, Document] = {}

    def document(self, path: Path) -> Document:
        """The text of an open document as it stands."""
        return self._documents[path]

    def open(self, path: Path, text: str) -> None:
        """Show a file to the server."""
        language = LANGUAGES.get(path.suffix.lower(), "plaintext")
        self._documents[path] = opened(path.resolve().as_uri(), language, 1, text)
        document = self._documents[path]
        self._client.text_document_did_open(
            types.DidOpenTextDocumentParams(
                types.TextDocumentItem(document.uri, language, document.version, text)
            )
        )

    def replace(self, path: Path, start: Position, end: Position, text: str) -> Position:
        """Change the text between two positions; returns where the new text ends."""
        before = self._documents[path]
        self._client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(before.version + 1, before.uri),
                [
                    types.TextDocumentContentChangePartial(
                        convert.client_range(before, start, end, ENCODING), text
                    )
                ],
            )
        )
        self._documents[path] = edited(before, [Edit(start, end, text)], before.version + 1)
        head, newline, tail = text.rpartition("\n")
        if not newline:
            return Position(start.line, start.column + len(text))
        return Position(start.line + head.count("\n") + 1, len(tail))

    async def complete(self, path: Path, position: Position, *, invoked: bool = False) -> Answer:
        """Ask for inline completions, as automatically as an editor does while someone types."""
        document = self._documents[path]
        kind = types.InlineCompletionTriggerKind
        params = types.InlineCompletionParams(
            types.InlineCompletionContext(kind.Invoked if invoked else kind.Automatic),
            types.TextDocumentIdentifier(document.uri),
            convert.client_position(document, position, ENCODING),
        )
        started = time.perf_counter()
        result = await self._answer(self._client.text_document_inline_completion_async(params))
        ms = (time.perf_counter() - started) * 1000
        items = result.items if isinstance(result, types.InlineCompletionList) else result or ()
        return Answer(tuple(_offer(document, position, item) for item in items), ms)

    async def accept(self, path: Path, offer: Offer, length: int) -> Position:
        """
        Put the first *length* characters of a suggestion into the text and tell the server, as
        editors do: by the item's command for all of it, by a notification for a part.
        """
        taken = offer.text[:length]
        cursor = self.replace(path, offer.start, offer.end, taken)
        command = offer.item.command
        if length < len(offer.text):
            units = len(taken.encode("utf-16-le")) // 2
            params = {"item": offer.item, "acceptedLength": units}
            self._client.protocol.notify("textDocument/didPartiallyAcceptCompletion", params)
        elif command is not None:
            request = types.ExecuteCommandParams(command.command, command.arguments)
            await self._answer(self._client.workspace_execute_command_async(request))
        return cursor

    async def stats(self) -> dict[str, Any]:
        """The server's own counts."""
        request = self._client.protocol.send_request_async("fim/stats", {})
        return cast("dict[str, Any]", await self._answer(request))

    async def wait_settled(self, progress: Callable[[float], None]) -> dict[str, Any]:
        """Wait until the backend is ready or not likely to be; returns `stats()["backend"]`."""
        started = up = time.perf_counter()
        while True:
            backend: dict[str, Any] = (await self.stats())["backend"]
            now = time.perf_counter()
            up = up if backend["state"] == "down" else now
            settled = backend["state"] in {"ready", "unusable"}
            if settled or now - up > DOWN_SECONDS or now - started > ANSWER_SECONDS:
                return backend
            progress(now - started)
            await asyncio.sleep(POLL_SECONDS)

    async def _answer(self, request: Any) -> Any:
        try:
            return await asyncio.wait_for(request, ANSWER_SECONDS)
        except (asyncio.TimeoutError, JsonRpcException, RuntimeError, ConnectionError) as error:
            raise ServerError("\n".join((*self._last_words, f"no answer: {error!r}"))) from error


@asynccontextmanager
async def editor(root: Path, settings: Mapping[str, object]) -> AsyncIterator[Editor]:
    """
    Start a server with *root* (absolute) as its workspace and *settings* of the section `fim`; on
    leaving, end it as the protocol says.
    """
    client = LanguageClient("fim-lsp", __version__, converter_factory=_converter)
    # It logs every message it sends, and answers that came too late as errors.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    last_words: deque[str] = deque(maxlen=LAST_WORDS)
    await client.start_io(*SERVER, cwd=SERVER_FOLDER)
    process = client._server  # noqa: SLF001 - pygls gives no other way to its log and its end
    assert process is not None
    assert process.stderr is not None
    # Somebody has to read this pipe: a full one stops the server.
    listener = asyncio.create_task(_listen(process.stderr, last_words))
    try:
        await _initialize(client, root, settings, last_words)
        yield Editor(client, last_words)
        await asyncio.wait_for(client.shutdown_async(None), EXIT_SECONDS)
        client.exit(None)
    finally:
        try:
            await asyncio.wait_for(process.wait(), EXIT_SECONDS)
        except asyncio.TimeoutError:
            process.kill()
        await client.stop()  # type: ignore[no-untyped-call]
        await listener


async def _initialize(
    client: LanguageClient, root: Path, settings: Mapping[str, object], last_words: deque[str]
) -> None:
    uri = root.as_uri()
    params = types.InitializeParams(
        capabilities=types.ClientCapabilities(
            text_document=types.TextDocumentClientCapabilities(
                inline_completion=types.InlineCompletionClientCapabilities()
            ),
            general=types.GeneralClientCapabilities(
                position_encodings=[types.PositionEncodingKind.Utf16]
            ),
        ),
        client_info=types.ClientInfo("fim-lsp", __version__),
        root_uri=uri,
        workspace_folders=[types.WorkspaceFolder(uri, root.name)],
        initialization_options={"fim": dict(settings)},
    )
    try:
        await asyncio.wait_for(client.initialize_async(params), START_SECONDS)
    except (asyncio.TimeoutError, JsonRpcException, RuntimeError, ConnectionError) as error:
        raise ServerError(
            "\n".join((*last_words, f"the server did not start: {error!r}"))
        ) from error
    client.initialized(types.InitializedParams())


async def _listen(stderr: asyncio.StreamReader, last_words: deque[str]) -> None:
    async for line in stderr:
        last_words.append(line.decode("utf-8", "replace").rstrip())


def _converter() -> Converter:
    """Answers to requests that are not in LSP stay plain dicts."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(
        JsonRPCResponseMessage, lambda o, cls: cls(o["id"], o["jsonrpc"], o.get("result"))
    )
    return converter


def _offer(document: Document, cursor: Position, item: types.InlineCompletionItem) -> Offer:
    text = item.insert_text if isinstance(item.insert_text, str) else item.insert_text.value
    if item.range is None:
        return Offer(text, cursor, cursor, item)
    start, end = (
        convert.position(document, p, ENCODING) for p in (item.range.start, item.range.end)
    )
    return Offer(text, start, end, item)
