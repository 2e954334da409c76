"""
The code actions "Apply the next edit" and "Write the commit message", for editors that have no other way to them.
"""

from __future__ import annotations

from fim_lsp.display import shown
from fim_lsp.lsp import commit_message
from fim_lsp.lsp.commands import applies_edits, workspace_edit
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.inline_edits import APPLY, applied_command, next_edit, text_edit
from fim_lsp.lsp.types import types
from fim_lsp.session.edit_history import NextEdit

OPTIONS = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.RefactorRewrite])
COMMANDS = commit_message.COMMANDS
TITLE_CHARS = 60  # of the new text; menus are narrow


async def code_action(
    editor: Editor, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """At most one: the next edit, wherever it is; in a commit message, to have it written. Editors ask wherever the cursor rests."""
    editor.rest_at(params.text_document.uri, params.range.end)
    wanted = params.context.only
    kind = types.CodeActionKind.RefactorRewrite
    if wanted and not any(kind == each or kind.startswith(f"{each}.") for each in wanted):
        return None
    if actions := commit_message.action(params.text_document.uri):
        return actions
    uri, unopened = params.text_document.uri, applies_edits(editor)
    found = await next_edit(editor, uri, unasked=False, unopened=unopened)
    if found is None:
        return None
    title = _title(found)
    if found.path:  # looked at again when it is applied
        command = types.Command(title, APPLY, arguments=[found.id])
        return [types.CodeAction(title, kind=kind, command=command)]
    document = found.document
    change = text_edit(found, editor.encoding)
    edit = workspace_edit(editor, document.uri, document.version, change)
    return [types.CodeAction(title, kind=kind, edit=edit, command=applied_command(found))]


def _title(found: NextEdit) -> str:
    proposal = found.proposal
    line, n_removed = proposal.line + 1, len(proposal.before)
    where = f" {shown(found.path, TITLE_CHARS)}" * bool(found.path)
    if not proposal.after:
        n_lines = f"{n_removed} line{'s'[: n_removed > 1]}"
        return f"Apply the next edit:{where} remove {n_lines} at line {line}"
    first = next((each for each in proposal.after if each.strip()), "")
    return f"Apply the next edit,{where} line {line}: {shown(first.strip(), TITLE_CHARS)}"
