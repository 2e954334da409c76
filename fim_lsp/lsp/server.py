"""
LSP methods into calls of a `Session`: each handler converts in, makes one call, converts out.

`run` serves one editor. The rest is `FEATURES`, the table of what we listen to, and the handlers,
which run until their first wait before the next message is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from fim_lsp import convert, transport
from fim_lsp.commands import COMMANDS
from fim_lsp.config import Config
from fim_lsp.editor import Editor
from fim_lsp.events import Changed, Closed, Event, Saved
from fim_lsp.lsp import types
from fim_lsp.rpc import serve
from fim_lsp.session import Session
from server_bridge.protocol import Backend

# Where a menu is asked for besides inside words: behind what opens or continues an expression,
# and behind indentation (Helix asks at these only).
TRIGGERS = (" ", "\t", "\n", ".", ":", ",", "=", "(", "[", "{")

log = logging.getLogger(__name__)


def run(
    address: tuple[str, int] | None,
    open_backend: Callable[[Config], Backend],
    flags: Mapping[str, object],
    cache: Path,
) -> int:
    """
    Serve one editor, on stdio or the TCP *address*, to its end; returns the exit code.

    *cache* is a folder of our own for what is to outlive us.
    Who imports us may switch garbage collection off for that long: it takes 50 ms of start-up.
    """
    editor = make_server(partial(Session, open_backend=open_backend, cache=cache), flags)
    # What was imported lives as long as we do; searching it for garbage takes 50 ms every time.
    gc.freeze()
    gc.enable()
    return asyncio.run(_serve(editor, address))


def make_server(open_session: Callable[[Config], Session], flags: Mapping[str, object]) -> Editor:
    """A server that knows all of its methods."""
    editor = Editor(open_session, flags)
    for method, handler, options in FEATURES:
        editor.feature(method, options)(handler)
    for name, command in COMMANDS:
        editor.command(name)(command)
    return editor


async def _serve(editor: Editor, address: tuple[str, int] | None) -> int:
    client = await (transport.tcp(*address) if address else transport.stdio())
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(number, client.end)
    try:
        return await serve(editor.protocol, client)
    finally:
        await editor.aclose()
        await client.aclose()


# -- life ----------------------------------------------------------------------------------------


def initialize(editor: Editor, params: types.InitializeParams) -> None:
    """Open the session; pygls answers with our capabilities afterwards."""
    editor.begin(params)
    if editor.wants_menu(params):
        options = types.CompletionOptions(trigger_characters=TRIGGERS, resolve_provider=False)
        editor.feature(types.TEXT_DOCUMENT_COMPLETION, options)(completion)


async def initialized(editor: Editor, _: object) -> None:
    """From now on the editor can be asked."""
    await editor.register()
    await editor.pull()


async def shutdown(editor: Editor, _: object) -> None:
    """Save and let go; the answer says that it is done."""
    await editor.aclose()


# -- suggestions ---------------------------------------------------------------------------------


async def inline_completion(
    editor: Editor, params: types.InlineCompletionParams
) -> types.InlineCompletionList:
    """Ghost text at a position."""
    document = editor.document(params.text_document.uri)
    if document is None:
        return types.InlineCompletionList([])
    position = convert.position(document, params.position, editor.encoding)
    invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
    info = params.context.selected_completion_info
    selected = convert.selected(document, info, editor.encoding) if info else None
    suggestions = await editor.ask(
        types.TEXT_DOCUMENT_INLINE_COMPLETION,
        document,
        position,
        invoked=invoked,
        selected=selected,
    )
    return types.InlineCompletionList(
        [convert.inline_item(document, suggestion, editor.encoding) for suggestion in suggestions]
    )


async def completion(editor: Editor, params: types.CompletionParams) -> types.CompletionList:
    """
    The same in the completion menu, for editors without ghost text.

    They say "invoked" for every letter typed, so nothing tells a request by hand from another. The
    list is never complete: the next key may bring a better one.
    """
    document = editor.document(params.text_document.uri)
    if document is None:
        return types.CompletionList(is_incomplete=True, items=[])
    position = convert.position(document, params.position, editor.encoding)
    suggestions = await editor.ask(
        types.TEXT_DOCUMENT_COMPLETION, document, position, invoked=False
    )
    item = partial(convert.completion_item, document, cursor=position, encoding=editor.encoding)
    return types.CompletionList(
        is_incomplete=True,
        items=[item(suggestion, literal=editor.reads_snippets) for suggestion in suggestions],
    )


# -- documents -----------------------------------------------------------------------------------


def did_open(editor: Editor, params: types.DidOpenTextDocumentParams) -> None:
    """Know the text from now on."""
    editor.hear(convert.opened(params.text_document))


def did_change(editor: Editor, params: types.DidChangeTextDocumentParams) -> None:
    """Changes of a document that was never opened mean nothing."""
    uri = params.text_document.uri
    if document := editor.session.documents.get(uri):
        edits = convert.edits(document, params.content_changes, editor.encoding)
        editor.hear(Changed(uri, params.text_document.version, edits))


def did_save(editor: Editor, params: types.DidSaveTextDocumentParams) -> None:
    """Saved text may be worth a place in the ring; a settings file says something new."""
    uri = params.text_document.uri
    editor.hear(Saved(uri))
    editor.read_again((uri,))


def did_close(editor: Editor, params: types.DidCloseTextDocumentParams) -> None:
    """Forget the text."""
    editor.hear(Closed(params.text_document.uri))


# -- notebooks -----------------------------------------------------------------------------------


def notebook_opened(editor: Editor, params: types.DidOpenNotebookDocumentParams) -> None:
    """Know the cells from now on."""
    book = params.notebook_document
    order = tuple(cell.document for cell in book.cells)
    fresh = map(convert.opened, params.cell_text_documents)
    editor.hear(*editor.notebooks.arranged(book.uri, order, fresh))


def notebook_changed(editor: Editor, params: types.DidChangeNotebookDocumentParams) -> None:
    """Cells came, went or moved; the text of some is another."""
    uri, cells = params.notebook_document.uri, params.change.cells
    if cells and cells.structure:
        order = [*editor.notebooks.order(uri)]
        array = cells.structure.array
        order[array.start : array.start + array.delete_count] = [
            cell.document for cell in array.cells or ()
        ]
        fresh = map(convert.opened, cells.structure.did_open or ())
        editor.hear(*editor.notebooks.arranged(uri, tuple(order), fresh))
    for change in (cells and cells.text_content) or ():
        if cell := editor.notebooks.cells.get(change.document.uri):
            edits = convert.edits(cell, change.changes, editor.encoding)
            changed = Changed(cell.uri, change.document.version, edits)
            editor.hear(*editor.notebooks.changed(changed))


def notebook_saved(editor: Editor, params: types.DidSaveNotebookDocumentParams) -> None:
    """The text of all cells may be worth a place in the ring."""
    editor.hear(*map(Saved, editor.notebooks.documents(params.notebook_document.uri)))


def notebook_closed(editor: Editor, params: types.DidCloseNotebookDocumentParams) -> None:
    """Forget the cells."""
    editor.hear(*editor.notebooks.arranged(params.notebook_document.uri, (), ()))


# -- workspace -----------------------------------------------------------------------------------


async def did_change_configuration(
    editor: Editor, params: types.DidChangeConfigurationParams
) -> None:
    """New settings, or with none a hint that asking would give some."""
    editor.sources.say("workspace/didChangeConfiguration", params.settings)
    editor.configure()
    if not params.settings:
        await editor.pull()


def did_change_folders(editor: Editor, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Go on with the folders there are now."""
    added = [folder.uri for folder in params.event.added]
    removed = {folder.uri for folder in params.event.removed}
    editor.open_folders(tuple(dict.fromkeys([r for r in editor.roots if r not in removed] + added)))


def files_changed(
    editor: Editor,
    params: types.DidChangeWatchedFilesParams
    | types.CreateFilesParams
    | types.RenameFilesParams
    | types.DeleteFilesParams,
) -> None:
    """Files were made, changed, renamed or deleted, by anybody."""
    event = convert.files_changed(params)
    editor.hear(event)
    editor.read_again(event.changed + event.deleted)


# -- our own -------------------------------------------------------------------------------------


def _heard(read: Callable[[object], Event | None]) -> Callable[[Editor, object], None]:
    """A handler that hands on the event that *read* finds in the params, if any."""

    def handler(editor: Editor, params: object) -> None:
        if event := read(params):
            editor.hear(event)

    return handler


def stats(editor: Editor, _: object) -> dict[str, object]:
    """`fim/stats`: counters since the start, as one object."""
    return editor.session.stats()


_ANY_FILE = types.FileOperationRegistrationOptions(
    [types.FileOperationFilter(types.FileOperationPattern("**/*"), scheme="file")]
)

FEATURES: tuple[tuple[str, Callable[..., object], object], ...] = (
    (types.INITIALIZE, initialize, None),
    (types.INITIALIZED, initialized, None),
    (types.SHUTDOWN, shutdown, None),
    (
        types.TEXT_DOCUMENT_INLINE_COMPLETION,
        inline_completion,
        # not empty: older lsp-mode reads {} as nothing
        types.InlineCompletionOptions(work_done_progress=False),
    ),
    (types.TEXT_DOCUMENT_DID_OPEN, did_open, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, did_change, None),
    (types.TEXT_DOCUMENT_DID_SAVE, did_save, types.SaveOptions(include_text=False)),
    (types.TEXT_DOCUMENT_DID_CLOSE, did_close, None),
    (types.NOTEBOOK_DOCUMENT_DID_OPEN, notebook_opened, None),
    (types.NOTEBOOK_DOCUMENT_DID_CHANGE, notebook_changed, None),
    (types.NOTEBOOK_DOCUMENT_DID_SAVE, notebook_saved, None),
    (types.NOTEBOOK_DOCUMENT_DID_CLOSE, notebook_closed, None),
    (types.WORKSPACE_DID_CHANGE_CONFIGURATION, did_change_configuration, None),
    (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, did_change_folders, None),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, files_changed, None),
    (types.WORKSPACE_DID_CREATE_FILES, files_changed, _ANY_FILE),
    (types.WORKSPACE_DID_RENAME_FILES, files_changed, _ANY_FILE),
    (types.WORKSPACE_DID_DELETE_FILES, files_changed, _ANY_FILE),
    ("textDocument/didFocus", _heard(convert.focused), None),
    ("textDocument/didShowCompletion", _heard(convert.shown), None),
    ("textDocument/didPartiallyAcceptCompletion", _heard(convert.partly_accepted), None),
    ("fim/didYank", _heard(convert.yanked), None),
    ("fim/stats", stats, None),
)
