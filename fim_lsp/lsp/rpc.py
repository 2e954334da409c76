"""
pygls with its traps closed: message bodies in, handlers called, exactly one answer per request.

What pygls 2.1 does and a client should not notice: it keeps a second copy of every document, split
at the wrong characters; leaves a request with malformed params unanswered; trips over missing
params; shows every internal error to the user; answers nothing after `shutdown`; loses exit codes.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Coroutine
from typing import Any

from cattrs import Converter
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer as PyglsServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    LanguageServerProtocol,
    default_converter,
)

from fim_lsp.lsp import types
from fim_lsp.transport import Client, messages

# pygls' own handlers for these mirror documents and folders, or end the process where nobody sees
# the exit code; without them ours are called directly.
_OURS = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
    types.EXIT,
)

log = logging.getLogger(__name__)


class Protocol(LanguageServerProtocol):
    """Receives message bodies; *ending* since the client said `shutdown`, *exited* since `exit`."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.ending = False
        self.exited = False
        self._initialized = False

    def receive(self, body: bytes) -> None:
        """Handle one message. Every request in it gets one answer, now or from its handler."""
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, types.ErrorCodes.ParseError, "not JSON")
            return
        if not isinstance(data, dict) or data.get("jsonrpc") != self.VERSION:
            self._refuse(None, types.ErrorCodes.InvalidRequest, "not a JSON-RPC 2.0 message")
        elif "method" in data and (refusal := self._refusal(data["method"])):
            if "id" in data:
                self._refuse(data["id"], *refusal)
        else:
            self._handle(data)

    def _handle(self, data: dict[str, Any]) -> None:
        try:
            message = self.structure_message(data)
            self._initialized = True
            self.handle_message(message)
        except JsonRpcException as error:
            log.warning("malformed %s: %s", data.get("method", "answer"), error.__cause__ or error)
            if "method" in data and "id" in data:
                self._refuse(data["id"], types.ErrorCodes.InvalidParams, "malformed params")
        except Exception:  # one message does not end the session
            log.exception("%s failed", data.get("method", "answer"))

    def _refusal(self, method: str) -> tuple[int, str] | None:
        """Follow the client's life from `initialize` to `exit`; what is out of order is refused."""
        if method == types.EXIT:
            self.exited = True
            return types.ErrorCodes.InvalidRequest, "the server has ended"
        if self.ending or (self._initialized and method == types.INITIALIZE):
            return types.ErrorCodes.InvalidRequest, f"too late for {method}"
        if not self._initialized and method != types.INITIALIZE:
            return types.ErrorCodes.ServerNotInitialized, f"{method} before initialize"
        self.ending = method == types.SHUTDOWN
        return None

    def _refuse(self, request: int | str | None, code: int, message: str) -> None:
        error = {"code": int(code), "message": message}
        self._send_data({"jsonrpc": self.VERSION, "id": request, "error": error})

    def _register_builtin_features(self) -> None:
        super()._register_builtin_features()  # type: ignore[no-untyped-call]
        for method in _OURS:
            del self.fm.builtin_features[method]


class LanguageServer(PyglsServer):
    """A pygls server on our protocol. Errors go to the log; the user hears of changes of state."""

    protocol: Protocol  # type: ignore[mutable-override]  # it is set once, below

    def __init__(
        self, name: str, version: str, notebooks: types.NotebookDocumentSyncOptions
    ) -> None:
        super().__init__(
            name=name,
            version=version,
            notebook_document_sync=notebooks,
            protocol_cls=Protocol,
            converter_factory=_converter,
        )
        self._later: set[asyncio.Task[None]] = set()

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """
        Do *work* that awaits the client, whatever becomes of the request it is done for.

        A wait that is cancelled leaves pygls with an answer that it cannot give to anybody (pygls#621).
        """
        task = asyncio.create_task(work)
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log *error*; pygls would pop it up in the editor."""
        log.error("%s: %s", source.__name__, error)


async def serve(protocol: Protocol, client: Client) -> int:
    """
    Handle all messages of *client* until it says `exit` or is gone.

    Returns the exit code: 0 if the client said `shutdown` first, 1 if not (LSP, "exit").
    """
    protocol.set_writer(client.writer)
    async for body in messages(client.reader):
        protocol.receive(body)
        if protocol.exited:
            break
        # Handlers are tasks: let this one take its snapshot before the next message changes the text.
        await asyncio.sleep(0)
    return 0 if protocol.ending else 1


def _converter() -> Converter:
    """Make pygls' converter, but leave params of unknown methods as they are, or missing."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]

    def request(data: dict[str, Any], _: type) -> JsonRPCRequestMessage:
        return JsonRPCRequestMessage(
            data["id"], data["method"], data["jsonrpc"], data.get("params")
        )

    def notification(data: dict[str, Any], _: type) -> JsonRPCNotification:
        return JsonRPCNotification(data["method"], data["jsonrpc"], data.get("params"))

    converter.register_structure_hook(JsonRPCRequestMessage, request)
    converter.register_structure_hook(JsonRPCNotification, notification)
    return converter
