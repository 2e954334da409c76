"""
The next edit for editors and plugins that draw it: `textDocument/copilotInlineEdit`, Copilot's shapes.

Its clients are our own plugins, sidekick.nvim, copilot-lsp and copilot.lua. Beside the edit, an item
says `why`; a client that can show a place in another document says `"otherDocuments": true` in the
request's context. Clients need not debounce: the answer comes when the newest edit is finished.
"""

from __future__ import annotations

from collections.abc import Callable

from fim_lsp.documents import Document, Position, body_length, unix
from fim_lsp.lsp import convert
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.types import types
from fim_lsp.next_edit.edits import Lines
from fim_lsp.session.next_edits import NextEdit

METHOD = "textDocument/copilotInlineEdit"
SHOWN = "textDocument/didShowInlineEdit"
APPLIED = "fim.didApplyNextEdit"
DISMISS = "fim.dismissNextEdit"
WHY = "fim.whyNextEdit"


async def inline_edit(editor: Editor, params: object) -> dict[str, object]:
    """At most one edit, of a version of a document."""
    match params:
        case {"textDocument": {"uri": str(uri)}}:
            found = await next_edit(editor, uri, unasked=True)
        case _:
            return {"edits": []}
    if found is None or (found.document.uri != uri and not _reads_others(params)):
        return {"edits": []}
    edit = text_edit(found, editor.encoding)
    document = {"uri": found.document.uri, "version": found.document.version}
    command = applied_command(found)
    item = {"textDocument": document, "range": edit.range, "text": unix(edit.new_text)}
    return {"edits": [{**item, "command": command, "why": found.why}]}


async def next_edit(editor: Editor, uri: str, *, unasked: bool) -> NextEdit | None:
    """The session's, if the editor knows its document by that name: no cell of a notebook."""
    editor.current = uri
    found = await editor.session.next_edit(editor.notebooks.place(uri)[0], unasked=unasked)
    if found is None or editor.document(found.document.uri) is not found.document:
        return None
    return found


def drawn(editor: Editor, params: object) -> None:
    """`textDocument/didShowInlineEdit {item}`."""
    match params:
        case {"item": {"command": {"arguments": [str(number), *_]}}}:
            editor.session.next_edits.shown(number)


def applied_command(found: NextEdit) -> types.Command:
    """What the client runs when it applied the edit."""
    return types.Command("the next edit was applied", APPLIED, arguments=[found.id])


def applied(editor: Editor, *arguments: object) -> None:
    """The client applied an edit."""
    if arguments and isinstance(arguments[0], str):
        editor.session.next_edits.taken(arguments[0])


def dismiss(editor: Editor, *arguments: object) -> None:
    """Do not propose the like again; of the document named, or of the one asked about last."""
    editor.session.next_edits.dismissed(_named(editor, arguments))


async def why(editor: Editor, *arguments: object) -> str:
    """Why there is a next edit, or that there is none; in the workspace of a document, as above."""
    found = await next_edit(editor, _named(editor, arguments), unasked=False)
    reason = found.why if found else "There is no next edit that is sure enough."
    editor.messages.show(types.MessageType.Info, reason)
    return reason


def text_edit(found: NextEdit, encoding: str) -> types.TextEdit:
    """Whole lines, with the line ends of the document."""
    document, (_, line, before, after, *_), *_ = found
    start, end, text = _replaced(document, line, len(before), after)
    return types.TextEdit(convert.client_range(document, start, end, encoding), text)


def _named(editor: Editor, arguments: tuple[object, ...]) -> str:
    return arguments[0] if arguments and isinstance(arguments[0], str) else editor.current


def _reads_others(params: object) -> bool:
    match params:
        case {"context": {"otherDocuments": True}}:
            return True
    return False


def _replaced(
    document: Document, line: int, n_lines: int, after: Lines
) -> tuple[Position, Position, str]:
    lines, eol = document.lines, document.eol
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
    (APPLIED, applied),
    (DISMISS, dismiss),
    (WHY, why),
)
