"""
Edits by instruction: the commands `fim.edit` and `fim.edit.prepare`, and the code actions that need
no instruction typed.

See docs/protocol.md. The result is applied as a minimal set of whole-line edits, in one step, or
handed to a client that shows it first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fim_lsp.documents import Document, Position, n_common
from fim_lsp.lsp import convert
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.quirks import message_text
from fim_lsp.lsp.rpc import PER_S, types

if TYPE_CHECKING:  # they compile the patterns of secrets: not before `initialize` is answered
    from fim_lsp.instruct.dialogue import Edited, Instruction

EDIT = "fim.edit"
CHANGED = "the text was changed meanwhile"

Params = dict[str, Any]


@dataclass(eq=False, repr=False)
class Preview:
    """
    The lines of an edit as its client has them: each is sent once, at most `PER_S` times a
    second.

    *send* takes the number of the first line that is new, or another than before, and all lines
    from there on.
    """

    _send: Callable[[int, Sequence[str]], None]
    _clock: Callable[[], float]
    _sent: Sequence[str] = ()
    _due: float = 0.0

    def show(self, lines: Sequence[str]) -> None:
        """Send what is new in *lines*, unless it is too soon: the next call does, or the answer."""
        if (now := self._clock()) < self._due:
            return
        first = n_common(self._sent, lines)
        if first == len(lines) == len(self._sent):
            return
        self._send(first, lines[first:])
        self._sent = lines
        self._due = now + 1 / PER_S


class EditPlace(NamedTuple):
    """
    The place of an edit, from *start* to *end* of *uri*; its *cell* (or document) begins *above*
    lines below the top of that.
    """

    cell: Document
    uri: str
    above: int
    start: Position
    end: Position


async def edit(editor: Editor, *arguments: object) -> Params:
    """
    See docs/protocol.md; a request that is cancelled ends the edit, but not in the middle of a
    step.
    """
    params = convert.read_params(arguments)
    is_cancelled = False
    task = editor.later(_edit(editor, params, lambda: not is_cancelled), "edit")
    if params.get("wait") is False:
        return {"applied": None, "note": ""}
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        is_cancelled = True
        raise


async def prepare(editor: Editor, *arguments: object) -> None:
    """Have all of the prompt but the instruction evaluated while the user types that."""
    place = _place(editor, convert.read_params(arguments))
    if place is not None:
        editor.later(editor.session.prepare_edit(place.uri, place.start, place.end), "prepare edit")


async def _edit(editor: Editor, params: Params, goes_on: Callable[[], bool]) -> Params:
    from fim_lsp.instruct.dialogue import Edited

    place = _place(editor, params)
    preview = params.get("preview") is True
    if place is None:
        return _answer_unchanged(editor, Edited(note="the document is not open"), preview=preview)
    version = (params.get("textDocument") or {}).get("version")
    if isinstance(version, int) and version != place.cell.version:
        return _answer_unchanged(editor, Edited(note=CHANGED), preview=preview)
    progress_token = params.get("partialResultToken") if preview else None
    clock = asyncio.get_running_loop().time
    shown = (
        Preview(partial(_show, editor, place, progress_token), clock)
        if progress_token is not None
        else None
    )
    with editor.messages.working("Editing", params.get("workDoneToken")) as on_progress:

        def on_lines(lines: Sequence[str]) -> bool:
            if shown is not None:
                shown.show(lines)
            return goes_on() and on_progress(editor.messages.count_lines(len(lines)))

        result = await editor.session.edit(place.uri, _read_asked(place, params), on_lines)
    if result.lines is None:
        return _answer_unchanged(editor, result, preview=preview)
    if editor.document(place.cell.uri) is not place.cell:
        return _answer_unchanged(editor, result._replace(note=CHANGED, lines=None), preview=preview)
    return await _apply(editor, place, result, result.lines, preview=preview)


async def _apply(
    editor: Editor, place: EditPlace, result: Edited, lines: tuple[str, ...], *, preview: bool
) -> Params:
    """Apply an edit, or hand it to the client."""
    from fim_lsp.instruct import answer

    cell = place.cell
    encoding = editor.encoding
    first = result.first - place.above
    last = min(result.last - place.above, len(place.cell.lines))
    edits = [
        types.TextEdit(convert.client_range(cell, edit.start, edit.end, encoding), edit.text)
        for edit in answer.edits(cell, first, last, lines)
    ]
    if preview:
        start, end = answer.span(cell, first, last)
        return {
            "uri": cell.uri,
            "version": cell.version,
            "range": convert.client_range(cell, start, end, encoding),
            "newText": "".join(answer.add_line_ends(cell, last, lines)),
            "edits": edits,
            "note": result.note,
            "tokens": result.tokens,
        }
    whole = editor.edit_workspace(cell.uri, cell.version, *edits)
    if not await editor.apply_edit(whole, "edit by fim-lsp"):
        return _answer_unchanged(editor, result._replace(note=CHANGED), preview=False)
    return {"applied": True, "note": result.note, "tokens": result.tokens}


def _answer_unchanged(editor: Editor, result: Edited, *, preview: bool) -> Params:
    """
    Return the answer where nothing is changed; a client that shows nothing itself has its user told
    why.
    """
    if preview:
        return {"edits": [], "note": result.note, "tokens": result.tokens}
    editor.messages.show(f"fim-lsp changed nothing: {result.note}.")
    return {"applied": False, "note": result.note, "tokens": result.tokens}


def _show(
    editor: Editor, place: EditPlace, progress_token: int | str, first: int, lines: Sequence[str]
) -> None:
    """Send the lines from *first* on that are written so far."""
    value = {"line": first, "newText": "".join(line + place.cell.eol for line in lines)}
    editor.protocol.notify(types.PROGRESS, types.ProgressParams(progress_token, value))


def _place(editor: Editor, params: Params) -> EditPlace | None:
    """Return the place of the edit; None where the document is not open, or there is no range."""
    from fim_lsp.instruct import answer
    from fim_lsp.instruct.dialogue import around

    match params:
        case {"textDocument": {"uri": str(uri)}, "range": {"start": first, "end": last}}:
            cell = editor.document(uri)
            start = convert.place_of(first, cell, editor.encoding)
            end = convert.place_of(last, cell, editor.encoding)
            if cell is not None and start is not None and end is not None:
                is_whole = start.column == end.column == 0 and start.line < end.line
                is_known = params.get("again") is True and is_whole  # the range of the last answer
                if params.get("diagnostics") and not is_known:  # a fix may take more than the fault
                    lines = around(cell, start, end)
                    start, end = answer.span(cell, lines.start, lines.stop)
                whole, above = editor.notebooks.place(uri)
                return EditPlace(cell, whole, above, start.down(above), end.down(above))
    return None


def _read_asked(place: EditPlace, params: Params) -> Instruction:
    from fim_lsp.instruct.dialogue import Instruction

    messages = (
        message_text(problem.get("message"))
        for problem in params.get("diagnostics") or ()
        if isinstance(problem, dict)
    )
    problems = tuple(filter(None, messages))
    return Instruction(
        place.start,
        place.end,
        str(params.get("instruction") or "").strip(),
        problems,
        again=params.get("again") is True,
        more=params.get("more") is True,
    )


def code_actions(editor: Editor, params: types.CodeActionParams) -> list[types.CodeAction]:
    """
    Return the actions for what other servers found wrong here, at most one, and for a selection.

    None where the model cannot be asked for a change, or the editor does not apply one.
    """
    from fim_lsp.instruct.dialogue import SELECTED, fix

    state = editor.session.status().state
    uri = params.text_document.uri
    is_able = state.is_ready and not state.fills_only
    document = editor.document(uri)
    if document is None or not is_able or not editor.offers("workspace.apply_edit"):
        return []
    place: Params = {"textDocument": {"uri": document.uri, "version": document.version}}
    actions = []
    if problems := params.context.diagnostics:
        first = min(problem.range.start.line for problem in problems)
        last = max(problem.range.end.line for problem in problems)
        messages = [problem.message for problem in problems]
        asked = {
            "range": types.Range(types.Position(first, 0), types.Position(last, 0)),
            "diagnostics": [{"message": message} for message in messages],
        }
        title, _ = fix(messages)
        actions.append(_action(title, types.CodeActionKind.QuickFix, place | asked))
    if params.range.start != params.range.end:
        kind = types.CodeActionKind.RefactorRewrite
        selected = place | {"range": params.range}
        actions += [
            _action(title, kind, selected | {"instruction": words})
            for title, words in SELECTED.items()
        ]
    return actions


def _action(title: str, kind: types.CodeActionKind, params: Params) -> types.CodeAction:
    """
    Return an action that is carried out by a command; some editors wait for its answer and stand
    still, so it comes at once.
    """
    command = types.Command(title, EDIT, arguments=[{**params, "wait": False}])
    return types.CodeAction(title, kind=kind, command=command)
