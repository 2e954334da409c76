"""
LSP methods into calls of a `Session`: each handler converts in, makes one call, converts out.

`FEATURES` is the table of methods, `COMMANDS` that of commands. A handler runs until its first wait
before the next message is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from fim_lsp.documents import Document, split_stepwise
from fim_lsp.events import Changed, Closed, Event, Saved
from fim_lsp.lsp import commands, convert, edits, ending, inline_edits, items
from fim_lsp.lsp.editor import SHUTDOWN_S, Editor
from fim_lsp.lsp.rpc import SLICE_S, types
from fim_lsp.suggest.request import MENU, Suggestion

Result = TypeVar("Result")

# Where a menu is asked for besides inside words (in Helix, only there): behind operators and
# indentation.
TRIGGERS = (" ", "\t", "\n", ".", ":", ",", "=", "(", "[", "{")


def add_methods(editor: Editor) -> None:
    """Let *editor* answer all methods, and run all commands."""
    for method, handler, options in FEATURES:
        editor.feature(method, options)(handler)
    for name, command in COMMANDS:
        editor.command(name)(command)


def initialize(editor: Editor, params: types.InitializeParams) -> None:
    """Open the session; pygls answers with our capabilities afterwards."""
    editor.begin(params)
    if ending.is_there(params.process_id):  # asked now: it may end before a task begins
        editor.later(ending.on_death(params.process_id, editor.leave), "wait for the client's end")
    if editor.habits.ghost_text == "never":
        del editor.protocol.fm.features[types.TEXT_DOCUMENT_INLINE_COMPLETION]
    if editor.wants_menu():
        options = types.CompletionOptions(trigger_characters=TRIGGERS, resolve_provider=False)
        editor.feature(types.TEXT_DOCUMENT_COMPLETION, options)(completion)


async def initialized(editor: Editor, _: object) -> None:
    """Begin to send requests: from now on the server may. A client may leave each unanswered."""
    editor.later(editor.register(), "register")
    await editor.pull()
    editor.open_port()


async def shutdown(editor: Editor, _: object) -> None:
    """Save and end; the answer says that it is done."""
    await editor.aclose(SHUTDOWN_S)


async def inline_completion(
    editor: Editor, params: types.InlineCompletionParams
) -> types.InlineCompletionList:
    """
    Answer with ghost text for a position.

    A client that says a `partialResultToken`, which 3.18 does not have here, gets whole lines
    before all of the text.
    """
    document = editor.document(params.text_document.uri)
    if document is None:
        return types.InlineCompletionList([])
    position = convert.position(document.lines, params.position, editor.encoding)
    invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
    info = params.context.selected_completion_info
    selected = convert.parse_selected(document, info, editor.encoding) if info else None
    progress = None if invoked else params.work_done_token
    suggestions = await editor.ask(
        types.TEXT_DOCUMENT_INLINE_COMPLETION,
        document,
        position,
        invoked=invoked,
        selected=selected,
        show=partial(_show, editor, document, progress) if progress is not None else None,
    )
    return items.inline_list(document, suggestions, editor.encoding)


def _show(editor: Editor, document: Document, progress: int | str, suggestion: Suggestion) -> None:
    """Send a part of an answer before the rest, under the token of a *progress*."""
    value = items.inline_list(document, [suggestion], editor.encoding)
    editor.protocol.notify(types.PROGRESS, types.ProgressParams(progress, value))


async def completion(editor: Editor, params: types.CompletionParams) -> types.CompletionList:
    """
    Answer the same in the completion menu, for editors without ghost text.

    They send "invoked" for every letter typed, so a request by hand cannot be told from another.
    The list is never complete: the next key may bring a better one.
    """
    document = editor.document(params.text_document.uri)
    if document is None:
        return types.CompletionList(is_incomplete=True, items=[])
    position = convert.position(document.lines, params.position, editor.encoding)
    suggestions = await editor.ask(
        types.TEXT_DOCUMENT_COMPLETION, document, position, invoked=False, client=MENU
    )
    how = position, editor.encoding, editor.habits.menu
    made = (items.completion_item(document, each, *how) for each in suggestions)
    return types.CompletionList(is_incomplete=True, items=[item for item in made if item])


async def code_action(
    editor: Editor, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """
    Return the next edit, wherever it is, and what a model can do here. It is a question about any
    place: the cursor may be elsewhere.
    """
    uri = params.text_document.uri
    wanted = params.context.only
    actions = edits.code_actions(editor, params)  # of this text: a wait may bring another
    if _is_among(types.CodeActionKind.RefactorRewrite, wanted):
        actions = [*await inline_edits.code_actions(editor, uri), *actions]
    return [action for action in actions if _is_among(action.kind or "", wanted)] or None


def _is_among(kind: str, wanted: Sequence[str] | None) -> bool:
    """Return whether a client wants code actions of this *kind*; "" is the root of all kinds."""
    return not wanted or any(only in ("", kind) or kind.startswith(only + ".") for only in wanted)


async def did_open(editor: Editor, params: types.DidOpenTextDocumentParams) -> None:
    """Keep the text from now on."""
    opened = convert.parse_open(params.text_document)
    editor.forward(opened._replace(lines=tuple(await _in_slices(split_stepwise(opened.text)))))


async def did_change(editor: Editor, params: types.DidChangeTextDocumentParams) -> None:
    """Apply the changes; changes of a document that was never opened are ignored."""
    uri = params.text_document.uri
    document = editor.session.document(uri)
    if document is not None:
        changes: list[Any] = [*params.content_changes]  # `structure.ContentChange`
        unit = editor.habits.counts_changes or editor.encoding
        edits = convert.edits_stepwise(document, changes, unit)
        editor.forward(Changed(uri, params.text_document.version, await _in_slices(edits)))


async def _in_slices(steps: Iterator[Result]) -> Result:
    """
    Return the last of *steps*, with other tasks in between where they take longer than a moment.
    """
    clock = asyncio.get_running_loop().time
    paused = clock()
    last = next(steps)
    for step in steps:
        last = step
        if clock() > paused + SLICE_S:
            await asyncio.sleep(0)
            paused = clock()
    return last


def did_save(editor: Editor, params: types.DidSaveTextDocumentParams) -> None:
    """
    Record a saved text, which may be worth a place in the ring, or be a settings file or an ignore
    file.
    """
    editor.forward(Saved(params.text_document.uri))
    editor.reread_settings((params.text_document.uri,))


def did_close(editor: Editor, params: types.DidCloseTextDocumentParams) -> None:
    """Forget the text; the file may have been saved unnoticed."""
    editor.forward(Closed(params.text_document.uri))
    editor.reread_settings((params.text_document.uri,))


def did_open_cells(editor: Editor, params: types.DidOpenNotebookDocumentParams) -> None:
    """Keep the cells from now on."""
    book = params.notebook_document
    order = tuple(cell.document for cell in book.cells)
    fresh = map(convert.parse_open, params.cell_text_documents)
    editor.forward(*editor.notebooks.arrange(book.uri, order, fresh))


async def did_change_cells(editor: Editor, params: types.DidChangeNotebookDocumentParams) -> None:
    """Note that cells came, went or moved, or that their text has changed."""
    uri = params.notebook_document.uri
    cells = params.change.cells
    if cells and cells.structure:
        order = [*editor.notebooks.order(uri)]
        array = cells.structure.array
        order[array.start : array.start + array.delete_count] = [
            cell.document for cell in array.cells or ()
        ]
        fresh = map(convert.parse_open, cells.structure.did_open or ())
        editor.forward(*editor.notebooks.arrange(uri, tuple(order), fresh))
    contents: dict[str, list[Any]] = {}
    versions = {}
    for change in (cells and cells.text_content) or ():
        contents.setdefault(change.document.uri, []).extend(change.changes)
        versions[change.document.uri] = change.document.version
    changed = []
    for cell_uri in contents.keys() & editor.notebooks.cells.keys():
        cell = editor.notebooks.cells[cell_uri]
        edits = convert.edits_stepwise(cell, contents[cell_uri], editor.encoding)
        changed.append(Changed(cell_uri, versions[cell_uri], await _in_slices(edits)))
    editor.forward(*editor.notebooks.change(*changed))


def did_save_cells(editor: Editor, params: types.DidSaveNotebookDocumentParams) -> None:
    """Note that the text of all cells was saved: it may be worth a place in the ring."""
    editor.forward(*map(Saved, editor.notebooks.documents(params.notebook_document.uri)))


def did_close_cells(editor: Editor, params: types.DidCloseNotebookDocumentParams) -> None:
    """Forget the cells."""
    editor.forward(*editor.notebooks.arrange(params.notebook_document.uri, (), ()))


async def did_change_configuration(
    editor: Editor, params: types.DidChangeConfigurationParams
) -> None:
    """Apply new settings; without any, pull them."""
    editor.sources.say("workspace/didChangeConfiguration", params.settings)
    editor.configure()
    if not params.settings:
        await editor.pull()


def did_change_folders(editor: Editor, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Use the folders that are open now."""
    added = [folder.uri for folder in params.event.added]
    removed = {folder.uri for folder in params.event.removed}
    editor.open_folders(tuple(dict.fromkeys([r for r in editor.roots if r not in removed] + added)))


def did_change_files(
    editor: Editor,
    params: types.DidChangeWatchedFilesParams
    | types.CreateFilesParams
    | types.RenameFilesParams
    | types.DeleteFilesParams,
) -> None:
    """Note that files were made, changed, renamed or deleted, by any program."""
    event = convert.parse_file_changes(params)
    editor.forward(event)
    editor.reread_settings(event.changed + event.deleted)


def _forward(read: Callable[[object], Event | None]) -> Callable[[Editor, object], None]:
    """Return a handler that hands on the event that *read* finds in the params, if any."""

    def handler(editor: Editor, params: object) -> None:
        if event := read(params):
            editor.forward(event)

    return handler


def did_cancel_work(editor: Editor, params: types.WorkDoneProgressCancelParams) -> None:
    """Note that the user cancels a work where its progress is shown."""
    if future := editor.work_done_progress.tokens.get(params.token):
        future.cancel()


def did_move_cursor(editor: Editor, params: object) -> None:
    """Handle `fim/didMoveCursor`: the cursor rests elsewhere, in whatever mode."""
    match params:
        case {"textDocument": {"uri": str(uri)}, "position": place}:
            position = convert.place_of(place, editor.document(uri), editor.encoding)
            if position is not None:
                editor.rest_at(uri, position)


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
    (
        types.TEXT_DOCUMENT_CODE_ACTION,
        code_action,
        types.CodeActionOptions(
            [types.CodeActionKind.RefactorRewrite, types.CodeActionKind.QuickFix]
        ),
    ),
    (types.TEXT_DOCUMENT_DID_OPEN, did_open, None),
    (types.TEXT_DOCUMENT_DID_CHANGE, did_change, None),
    (types.TEXT_DOCUMENT_DID_SAVE, did_save, types.SaveOptions(include_text=False)),
    (types.TEXT_DOCUMENT_DID_CLOSE, did_close, None),
    (types.NOTEBOOK_DOCUMENT_DID_OPEN, did_open_cells, None),
    (types.NOTEBOOK_DOCUMENT_DID_CHANGE, did_change_cells, None),
    (types.NOTEBOOK_DOCUMENT_DID_SAVE, did_save_cells, None),
    (types.NOTEBOOK_DOCUMENT_DID_CLOSE, did_close_cells, None),
    (types.WORKSPACE_DID_CHANGE_CONFIGURATION, did_change_configuration, None),
    (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, did_change_folders, None),
    (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, did_change_files, None),
    (types.WORKSPACE_DID_CREATE_FILES, did_change_files, _ANY_FILE),
    (types.WORKSPACE_DID_RENAME_FILES, did_change_files, _ANY_FILE),
    (types.WORKSPACE_DID_DELETE_FILES, did_change_files, _ANY_FILE),
    (types.WINDOW_WORK_DONE_PROGRESS_CANCEL, did_cancel_work, None),
    ("textDocument/didFocus", _forward(convert.parse_focus), None),
    ("textDocument/didShowCompletion", _forward(convert.parse_show), None),
    ("textDocument/didPartiallyAcceptCompletion", _forward(convert.parse_partial), None),
    ("textDocument/copilotInlineEdit", inline_edits.inline_edit, None),
    ("textDocument/didShowInlineEdit", inline_edits.did_show, None),
    ("fim/didMoveCursor", did_move_cursor, None),
    ("fim/didYank", _forward(convert.parse_yank), None),
    ("fim/status", commands.status_now, None),
    ("fim/stats", commands.stats, None),
    ("fim/why", commands.why, None),
)

COMMANDS: tuple[tuple[str, Callable[..., object]], ...] = (
    (items.ACCEPTED, commands.accept),
    (commands.TOGGLE, commands.toggle),
    ("fim.status", commands.status),
    ("fim.showContext", commands.show_context),
    ("fim.openPage", commands.open_page),
    ("fim.continueLong", commands.continue_long),
    ("fim.snooze", commands.snooze),
    ("fim.resume", commands.resume),
    ("fim.didDismissCompletion", commands.dismiss),
    ("fim.why", commands.show_reason),
    (edits.EDIT, edits.edit),
    ("fim.edit.prepare", edits.prepare),
    (inline_edits.APPLIED, inline_edits.did_apply),
    (inline_edits.APPLY, inline_edits.apply),
    ("fim.dismissNextEdit", inline_edits.dismiss),
    ("fim.whyNextEdit", inline_edits.why),
)
