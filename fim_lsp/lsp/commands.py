"""
Commands of the editor into calls of the session: accept, switch off and on, be quiet, look inside,
say why.

They accept any arguments, and answer in words for editors that show no results.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, cast

from fim_lsp.documents import Document, Position
from fim_lsp.events import Accepted, Dismissed, Snoozed
from fim_lsp.lsp import convert, watchdog
from fim_lsp.lsp.editor import Editor
from fim_lsp.lsp.rpc import types
from fim_lsp.settings import files
from fim_lsp.suggest.reasons import notice, report
from server_bridge.machine import private_files
from server_bridge.machine.disks import in_disk_thread

TOGGLE = "fim.toggle"
DAY_S = 24 * 3600.0


def accept(editor: Editor, *arguments: object) -> None:
    """Note that an item was inserted."""
    editor.forward(Accepted(convert.first_text(arguments)))


def toggle(editor: Editor, *_: object) -> bool:
    """
    Switch suggestions while typing off or on, until the server ends; returns whether they are on
    where the user is: a project may keep them off.
    """
    wanted = not _is_auto(editor)
    editor.sources.say(TOGGLE, {"completion": {"auto": wanted}})
    editor.configure()
    on = _is_auto(editor)
    off = "off, as this project's .fim-lsp.toml says" if wanted else "off"
    word = "on" if on else f"{off}; you can still ask by hand"
    editor.messages.show(f"Automatic suggestions are {word}.")
    return on


def _is_auto(editor: Editor) -> bool:
    return editor.session.config_of(editor.session.last_uri).completion.auto


def status(editor: Editor, *_: object) -> str:
    """Return the state of the session in one line."""
    session = editor.session
    now = status_now(editor, None)
    auto = _is_auto(editor)
    counts = session.stats()
    line = ", ".join((
        f"{now['model'] or 'no model'}: {now['message']}",
        f"automatic suggestions {'on' if auto else 'off'}",
        f"{counts['accepted']} of {counts['shown']} accepted",
    ))  # fmt: skip
    editor.messages.show(line)
    return line


async def show_context(editor: Editor, *arguments: object) -> dict[str, object]:
    """
    Return the prompt of a document (its URI, or the one asked about last), part by part.

    Editors that can open documents open it to read, too; where the local port is open, its page in
    a browser.
    """
    uri = convert.first_text(arguments, editor.session.last_uri)
    shown = await editor.session.report(editor.notebooks.place(uri)[0])
    if editor.offers("window.show_document.support"):
        if editor.page.is_open:
            url = await editor.page.url(editor.session, editor.roots)
            editor.later(editor.show_document(url, external=True))
        else:
            editor.later(_open_text(editor, shown.text))
    return {"note": shown.note, "segments": [part._asdict() for part in shown.segments]}


async def open_page(editor: Editor, *_: object) -> str:
    """
    Return the address of the page that shows what the server does, opened in the user's browser
    where the editor can.
    """
    url = await editor.page.url(editor.session, editor.roots)
    if url and editor.offers("window.show_document.support"):
        editor.later(editor.show_document(url, external=True))
    elif url:
        editor.messages.show(f"The page of fim-lsp is at {url}")
    else:
        editor.messages.show("fim-lsp cannot open a port: see its log", types.MessageType.Error)
    return url


async def _open_text(editor: Editor, text: str) -> None:
    """Show *text* in the editor, from a file that only this user may read."""
    path = files.cache_folder() / files.PAGE
    with contextlib.suppress(OSError):
        await in_disk_thread(private_files.write, path, text.encode(errors="replace"))
        await editor.show_document(path.as_uri(), take_focus=True)


async def continue_long(editor: Editor, *arguments: object) -> dict[str, object]:
    """
    Write a long text at a place (`{"uri", "position"}`; without, where a suggestion was asked for
    last).

    The text is inserted in one piece, so one undo takes it back, and is in the answer, too. Typing
    ends it, and so do another such text and the editor's button to cancel, which keeps what came so
    far. A message says what came of it.
    """
    cell, uri, above, place = _find_place(editor, convert.read_params(arguments))
    document = editor.session.document(uri)
    mine = editor.long_texts.claim("")
    with editor.messages.working("Writing") as on_progress:

        def go_on(so_far: str) -> bool:
            lines = editor.messages.count_lines(so_far.count("\n") + 1)
            return mine.is_newest and on_progress(lines)

        start, text, note = await editor.session.continue_long(uri, place, go_on)
    if not mine.is_newest:
        text = ""
        note = "you asked for another text"
    edit = None
    if document is not None and cell is not None and text:
        at = convert.client_position(document, start, editor.encoding)
        at = types.Position(at.line - above, at.character)
        insertion = types.TextEdit(types.Range(at, at), text.replace("\n", cell.eol))
        edit = editor.edit_workspace(cell.uri, cell.version, insertion)
    editor.later(_insert(editor, edit, text, note))
    return {"text": text, "note": note}


def _find_place(
    editor: Editor, params: Mapping[str, Any]
) -> tuple[Document | None, str, int, Position | None]:
    """
    Return the cell (or document) that *params* name, else that of the last request; the document
    that it is part of, and the line where it begins there; and the position there, if any.
    """
    uri = str(params.get("uri") or editor.session.last_uri)
    cell = editor.document(uri)
    whole, above = editor.notebooks.place(uri)
    place = convert.place_of(params.get("position"), cell, editor.encoding)
    return cell, whole, above, place and place.down(above)


async def _insert(editor: Editor, edit: types.WorkspaceEdit | None, text: str, note: str) -> None:
    """Have the editor insert a long text, and say what came of it."""
    if edit is not None and not await editor.apply_edit(edit, "text by fim-lsp"):
        message = "fim-lsp inserted nothing: the text was changed meanwhile"
    else:
        wrote = editor.messages.count_lines(text.count("\n") + 1) if text else "nothing"
        message = f"fim-lsp wrote {wrote}" + (f": {note}" if note else "")
    editor.messages.show(message)


def status_now(editor: Editor, _: object) -> dict[str, object]:
    """Answer `fim/status`: what `didChangeStatus` would say now."""
    return convert.status(*editor.session.status())


def stats(editor: Editor, _: object) -> dict[str, object]:
    """Answer `fim/stats`: counters since the start, as one object."""
    return editor.session.stats()


def snooze(editor: Editor, *arguments: object) -> str:
    """
    Stop automatic suggestions for some minutes: a number, or `{"minutes"}`; return until when, ""
    where they come.
    """
    editor.session.handle(parse_snooze(arguments))
    return _show_until(editor)


def resume(editor: Editor, *_: object) -> str:
    """Suggest again at once."""
    editor.session.handle(Snoozed(0))
    return _show_until(editor)


def dismiss(editor: Editor, *arguments: object) -> None:
    """Note that the user hid the suggestion in a document (its URI)."""
    editor.session.handle(Dismissed(editor.notebooks.place(convert.first_text(arguments))[0]))


def parse_snooze(arguments: tuple[object, ...]) -> Snoozed:
    """Read the minutes, a number or a text; the usual number where neither makes sense."""
    value = arguments[0] if arguments else None
    if isinstance(value, dict):
        value = value.get("minutes")
    try:
        minutes = float(value) if isinstance(value, int | float | str) else -1.0
    except (ValueError, OverflowError):
        return Snoozed()
    return Snoozed(minutes) if minutes >= 0 else Snoozed()  # NaN is neither


def _show_until(editor: Editor) -> str:
    """Tell the user, who may have no status line."""
    until = editor.session.status().quiet_until
    off = f"No automatic suggestions until {until}; you can still ask by hand."
    editor.messages.show(off if until else "Automatic suggestions are on again.")
    return until


async def why(editor: Editor, params: object) -> str:
    """Return the reason in words, for `{"uri", "position"}`; else for the last request."""
    query = params if isinstance(params, dict) else {}
    cell, uri, _, place = _find_place(editor, query)
    if cell is None:
        return "The server does not have this text: the file is too large, or not open."
    last = await editor.session.explain(uri, place)
    stats = cast("dict[str, dict[str, Any]]", editor.session.stats())
    answer = last.answer
    note = notice(stats["backend"])
    rarer = stats["quiet"]["why"]
    text = answer.suggestions[0].text if answer.suggestions else ""
    answer_text = report(text, answer.end.key, answer.end.words, by_hand=last.by_hand)
    lines = [answer_text]
    lines += [f"The model: {note}"] if note and note not in answer_text else []
    lines += [f"Rarer now: {rarer}."] if rarer else []
    ended = await in_disk_thread(watchdog.describe_last_end, files.cache_folder(), DAY_S)
    lines += [f"Earlier, {ended}."] if ended else []
    return "\n".join(lines)


async def show_reason(editor: Editor, *arguments: object) -> str:
    """Show the reason to the user."""
    reason = await why(editor, arguments[0] if arguments else None)
    editor.messages.show(reason)
    return reason
