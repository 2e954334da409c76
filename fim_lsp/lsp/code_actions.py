"""Code actions: the next edit, a commit message, and the edits that need no instruction typed."""

from __future__ import annotations

from fim_lsp.display import sanitize
from fim_lsp.documents import Document
from fim_lsp.instruct import presets
from fim_lsp.lsp import convert
from fim_lsp.lsp.commands import workspace_edit
from fim_lsp.lsp.commit_messages import commit_message_action
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.edits import EDIT
from fim_lsp.lsp.inline_edits import APPLY, make_applied_command, next_edit, text_edit
from fim_lsp.lsp.rpc import types
from fim_lsp.session.state.edit_history import NextEdit
from server_bridge.protocol import Health

REWRITE, FIX = types.CodeActionKind.RefactorRewrite, types.CodeActionKind.QuickFix
OPTIONS = types.CodeActionOptions(code_action_kinds=[REWRITE, FIX])
TITLE_CHARS = 60  # of the new text; menus are narrow


async def code_action(
    editor: Editor, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    """
    Return the next edit, wherever it is, and what a model can do here. Editors ask wherever the
    cursor rests.
    """
    if document := editor.document(params.text_document.uri):
        end = convert.position(document, params.range.end, editor.encoding)
        editor.rest_at(document.uri, end)
    if actions := commit_message_action(params.text_document.uri):
        return actions if _wants(params, REWRITE) else None
    actions = [*_fixes(editor, params), *_presets(editor, params)]
    if _wants(params, REWRITE):
        actions = [*await _next_edit_actions(editor, params.text_document.uri), *actions]
    return actions or None


def _wants(params: types.CodeActionParams, kind: types.CodeActionKind) -> bool:
    wanted = params.context.only
    return not wanted or any(
        only in ("", kind) or kind.startswith(f"{only}.")  # "" is the root of all kinds
        for only in wanted
    )


async def _next_edit_actions(editor: Editor, uri: str) -> list[types.CodeAction]:
    """Return at most one action."""
    offer = await next_edit(
        editor, uri, unasked=False, unopened=editor.offers("workspace.apply_edit")
    )
    if offer is None:
        return []
    title = _title(offer)
    if offer.path:  # looked at again when it is applied
        command = types.Command(title, APPLY, arguments=[offer.id])
        return [types.CodeAction(title, kind=REWRITE, command=command)]
    document = offer.document
    change = text_edit(offer, editor.encoding)
    edit = workspace_edit(editor, document.uri, document.version, change)
    return [types.CodeAction(title, kind=REWRITE, edit=edit, command=make_applied_command(offer))]


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
    params_of_edit = {
        "textDocument": {"uri": document.uri, "version": document.version},
        "range": types.Range(types.Position(first, 0), types.Position(last, 0)),
        "diagnostics": [{"message": message} for message in messages],
    }
    return [_action(presets.fix(messages).title, FIX, params_of_edit)]


def _editable(editor: Editor, uri: str) -> Document | None:
    """
    Return the document, where the model may be asked to change it and the editor applies that.
    """
    state = editor.session.status().state
    can = (
        state.health is Health.READY
        and not state.fills_only
        and editor.offers("workspace.apply_edit")
    )
    return editor.document(uri) if can else None


def _action(title: str, kind: types.CodeActionKind, params: dict[str, object]) -> types.CodeAction:
    """
    Return an action that is carried out by a command; some editors wait for its answer and stand
    still, so it comes at once.
    """
    command = types.Command(title, EDIT, arguments=[{**params, "wait": False}])
    return types.CodeAction(title, kind=kind, command=command)


def _title(offer: NextEdit) -> str:
    proposal = offer.proposal
    line, n_removed = proposal.line + 1, len(proposal.before)
    where = f" {sanitize(offer.path, TITLE_CHARS)}" * bool(offer.path)
    if not proposal.after:
        n_lines = f"{n_removed} line{'s'[: n_removed > 1]}"
        return f"Apply the next edit:{where} remove {n_lines} at line {line}"
    first = next((text for text in proposal.after if text.strip()), "")
    return f"Apply the next edit,{where} line {line}: {sanitize(first.strip(), TITLE_CHARS)}"
