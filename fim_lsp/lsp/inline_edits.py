"""
The next edit for editors and plugins that draw it: `textDocument/copilotInlineEdit`, Copilot's shapes.

Its clients are our own plugins, sidekick.nvim, copilot-lsp and copilot.lua. Beside the edit, an item
says `why`; a client that can show a place in another document says `"otherDocuments": true` in the
request's context, and `"closedDocuments": true` if it opens files, too: the item for one has no
version, but says what stands there (`oldText`). Clients need not debounce: the answer comes when the
newest edit is finished.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from fim_lsp.documents import Position, body_length, unix
from fim_lsp.lsp import convert
from fim_lsp.lsp.commands import apply_edit, show_place, workspace_edit
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.types import types
from fim_lsp.session.edit_history import NextEdit

METHOD = "textDocument/copilotInlineEdit"
SHOWN = "textDocument/didShowInlineEdit"
APPLIED = "fim.didApplyNextEdit"
APPLY = "fim.applyNextEdit"
DISMISS = "fim.dismissNextEdit"
WHY = "fim.whyNextEdit"
GONE = "The file was changed since, or there is another next edit now: ask again."


async def inline_edit(editor: Editor, params: object) -> dict[str, object]:
    """Return at most one edit, of a version of a document."""
    match params:
        case {"textDocument": {"uri": str(uri)}}:
            unopened = _reads(params, "closedDocuments")
            found = await next_edit(editor, uri, unasked=True, unopened=unopened)
        case _:
            return {"edits": []}
    if found is None or (found.document.uri != uri and not _reads(params, "otherDocuments")):
        return {"edits": []}
    return {"edits": [_item(found, editor.encoding)]}


def _item(found: NextEdit, encoding: str) -> dict[str, object]:
    document, edit = found.document, text_edit(found, encoding)
    version = None if found.path else document.version
    item = {
        "textDocument": {"uri": document.uri, "version": version},
        "range": edit.range,
        "text": unix(edit.new_text),
        "command": make_applied_command(found),
        "why": found.why,
    }
    if found.path:
        item["oldText"] = unix(document.between(*_find_replaced(found)[:2]))
    return item


async def next_edit(
    editor: Editor, uri: str, *, unasked: bool, unopened: bool = True
) -> NextEdit | None:
    """Return the session's next edit, as the editor knows its document: in a notebook, as an edit of one cell."""
    editor.current = uri
    joined = editor.notebooks.place(uri)[0]
    found = await editor.session.next_edit(joined, unasked=unasked, unopened=unopened)
    if found is None or found.path:
        return found
    proposal = found.proposal
    anchor = proposal.line - (not proposal.before)  # lines are inserted below a line
    if at := editor.notebooks.cell_at(found.document.uri, max(0, anchor)):
        cell, first = at
        if proposal.line + len(proposal.before) > first + len(cell.lines):
            return None  # of two cells
        moved = proposal._replace(uri=cell.uri, line=proposal.line - first)
        return found._replace(document=cell, proposal=moved)
    return found if editor.document(found.document.uri) is found.document else None


def did_show(editor: Editor, params: object) -> None:
    """Handle `textDocument/didShowInlineEdit {item}`."""
    match params:
        case {"item": {"command": {"arguments": [str(number), *_]}}}:
            editor.session.next_edits.mark_shown(number)


def make_applied_command(found: NextEdit) -> types.Command:
    """Return the command that the client runs after it applied the edit."""
    return types.Command("the next edit was applied", APPLIED, arguments=[found.id])


def did_apply(editor: Editor, *arguments: object) -> None:
    """Take in that the client applied an edit."""
    editor.session.next_edits.mark_taken(_first(arguments))


async def apply(editor: Editor, *arguments: object) -> bool:
    """
    Apply an edit of a file that is not open, if that is as it was, and show it.

    The answer comes last: eglot asks its user first, and an answer to the command would end the question.
    """
    found = await editor.session.next_edits.check(_first(arguments))
    if found is None:
        editor.messages.show(types.MessageType.Info, GONE)
        return False
    await asyncio.shield(editor.later(_apply(editor, found), "apply next edit"))
    return True


async def _apply(editor: Editor, found: NextEdit) -> None:
    uri, edit = found.document.uri, text_edit(found, editor.encoding)
    whole = workspace_edit(editor, uri, None, edit)
    if await apply_edit(editor, whole, "the next edit by fim-lsp"):
        editor.session.next_edits.mark_taken(found.id)
        await show_place(editor, uri, edit.range.start)


def dismiss(editor: Editor, *arguments: object) -> None:
    """Do not propose the like again; of the document named, or of the one asked about last."""
    editor.session.next_edits.dismiss(_read_uri(editor, arguments))


async def why(editor: Editor, *arguments: object) -> str:
    """Show why there is a next edit, or that there is none; in the workspace of a document, as above."""
    found = await next_edit(editor, _read_uri(editor, arguments), unasked=False)
    reason = found.why if found else "No next edit is sure enough."
    editor.messages.show(types.MessageType.Info, reason)
    return reason


def text_edit(found: NextEdit, encoding: str) -> types.TextEdit:
    """Return whole lines, with the line ends of the document."""
    start, end, text = _find_replaced(found)
    return types.TextEdit(convert.client_range(found.document, start, end, encoding), text)


def _read_uri(editor: Editor, arguments: tuple[object, ...]) -> str:
    return _first(arguments, editor.current)


def _first(arguments: tuple[object, ...], default: str = "") -> str:
    """Return the first argument of a command, *default* where it is no text."""
    return arguments[0] if arguments and isinstance(arguments[0], str) else default


def _reads(params: object, name: str) -> bool:
    """Return whether the client can show such places."""
    match params:
        case {"context": {**context}}:
            return context.get(name) is True
    return False


def _find_replaced(found: NextEdit) -> tuple[Position, Position, str]:
    lines, eol = found.document.lines, found.document.eol
    line, n_lines, after = found.proposal.line, len(found.proposal.before), found.proposal.after
    if n_lines and after:  # from the beginning of the first to the end of the last, without its end
        last = line + n_lines - 1
        return Position(line, 0), Position(last, body_length(lines[last])), eol.join(after)
    text = "".join(each + eol for each in after)
    if line + n_lines < len(lines):
        return Position(line, 0), Position(line + n_lines, 0), text
    last = len(lines) - 1  # the last line has no end: that of the line above goes, or comes
    start = Position(line - 1, body_length(lines[line - 1])) if line else Position(0, 0)
    return start, Position(last, len(lines[last])), eol * bool(after) + eol.join(after)


COMMANDS: tuple[tuple[str, Callable[..., object]], ...] = (
    (APPLIED, did_apply),
    (APPLY, apply),
    (DISMISS, dismiss),
    (WHY, why),
)
