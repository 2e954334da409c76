"""
The code action "Apply the next edit", for editors that have no other way to show one.
"""

from __future__ import annotations

from collections.abc import Callable

from fim_lsp.display import shown
from fim_lsp.documents import Document, Position, body_length
from fim_lsp.lsp import convert
from fim_lsp.lsp.commands import workspace_edit
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.types import types
from fim_lsp.next_edit.edits import Lines
from fim_lsp.session.next_edits import NextEdit

APPLIED = "fim.didApplyNextEdit"
DISMISS = "fim.dismissNextEdit"
OPTIONS = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.RefactorRewrite])
TITLE_CHARS = 60  # of the new text; menus are narrow


async def code_action(
    editor: Editor, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """At most one: the next edit, wherever it is."""
    wanted = params.context.only
    kind = types.CodeActionKind.RefactorRewrite
    if wanted and not any(kind == each or kind.startswith(f"{each}.") for each in wanted):
        return None
    editor.current = params.text_document.uri
    found = await editor.session.next_edit(editor.notebooks.place(editor.current)[0])
    if found is None or editor.document(found.document.uri) is not found.document:
        return None  # or the place is in a notebook
    edit = workspace_edit(editor, found.document, _text_edit(found, editor.encoding))
    command = types.Command("the next edit was applied", APPLIED)
    return [types.CodeAction(_title(found), kind=kind, edit=edit, command=command)]


def applied(editor: Editor, *_: object) -> None:
    """The editor applied the code action."""
    editor.session.next_edits.taken()


def dismiss(editor: Editor, *arguments: object) -> None:
    """Do not propose the like again; of the document named, or of the one asked about last."""
    uri = arguments[0] if arguments and isinstance(arguments[0], str) else editor.current
    editor.session.next_edits.dismissed(uri)


def _title(found: NextEdit) -> str:
    proposal = found.proposal
    line, n_removed = proposal.line + 1, len(proposal.before)
    if not proposal.after:
        return f"Apply the next edit: remove {n_removed} line{'s'[: n_removed > 1]} at line {line}"
    first = next((each for each in proposal.after if each.strip()), "")
    return f"Apply the next edit, line {line}: {shown(first.strip(), TITLE_CHARS)}"


def _text_edit(found: NextEdit, encoding: str) -> types.TextEdit:
    """Whole lines, with the line ends of the document."""
    document, (_, line, before, after, *_) = found
    start, end, text = _replaced(document, line, len(before), after)
    return types.TextEdit(convert.client_range(document, start, end, encoding), text)


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


COMMANDS: tuple[tuple[str, Callable[..., object]], ...] = ((APPLIED, applied), (DISMISS, dismiss))
