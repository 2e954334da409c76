"""
The code action "Apply the next edit", for editors that have no other way to show one.
"""

from __future__ import annotations

from fim_lsp.display import shown
from fim_lsp.lsp.commands import workspace_edit
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.inline_edits import applied_command, next_edit, text_edit
from fim_lsp.lsp.types import types
from fim_lsp.session.next_edits import NextEdit

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
    found = await next_edit(editor, params.text_document.uri, unasked=False)
    if found is None:
        return None
    edit = workspace_edit(editor, found.document, text_edit(found, editor.encoding))
    return [types.CodeAction(_title(found), kind=kind, edit=edit, command=applied_command(found))]


def _title(found: NextEdit) -> str:
    proposal = found.proposal
    line, n_removed = proposal.line + 1, len(proposal.before)
    if not proposal.after:
        return f"Apply the next edit: remove {n_removed} line{'s'[: n_removed > 1]} at line {line}"
    first = next((each for each in proposal.after if each.strip()), "")
    return f"Apply the next edit, line {line}: {shown(first.strip(), TITLE_CHARS)}"
