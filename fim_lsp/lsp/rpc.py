"""
Fixes for pygls: messages in, handlers called, one answer per request.

Habits of pygls 2.1 that a client should not notice, each with the override that mends it, where its
public interface has no way: it keeps a second copy of every document, split at the wrong
characters, and ends the process where nothing reads the exit code (`_register_builtin_features`);
leaves requests unanswered that are malformed (`receive`) or whose result cannot be written
(`_send_data`), and answers some twice (`_send_response`); refuses a message for one value that it
does not know, with a traceback in the log (`structure_message`); runs an asynchronous handler of a
notification with no order, and draws a random number for each (`_receive_notification`); cancels
its own requests when a client cancels one of the same number (`_handle_cancel_notification`); shows
every internal error to the user, and logs it with the user's text (`report_server_error`).
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import itertools
import json
import logging
from collections.abc import Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from fim_lsp.display import sanitize
from fim_lsp.lsp.structure import (
    Malformed,
    describe,
    find_capability,
    make_converter,
    move_token,
    types,
)

# isort: split
from cattrs import Converter
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcMethodNotFound
from pygls.lsp.server import LanguageServer as PyglsServer
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
    LanguageServerProtocol,
)

__all__ = ["JsonRpcException", "types"]

# Their handlers are tasks, because what they do may take a while, but the next message is about the
# text that they leave.
_IN_ORDER = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
)
SLICE_S = 0.01  # of messages handled without a look at what else is to be done
FIRST_ID = 1_000_000  # of our requests: clients begin at 0 or 1, and Spyder goes on from ours
PER_S = 10  # reports of one work: an editor draws no more

T = TypeVar("T")

log = logging.getLogger(__name__)


class Protocol(LanguageServerProtocol):
    """
    Receives message bodies; *ending* since the client said `shutdown`, *exited* since `exit`.
    """

    _server: LanguageServer  # type: ignore[mutable-override]  # it is set once, below

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        super().__init__(server, converter)
        self.ending = False
        self.exited = False
        self._initialized = False
        self._hello: types.InitializeResult | None = None
        self._begun = False
        self._unanswered: set[int | str] = set()
        self._ids = itertools.count(FIRST_ID)

    async def receive(self, body: bytes) -> None:
        """
        Handle one message. Every request in it gets one answer, now or from its handler.

        Where the handler is a task, that has begun, or is done where it has to be before the next
        message.
        """
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            self.refuse(None, types.ErrorCodes.ParseError, "not JSON")
            return
        if not isinstance(data, dict) or data.get("jsonrpc") != self.VERSION:
            self.refuse(None, types.ErrorCodes.InvalidRequest, "not a JSON-RPC 2.0 message")
        elif "method" not in data:
            self._receive_answer(data)
        else:
            await self._receive_call(data)

    def refuse(self, request: object, code: int, message: str) -> None:
        """Answer a *request* by its id with an error; with None where the id cannot be told."""
        id_ = request if type(request) in (int, str) else None
        log.log(logging.WARNING if id_ is None else logging.INFO, "refused: %s", message)
        error = {"code": int(code), "message": message}
        self._send_data({"jsonrpc": self.VERSION, "id": id_, "error": error})

    async def _receive_call(self, data: dict[str, Any]) -> None:
        """Handle a request or a notification."""
        method = data["method"]
        self.exited = self.exited or method == types.EXIT
        if refusal := self._refusal(data):
            if "id" in data:
                self.refuse(data["id"], *refusal)
            return
        self.ending = self.ending or method == types.SHUTDOWN
        if "id" in data:
            self._unanswered.add(data["id"])
        if self._is_said_again(data):
            return
        try:
            move_token(data)
            message = self.structure_message(self._server.amend(data))
            self._initialized = True
            if "id" in data:
                context = contextvars.copy_context()  # pygls keeps the id in it
                context.run(self._handle_request, data["id"], method, message.params)
                await asyncio.sleep(0)
            else:
                await self._receive_notification(method, message.params)
        except Malformed as error:
            log.warning("malformed %s: %s", sanitize(method), error)
            self._fail(data, types.ErrorCodes.InvalidParams, "malformed params")
        except Exception:  # one message does not end the session
            log.exception("%s failed", method)
            self._fail(data, types.ErrorCodes.InternalError, "the server failed")

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return a message as its type; raises Malformed."""
        unknown = JsonRPCRequestMessage if "id" in data else JsonRPCNotification
        if "method" in data:
            kind = self.get_message_type(data["method"]) or unknown
        elif "error" in data:
            kind = types.ResponseErrorMessage
        else:
            kind = self._result_types.pop(data["id"], None) or JsonRPCResponseMessage
        try:
            return self._converter.structure(data, kind)
        except Exception as error:  # noqa: BLE001 (hooks raise anything)
            raise Malformed(describe(error)) from None

    def _is_said_again(self, data: dict[str, Any]) -> bool:
        """
        Return whether a message has done its work, and answer it if so.

        jupyter-lsp hands on the beginning of each of its windows to the one server that it runs;
        Kate says `shutdown` as a notification.
        """
        match data["method"], self._hello:
            case types.INITIALIZE, types.InitializeResult() as hello if "id" in data:
                self._send_response(data["id"], hello)
                return True
            case types.INITIALIZED, _:
                is_again = self._begun
                self._begun = True
                return is_again
        return data["method"] == types.SHUTDOWN and "id" not in data

    def _refusal(self, data: dict[str, Any]) -> tuple[int, str] | None:
        """Return why a call is not handled; None where it is."""
        method = data["method"]
        code = types.ErrorCodes.InvalidRequest
        why = ""
        if not isinstance(method, str):
            why = "method must be a string"
        elif "id" in data and type(data["id"]) not in (int, str):
            why = "id must be a whole number or a string"
        elif data.get("id") in self._unanswered:
            why = "a request with this id is not answered yet"
        elif self.exited:
            why = "the server has ended"
        elif self.ending:
            why = f"too late for {sanitize(method)}"
        elif not self._initialized and method != types.INITIALIZE:
            code = types.ErrorCodes.ServerNotInitialized
            why = f"{sanitize(method)} before initialize"
        return (code, why) if why else None

    def _fail(self, data: dict[str, Any], code: int, message: str) -> None:
        """Answer a request with an error, unless it has its answer."""
        if data.get("id") in self._unanswered:
            self._unanswered.discard(data["id"])
            self.refuse(data["id"], code, message)

    def _receive_answer(self, data: dict[str, Any]) -> None:
        """Handle an answer to a request; a wrong answer is an error to the code that waits."""
        request = str(data.get("id"))
        if request not in self._result_types:
            log.debug("an answer to no request")
            return
        try:
            self.handle_message(self.structure_message({**data, "id": request}))
        except Exception as error:  # noqa: BLE001 (clients answer anything)
            log.info("malformed answer: %s", describe(error))
            future = self._request_futures.pop(request, None)
            if future is not None and not future.done():
                future.set_exception(JsonRpcInternalError("malformed answer"))

    def send_request(self, method: str, params: Any = None, *rest: Any, **more: Any) -> Future[Any]:
        """Number our requests: Spyder reads each id as a whole number, and answers with that."""
        more["msg_id"] = more.get("msg_id") or str(next(self._ids))
        return super().send_request(method, params, *rest, **more)

    async def _receive_notification(self, method: str, params: Any) -> None:
        if method == types.CANCEL_REQUEST:
            self._handle_cancel_notification(params.id)
            return
        try:
            handler = self._get_handler(method)
        except JsonRpcMethodNotFound:
            log.debug("ignored %s", method)
            return
        if inspect.iscoroutinefunction(handler):
            task = self._server.later(handler(params), method)
            await (asyncio.wait({task}) if method in _IN_ORDER else asyncio.sleep(0))
        else:
            handler(params)

    def _handle_cancel_notification(self, msg_id: int | str) -> None:
        if type(msg_id) in (int, str) and msg_id in self._unanswered:  # not one of ours
            super()._handle_cancel_notification(msg_id)

    def _send_response(
        self, msg_id: int | str, result: Any = None, error: types.ResponseError | None = None
    ) -> None:
        if isinstance(result, types.InitializeResult):
            self._hello = result
        if msg_id in self._unanswered:
            self._unanswered.discard(msg_id)
            super()._send_response(msg_id, result, error)

    def _send_data(self, data: Any) -> None:
        """Send one message; an answer that cannot be written becomes an error."""
        try:
            body = json.dumps(data, default=self._serialize_message, allow_nan=False)
        except Exception:
            log.exception("a message cannot be written")
            if hasattr(data, "method"):
                return
            failed = {"code": types.ErrorCodes.InternalError, "message": "the server failed"}
            body = json.dumps(
                {"jsonrpc": self.VERSION, "id": getattr(data, "id", None), "error": failed}
            )
        if self.writer is not None:
            self.writer.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode())

    def _register_builtin_features(self) -> None:
        """Leave all but these to our handlers, which pygls would call after its own."""
        self.fm.add_builtin_feature(types.INITIALIZE, self.lsp_initialize)
        self.fm.add_builtin_feature(types.SHUTDOWN, self.lsp_shutdown)
        execute = self.lsp_workspace__execute_command
        self.fm.add_builtin_feature(types.WORKSPACE_EXECUTE_COMMAND, execute)


class LanguageServer(PyglsServer):
    """A pygls server on our protocol. Errors go to the log; the user is shown changes of state."""

    protocol: Protocol  # type: ignore[mutable-override]  # it is set once, below

    def __init__(
        self, name: str, version: str, notebooks: types.NotebookDocumentSyncOptions
    ) -> None:
        super().__init__(
            name=name,
            version=version,
            notebook_document_sync=notebooks,
            protocol_cls=Protocol,
            converter_factory=make_converter,
        )
        self._later: set[asyncio.Task[Any]] = set()

    def amend(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return the *call* as it is to be read."""
        return call

    def offers(self, capability: str) -> bool:
        """Return whether the client declared a *capability*, dotted."""
        return find_capability(self.client_capabilities, capability) not in (None, False)

    def later(self, work: Coroutine[Any, Any, T], name: str = "task") -> asyncio.Task[T]:
        """
        Do *work* that awaits the client, whatever becomes of the request it is done for.

        A wait that is cancelled leaves pygls with an answer that it cannot hand on (pygls#621).
        """
        task = asyncio.create_task(work, name=name)
        self._later.add(task)
        task.add_done_callback(self._on_done)
        return task

    def edit_workspace(
        self, uri: str, version: int | None, *edits: types.TextEdit
    ) -> types.WorkspaceEdit:
        """
        Make edits of the version that we know, from a client that compares versions; None if it is
        not open.
        """
        if not self.offers("workspace.workspace_edit.document_changes"):
            return types.WorkspaceEdit({uri: [*edits]})
        versioned = types.OptionalVersionedTextDocumentIdentifier(uri, version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(versioned, [*edits])])

    async def apply_edit(self, edit: types.WorkspaceEdit, label: str) -> bool:
        """Have the client change documents; whether it did. Never within a request: see `later`."""
        with suppress(JsonRpcException):
            params = types.ApplyWorkspaceEditParams(edit, label=label)
            return (await self.workspace_apply_edit_async(params)).applied
        return False

    async def show_document(self, uri: str, **how: Any) -> None:
        """Have a client that can do so show a document."""
        if self.offers("window.show_document.support"):
            with suppress(JsonRpcException):
                await self.window_show_document_async(types.ShowDocumentParams(uri, **how))

    def _on_done(self, task: asyncio.Task[Any]) -> None:
        self._later.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("%s failed", task.get_name(), exc_info=error)

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log *error*; pygls would show it in the editor."""
        expected = isinstance(error, JsonRpcException) and not isinstance(
            error, JsonRpcInternalError
        )
        level = logging.INFO if expected else logging.ERROR
        log.log(level, "%s: %s", source.__name__, error, exc_info=not expected)
