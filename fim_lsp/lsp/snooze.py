"""
"Not now": commands into a session that is quiet for some minutes, and a dismissed suggestion into rarer ones.

The client is shown until when, and again when it is over.
"""

from __future__ import annotations

from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.types import types
from fim_lsp.session.quietness import MINUTES


def snooze(editor: Editor, *arguments: object) -> str:
    """
    Stop automatic suggestions for some minutes: a number, or `{"minutes"}`; return until when, ""
    where they come.
    """
    editor.session.snooze(minutes_in(arguments))
    return _show(editor)


def resume(editor: Editor, *_: object) -> str:
    """Suggest again at once."""
    editor.session.snooze(0)
    return _show(editor)


def dismiss(editor: Editor, *arguments: object) -> None:
    """Take in that the user hid the suggestion in a document (its URI)."""
    if arguments and isinstance(arguments[0], str):
        editor.session.dismiss(editor.notebooks.place(arguments[0])[0])


def minutes_in(arguments: tuple[object, ...]) -> float:
    """Return the minutes that a client says, as a number or as text; `MINUTES` where it says none that make sense."""
    said = arguments[0] if arguments else None
    if isinstance(said, dict):
        said = said.get("minutes")
    try:
        minutes = float(said) if isinstance(said, int | float | str) else MINUTES
    except (ValueError, OverflowError):
        return MINUTES
    return minutes if minutes >= 0 else MINUTES  # NaN is neither


def _show(editor: Editor) -> str:
    """Tell the user, who may have no status line."""
    until = editor.session.quiet.until
    words = (
        f"No automatic suggestions until {until}; you can still ask by hand."
        if until
        else "Automatic suggestions are on again."
    )
    editor.messages.show(types.MessageType.Info, words)
    return until


COMMANDS = (
    ("fim.snooze", snooze),
    ("fim.resume", resume),
    ("fim.didDismissCompletion", dismiss),
)
