"""
Code actions: the next edit and a commit message, for editors that have no other way to them, and edits that need no
instruction typed.
"""

from __future__ import annotations

from fim_lsp.display import sanitize
from fim_lsp.documents import Document
from fim_lsp.instruct import presets
from fim_lsp.lsp import commit_message, edits
from fim_lsp.lsp.commands import applies_edits, workspace_edit
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.inline_edits import APPLY, make_applied_command, next_edit, text_edit
from fim_lsp.lsp.types import types
from fim_lsp.session.edit_history import NextEdit
from server_bridge.protocol import Health

REWRITE, FIX = types.CodeActionKind.RefactorRewrite, types.CodeActionKind.QuickFix
OPTIONS = types.CodeActionOptions(code_action_kinds=[REWRITE, FIX])
TITLE_CHARS = 60  # of the new text; menus are narrow
COMMANDS = (*edits.COMMANDS, *commit_message.COMMANDS)


async def code_action(
    editor: Editor, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """Return the next edit, wherever it is, and what a model can do here. Editors ask wherever the cursor rests."""
    editor.rest_at(params.text_document.uri, params.range.end)
    if actions := commit_message.action(params.text_document.uri):
        return actions if _wants(params, REWRITE) else None
    found = [*_fixes(editor, params), *_presets(editor, params)]
    if _wants(params, REWRITE):
        found = [*await _next_edit(editor, params.text_document.uri), *found]
    return found or None


def _wants(params: types.CodeActionParams, kind: types.CodeActionKind) -> bool:
    wanted = params.context.only
    return not wanted or any(
        each in ("", kind) or kind.startswith(f"{each}.")  # "" is the root of all kinds
        for each in wanted
    )


async def _next_edit(editor: Editor, uri: str) -> list[types.CodeAction]:
    """Return at most one action."""
    found = await next_edit(editor, uri, unasked=False, unopened=applies_edits(editor))
    if found is None:
        return []
    title = _title(found)
    if found.path:  # looked at again when it is applied
        command = types.Command(title, APPLY, arguments=[found.id])
        return [types.CodeAction(title, kind=REWRITE, command=command)]
    document = found.document
    change = text_edit(found, editor.encoding)
    edit = workspace_edit(editor, document.uri, document.version, change)
    return [types.CodeAction(title, kind=REWRITE, edit=edit, command=make_applied_command(found))]


def _presets(editor: Editor, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return the actions for a selection."""
    document = _editable(editor, params.text_document.uri)
    if document is None or params.range.start == params.range.end or not _wants(params, REWRITE):
        return []
    place = {"uri": document.uri, "version": document.version}
    return [
        _action(
            title, REWRITE, {"textDocument": place, "range": params.range, "instruction": words}
        )
        for title, words in presets.SELECTED
    ]


def _fixes(editor: Editor, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return at most one action, for what other servers found wrong here."""
    document = _editable(editor, params.text_document.uri)
    problems = params.context.diagnostics
    if document is None or not problems or not _wants(params, FIX):
        return []
    first = min(problem.range.start.line for problem in problems)
    last = max(problem.range.end.line for problem in problems)
    messages = [problem.message for problem in problems]
    asked = {
        "textDocument": {"uri": document.uri, "version": document.version},
        "range": types.Range(types.Position(first, 0), types.Position(last, 0)),
        "diagnostics": [{"message": message} for message in messages],
    }
    return [_action(presets.fix(messages).title, FIX, asked)]


def _editable(editor: Editor, uri: str) -> Document | None:
    """Return the document, where the model may be asked to change it and the editor applies that."""
    state = editor.session.connection.state
    can = state.health is Health.READY and not state.fills_only and applies_edits(editor)
    return editor.document(uri) if can else None


def _action(title: str, kind: types.CodeActionKind, asked: dict[str, object]) -> types.CodeAction:
    """Return an action that is carried out by a command; some editors wait for its answer and stand still, so it comes at once."""
    command = types.Command(title, edits.EDIT, arguments=[{**asked, "wait": False}])
    return types.CodeAction(title, kind=kind, command=command)


def _title(found: NextEdit) -> str:
    proposal = found.proposal
    line, n_removed = proposal.line + 1, len(proposal.before)
    where = f" {sanitize(found.path, TITLE_CHARS)}" * bool(found.path)
    if not proposal.after:
        n_lines = f"{n_removed} line{'s'[: n_removed > 1]}"
        return f"Apply the next edit:{where} remove {n_lines} at line {line}"
    first = next((each for each in proposal.after if each.strip()), "")
    return f"Apply the next edit,{where} line {line}: {sanitize(first.strip(), TITLE_CHARS)}"
