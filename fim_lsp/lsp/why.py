"""
"Why no suggestion here?", answered by the session at work, for the text on screen: `fim/why`, and the command `fim.why`.

How the last request at the place ended is known. Without one the session is asked as while the user types.
"""

from __future__ import annotations

from typing import Any, cast

from fim_lsp.documents import Document, Position
from fim_lsp.lsp import convert
from fim_lsp.lsp.editor import Answered, Editor
from fim_lsp.lsp.types import types
from fim_lsp.suggest.outcome import notice, report
from fim_lsp.suggest.request import Client

METHOD = "fim/why"


async def why(editor: Editor, params: object) -> str:
    """Return the reason in words, for `{"uri", "position"}`."""
    given = params if isinstance(params, dict) else {}
    uri = str(given.get("uri") or editor.current)
    document = editor.document(uri)
    if document is None:
        return "The server does not have this text: the file is too large, or not open."
    place = convert.place_of(given.get("position"), document, editor.encoding)
    position = place or Position(len(document.lines) - 1, 0)
    last = editor.answered
    if (last.uri, last.version, last.position) != (uri, document.version, position):
        last = await _ask(editor, document, position)
    backend = cast("dict[str, Any]", editor.session.stats()["backend"])
    answer, note, rarer = last.answer, notice(backend), editor.session.quiet.why()
    text = answer.suggestions[0].text if answer.suggestions else ""
    said = report(text, answer.outcome, answer.reason, by_hand=last.by_hand)
    title = "By hand" if last.by_hand else "While typing"
    lines = [f"{title} {said}"]
    lines += [f"The model: {note}"] if note and note not in said else []
    lines += [f"Rarer now: {rarer}."] if rarer else []
    return "\n".join(lines)


async def _ask(editor: Editor, document: Document, position: Position) -> Answered:
    """Make a request at *position* that shows nothing, and return how it ended."""
    uri, first = editor.notebooks.place(document.uri)
    lower = position._replace(line=position.line + first)
    client = Client(offers=False, cancels=False)  # the user wants to know soon
    answer = await editor.session.complete(uri, lower, invoked=False, client=client)
    editor.answered = Answered(document.uri, document.version, position, False, answer)
    return editor.answered


async def command(editor: Editor, *arguments: object) -> str:
    """Show the reason to the user."""
    reason = await why(editor, arguments[0] if arguments else None)
    editor.messages.show(types.MessageType.Info, reason)
    return reason


COMMANDS = (("fim.why", command),)
