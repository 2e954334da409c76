"""
The next edit, for editors and plugins that draw it: `textDocument/copilotInlineEdit`, Copilot's
shapes; for all others a code action.

Its clients are our own plugins, sidekick.nvim, copilot-lsp and copilot.lua. Beside the edit, an
item says `why`; a client that can show a place in another document says `"otherDocuments": true` in
the request's context, and `"closedDocuments": true` if it opens files, too: the item for one has no
version, but says what stands there (`oldText`). Clients need not debounce: the answer comes when
the newest edit is finished. `"off": true` says that the user wants none now.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from fim_lsp.display import sanitize
from fim_lsp.documents import Position, body_length, unix
from fim_lsp.events import NextEditDismissed, NextEditShown, NextEditTaken
from fim_lsp.lsp import convert
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.rpc import types

if TYPE_CHECKING:
    from fim_lsp.session.state.edit_history import NextEdit

APPLIED = "fim.didApplyNextEdit"
APPLY = "fim.applyNextEdit"
GONE = "The file was changed since, or there is another next edit now: ask again."
TITLE_CHARS = 60  # of the new text; menus are narrow


async def inline_edit(editor: Editor, params: object) -> dict[str, object]:
    """Return at most one edit, of a version of a document."""
    match params:
        case {"textDocument": {"uri": str(uri)}} if editor.session.wants_next_edit(uri):
            unopened = _reads(params, "closedDocuments")
            place = params.get("position") if isinstance(params, dict) else None
            cursor = convert.place_of(place, editor.document(uri), editor.encoding)
            edit = await next_edit(editor, uri, cursor, unasked=True, unopened=unopened)
        case _:
            return {"edits": [], **({"off": True} if params else {})}
    if edit is None or (edit.document.uri != uri and not _reads(params, "otherDocuments")):
        return {"edits": []}
    return {"edits": [_item(edit, editor.encoding)]}


def _item(offer: NextEdit, encoding: str) -> dict[str, object]:
    document = offer.document
    edit = _text_edit(offer, encoding)
    version = None if offer.path else document.version
    item = {
        "textDocument": {"uri": document.uri, "version": version},
        "range": edit.range,
        "text": unix(edit.new_text),
        "command": _make_applied_command(offer),
        "why": offer.why,
    }
    if offer.path:
        item["oldText"] = unix(document.between(*_find_replaced(offer)[:2]))
    return item


async def next_edit(
    editor: Editor,
    uri: str,
    cursor: Position | None = None,
    *,
    unasked: bool,
    unopened: bool = True,
) -> NextEdit | None:
    """
    Return the session's next edit, as the editor knows its document: in a notebook, as an edit of
    one cell.
    """
    joined, first = editor.notebooks.place(uri)
    offer = await editor.session.next_edit(
        joined, cursor and cursor.down(first), unasked=unasked, unopened=unopened
    )
    if offer is None or offer.path:
        return offer
    proposal = offer.proposal
    anchor = proposal.line - (not proposal.before)  # lines are inserted below a line
    if at := editor.notebooks.cell_at(offer.document.uri, max(0, anchor)):
        cell, first = at
        if proposal.line + len(proposal.before) > first + len(cell.lines):
            return None  # of two cells
        moved = proposal._replace(uri=cell.uri, line=proposal.line - first)
        return offer._replace(document=cell, proposal=moved)
    return offer if editor.document(offer.document.uri) is offer.document else None


async def code_actions(editor: Editor, uri: str) -> list[types.CodeAction]:
    """Return at most one action, which applies the edit wherever it is."""
    unopened = editor.offers("workspace.apply_edit")
    offer = await next_edit(editor, uri, unasked=False, unopened=unopened)
    if offer is None:
        return []
    title = _title(offer)
    kind = types.CodeActionKind.RefactorRewrite
    if offer.path:  # looked at again when it is applied
        command = types.Command(title, APPLY, arguments=[offer.id])
        return [types.CodeAction(title, kind=kind, command=command)]
    document = offer.document
    change = _text_edit(offer, editor.encoding)
    edit = editor.edit_workspace(document.uri, document.version, change)
    return [types.CodeAction(title, kind=kind, edit=edit, command=_make_applied_command(offer))]


def _title(offer: NextEdit) -> str:
    proposal = offer.proposal
    line = proposal.line + 1
    n_removed = len(proposal.before)
    where = f" {sanitize(offer.path, TITLE_CHARS)}" if offer.path else ""
    if not proposal.after:
        n_lines = f"{n_removed} lines" if n_removed > 1 else "1 line"
        return f"Apply the next edit:{where} remove {n_lines} at line {line}"
    first = next((text for text in proposal.after if text.strip()), "")
    return f"Apply the next edit,{where} line {line}: {sanitize(first.strip(), TITLE_CHARS)}"


def did_show(editor: Editor, params: object) -> None:
    """Handle `textDocument/didShowInlineEdit {item}`."""
    match params:
        case {"item": {"command": {"arguments": [str(number), *_]}}}:
            editor.session.handle(NextEditShown(number))


def _make_applied_command(offer: NextEdit) -> types.Command:
    """Return the command that the client runs after it applied the edit."""
    return types.Command("the next edit was applied", APPLIED, arguments=[offer.id])


def did_apply(editor: Editor, *arguments: object) -> None:
    """Note that the client applied an edit."""
    editor.session.handle(NextEditTaken(convert.first_text(arguments)))


async def apply(editor: Editor, *arguments: object) -> bool:
    """
    Apply an edit of a file that is not open, if that is as it was, and show it.

    The answer comes last: eglot asks its user first, and an answer to the command would end the
    question.
    """
    offer = await editor.session.check_next_edit(convert.first_text(arguments))
    if offer is None:
        editor.messages.show(GONE)
        return False
    await asyncio.shield(editor.later(_apply(editor, offer), "apply next edit"))
    return True


async def _apply(editor: Editor, offer: NextEdit) -> None:
    uri = offer.document.uri
    edit = _text_edit(offer, editor.encoding)
    whole = editor.edit_workspace(uri, None, edit)
    if await editor.apply_edit(whole, "the next edit by fim-lsp"):
        editor.session.handle(NextEditTaken(offer.id))
        place = types.Range(edit.range.start, edit.range.start)
        await editor.show_document(uri, take_focus=True, selection=place)


def dismiss(editor: Editor, *arguments: object) -> None:
    """Do not propose the like again; of the document named, or of the one asked about last."""
    uri, _ = editor.notebooks.place(convert.first_text(arguments))
    editor.session.handle(NextEditDismissed(uri))


async def why(editor: Editor, *arguments: object) -> str:
    """
    Show why there is a next edit, or that there is none; in the workspace of a document, as above.
    """
    offer = await next_edit(editor, convert.first_text(arguments), unasked=False)
    reason = offer.why if offer else "No next edit is sure enough."
    editor.messages.show(reason)
    return reason


def _text_edit(offer: NextEdit, encoding: str) -> types.TextEdit:
    """Return whole lines, with the line ends of the document."""
    start, end, text = _find_replaced(offer)
    return types.TextEdit(convert.client_range(offer.document, start, end, encoding), text)


def _reads(params: object, name: str) -> bool:
    """Return whether the client can show such places."""
    match params:
        case {"context": {**context}}:
            return context.get(name) is True
    return False


def _find_replaced(offer: NextEdit) -> tuple[Position, Position, str]:
    lines = offer.document.lines
    eol = offer.document.eol
    line = offer.proposal.line
    n_lines = len(offer.proposal.before)
    after = offer.proposal.after
    if n_lines and after:  # from the beginning of the first to the end of the last, without its end
        last = line + n_lines - 1
        return Position(line, 0), Position(last, body_length(lines[last])), eol.join(after)
    text = "".join(line_after + eol for line_after in after)
    if line + n_lines < len(lines):
        return Position(line, 0), Position(line + n_lines, 0), text
    last = len(lines) - 1  # the last line has no end: that of the line above goes, or comes
    start = Position(line - 1, body_length(lines[line - 1])) if line else Position(0, 0)
    return (
        start,
        Position(last, len(lines[last])),
        "".join(eol + line_after for line_after in after),
    )
