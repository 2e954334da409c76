"""
LSP values into ours and back. Pure; here a position is clamped, and nowhere behind it.

Clients count columns in UTF-8 bytes, UTF-16 units or code points, whichever was agreed at
`initialize` (LSP 3.17, "PositionEncodingKind"); we count code points. A column inside a character
rounds down to its start, one past the end means the line's end, so every answer is a position
that exists. Lines of ASCII, nearly all of them, cost nothing to convert.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fim_lsp.context import grammars
from fim_lsp.display import sanitize
from fim_lsp.documents import (
    Document,
    Edit,
    Position,
    apply,
    body_length,
    difference,
    join_halves,
    well_formed,
)
from fim_lsp.events import FilesChanged, Focused, Opened, PartlyAccepted, Shown, Yanked
from fim_lsp.lsp.structure import ClientPosition, ContentChange, raw_position, types
from fim_lsp.workspace import paths
from server_bridge.protocol import Health, State

MESSAGE_CHARS = 600  # of a message: what is read in one look

_LETTERS = re.compile("[A-Za-z+#]*")

# Bytes per unit, with the codec that makes them.
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}

YANK_CHARS = 100_000  # more is a file, not a piece of one
# Of the changes in one `didChange`. More (a replacement in the whole file) become one edit:
# handling each would take longer than the user waits.
MOST_EDITS = 50


def column(line: str, units: int, encoding: str) -> int:
    """Return the code point of *line* at *units* of the client's *encoding*."""
    if line.isascii():
        return min(units, len(line))
    codec, width = _UNITS[encoding]  # U+FFFD takes as many units as a lone surrogate
    return len(well_formed(line[:units]).encode(codec)[: units * width].decode(codec, "ignore"))


def units(line: str, column: int, encoding: str) -> int:
    """
    Return how many units of the client's *encoding* the first *column* code points of *line* take.
    """
    if line.isascii():
        return min(column, len(line))
    codec, width = _UNITS[encoding]
    return len(well_formed(line[:column]).encode(codec)) // width


def position(
    lines: Sequence[str], place: types.Position | ClientPosition, encoding: str
) -> Position:
    """
    Return the client's position in *lines* as ours; a position that does not exist becomes the
    nearest that does.
    """
    if place.line >= len(lines):
        return Position(len(lines) - 1, len(lines[-1]))
    line = lines[place.line]
    return Position(place.line, min(column(line, place.character, encoding), body_length(line)))


def place_of(place: object, document: Document | None, encoding: str) -> Position | None:
    """Return the position in a command's JSON, None for none that makes sense."""
    if document is not None:
        with contextlib.suppress(ValueError):
            return position(document.lines, raw_position(place), encoding)
    return None


def client_position(document: Document, place: Position, encoding: str) -> types.Position:
    """Return our position as the client's."""
    return types.Position(place.line, units(document.lines[place.line], place.column, encoding))


def client_range(document: Document, start: Position, end: Position, encoding: str) -> types.Range:
    """Return our two positions as the client's range."""
    return types.Range(
        client_position(document, start, encoding), client_position(document, end, encoding)
    )


def edits_stepwise(
    document: Document, changes: Iterable[ContentChange], encoding: str
) -> Iterator[tuple[Edit, ...]]:
    """
    Yield the content changes of one `didChange` as edits, more than `MOST_EDITS` and a whole new
    text as one, what differs; in steps that take a moment each, of which the last one is the
    result.

    Each change is said in columns of the text that the one before left, so all must be applied here
    to know what the next one means; there is rarely more than one.
    """
    lines: list[str] = []
    result: list[Edit] = []
    is_new = False
    for change in changes:
        is_new |= change.start is None
        if result:
            lines = lines or list(document.lines)
            apply(lines, result[-1])
            yield ()
        result.append(_edit(lines or document.lines, change, encoding))
    if is_new or len(result) > MOST_EDITS:
        lines = lines or list(document.lines)
        apply(lines, result[-1])
        result = [difference(document.lines, tuple(lines))]
    yield tuple(result)


def parse_selected(document: Document, info: types.SelectedCompletionInfo, encoding: str) -> Edit:
    """
    Return the item selected in the client's completion menu: what it would replace, and by what.
    """
    ends = info.range.start, info.range.end
    start, end = (position(document.lines, place, encoding) for place in ends)
    return Edit(start, end, info.text)


def parse_open(item: types.TextDocumentItem) -> Opened:
    """
    Parse `didOpen`.

    The language is a plain string: members of `LanguageKind` hash by their names, and lsprotocol
    lets anything else pass.
    """
    said = getattr(item.language_id, "value", item.language_id)
    said = well_formed(said) if isinstance(said, str) else ""
    return Opened(item.uri, _language(said, item.uri), item.version, item.text)


def _language(said: str, uri: str) -> str:
    """
    Return the language that the file's name tells, where the client *said* none, or that one by a
    name of its own: `python-base` is a mode of Emacs, `js` an extension.
    """
    word = _LETTERS.match(said)[0].lower()  # type: ignore[index]  # it matches any text
    named = grammars.language_of(unquote(uri))
    same = {grammars.grammar_of(word), grammars.grammar_of(grammars.language_of(f".{word}"))}
    is_theirs = said and grammars.grammar_of(named) not in same
    return said if is_theirs or not named or grammars.grammar_of(said) else named


def parse_file_changes(
    params: types.DidChangeWatchedFilesParams
    | types.CreateFilesParams
    | types.RenameFilesParams
    | types.DeleteFilesParams,
) -> FilesChanged:
    """Return the URIs of the files that changed and of those that are gone."""
    match params:
        case types.CreateFilesParams(files=created):
            return FilesChanged(changed=tuple(file.uri for file in created))
        case types.DeleteFilesParams(files=deleted):
            return FilesChanged(deleted=tuple(file.uri for file in deleted))
        case types.RenameFilesParams(files=renamed):
            return FilesChanged(
                tuple(file.new_uri for file in renamed), tuple(file.old_uri for file in renamed)
            )
    gone = types.FileChangeType.Deleted
    return FilesChanged(
        tuple(change.uri for change in params.changes if change.type != gone),
        tuple(change.uri for change in params.changes if change.type == gone),
    )


def status(state: State, look_s: int = 0, quiet_until: str = "") -> dict[str, object]:
    """
    Return a backend's state as `didChangeStatus` says it: Copilot's shape, and which model it is.

    *look_s*: so many seconds the first look at a place still takes. *quiet_until*: no automatic
    suggestions until then. `trouble`: what the user is told of anyway.
    """
    usual = f"first look: {look_s} s" if look_s else f"{state.kind} {state.health.value}"
    message = state.message or (f"quiet until {quiet_until}" if quiet_until else usual)
    kind = {Health.DOWN: "Warning", Health.UNUSABLE: "Error", Health.UNKNOWN: "Inactive"}
    return {
        "kind": kind.get(state.health, "Normal"),
        "busy": state.health in (Health.LOADING, Health.BUSY),
        "state": state.health.value,
        "message": sanitize(message, MESSAGE_CHARS),
        "trouble": "" if state.health is Health.BUSY else sanitize(state.message, MESSAGE_CHARS),
        "firstLookS": look_s,
        "model": sanitize(state.model),
        "bundled": state.is_bundled,
        "quietUntil": quiet_until,
    }


def parse_yank(params: object) -> Yanked | None:
    """
    Parse `fim/didYank {textDocument?, text}`. Params of our own methods are what clients make of
    them.
    """
    match params:
        case {"text": str(text)} if len(text) <= YANK_CHARS:
            return Yanked(parse_focus(params).uri, text)
    return None


def parse_focus(params: object) -> Focused:
    """
    Parse `textDocument/didFocus {textDocument?}`; without a document the user looks at none of
    ours.
    """
    match params:
        case {"textDocument": {"uri": str(uri)}}:
            return Focused(uri)
    return Focused("")


def parse_show(params: object) -> Shown | None:
    """Parse `textDocument/didShowCompletion {item}`."""
    match params:
        case {"item": {"command": {"arguments": [str(id), *_]}}}:
            return Shown(id)
    return None


def parse_partial(params: object) -> PartlyAccepted | None:
    """
    Parse `textDocument/didPartiallyAcceptCompletion {item, acceptedLength}`, counted in UTF-16
    units.
    """
    match params:
        case {
            "item": {"command": {"arguments": [str(id), *_]}, "insertText": str(text)},
            "acceptedLength": int(length),
        } if length >= 0:
            return PartlyAccepted(id, column(text, length, "utf-16"))
    return None


def _edit(lines: Sequence[str], change: ContentChange, encoding: str) -> Edit:
    if change.start is None or change.end is None:
        return Edit(Position(0, 0), Position(len(lines), 0), change.text)
    first, last = sorted((change.start, change.end))
    start, end = (position(lines, place, encoding) for place in (first, last))
    if encoding != "utf-16":
        return Edit(start, end, change.text)
    left, before, _, _ = _halves(lines[start.line], start.column, first.character)
    _, _, behind, right = _halves(lines[end.line], end.column, last.character)
    if not before and not behind:
        return Edit(start, end, change.text)
    text = join_halves(before + change.text + behind)
    return Edit(start._replace(column=left), end._replace(column=right), text)


def _halves(line: str, column: int, n_units: int) -> tuple[int, str, str, int]:
    """
    Return the half of a character right before a place, and its column; then the half right behind
    it, and where that ends. The place is *n_units* of UTF-16 into *line*, rounded down *column*.
    """
    if column < body_length(line) and units(line, column, "utf-16") < n_units:  # in a pair
        pair = line[column].encode("utf-16-le")
        high, low = (half.decode("utf-16-le", "surrogatepass") for half in (pair[:2], pair[2:]))
        return column, high, low, column + 1
    before = line[max(0, column - 1) : column]
    behind = line[column : column + 1]
    before = before if "\ud800" <= before <= "\udbff" else ""
    behind = behind if "\udc00" <= behind <= "\udfff" else ""
    return column - len(before), before, behind, column + len(behind)


def first_text(arguments: tuple[object, ...], default: str = "") -> str:
    """Return the first argument of a command, *default* where it is no text."""
    return arguments[0] if arguments and isinstance(arguments[0], str) else default


def read_params(arguments: tuple[object, ...]) -> dict[str, Any]:
    """Return the first argument of a command, which is an object; an empty one where it is not."""
    return arguments[0] if arguments and isinstance(arguments[0], dict) else {}


def parse_roots(params: types.InitializeParams) -> tuple[str, ...]:
    """Return the root folders that are on this machine; `rootUri` where no other is."""
    root = Path(params.root_path or "")
    only = params.root_uri or (root.as_uri() if root.is_absolute() else "")
    folders = (folder.uri for folder in params.workspace_folders or ())
    return paths.on_disk(tuple(folders)) or paths.on_disk((only,))
