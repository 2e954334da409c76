"""
Raw messages into LSP's types, which are imported fast.

A client may be newer than lsprotocol, or wrong, in a field that we do not need: an optional field
that cannot be read is left out, and so is an item of a list. A required field is not, and no change
of a text: the text would be another one from then on.

lsprotocol defines some 500 classes; for each, attrs compiles a `__repr__` and an `__eq__` that are
never called, and makes slots. Without these, the answer to `initialize` comes 140 ms earlier.
"""

from __future__ import annotations

import enum
import functools
import logging
from collections.abc import Callable
from typing import Any, NamedTuple, get_args, get_type_hints

import attrs

from fim_lsp.display import sanitize

_define = attrs.define
attrs.define = functools.partial(_define, repr=False, eq=False, slots=False)
try:
    from cattrs import Converter
    from cattrs.cols import is_sequence
    from lsprotocol import types
    from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, default_converter
finally:
    attrs.define = _define

__all__ = ["types"]

WHY_CHARS = 100  # of what is wrong with a field, in the log

log = logging.getLogger(__name__)


class Malformed(ValueError):
    """A value that cannot be read, and may not be left out either."""


class ClientPosition(NamedTuple):
    """A position in the client's units, as LSP's `Position`; made in a tenth of the time."""

    line: int
    character: int


class ContentChange(NamedTuple):
    """
    LSP's `TextDocumentContentChangeEvent`: *start* and *end* of what *text* replaces, None for the
    whole document.
    """

    start: ClientPosition | None
    end: ClientPosition | None
    text: str


def content_change(raw: object) -> ContentChange:
    """Parse one change of a `didChange`, of which there may be thousands; raises Malformed."""
    match raw:
        case {"range": {"start": start, "end": end}, "text": str(text)}:
            return ContentChange(raw_position(start), raw_position(end), text)
        case {"text": str(text), **others} if others.get("range") is None:
            return ContentChange(None, None, text)
    raise Malformed("a content change has a text, and a range or none")


def raw_position(raw: object) -> ClientPosition:
    """Parse a position; raises Malformed."""
    match raw:
        case {"line": int(line), "character": int(character)} if line >= 0 and character >= 0:
            return ClientPosition(line, character)
    raise Malformed("a position has a line and a character")


def make_converter() -> Converter:
    """Return pygls' converter, but tolerant; params of unknown methods stay as they are."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]

    def call(data: dict[str, Any], kind: Callable[..., object]) -> object:
        names = data.keys() & {"id", "method", "jsonrpc"}
        return kind(**{name: data[name] for name in names}, params=data.get("params"))

    # `types.TextDocumentContentChangeEvent` itself names two classes: it is not the params' type.
    (change,) = get_args(get_type_hints(types.DidChangeTextDocumentParams)["content_changes"])
    converter.register_structure_hook(change, lambda data, _: content_change(data))
    converter.register_structure_hook(JsonRPCRequestMessage, call)
    converter.register_structure_hook(JsonRPCNotification, call)
    for kind in (bool, int, str):
        converter.register_structure_hook(kind, _read_value)
    converter.register_structure_hook_factory(is_sequence, lambda of: _list_hook(of, converter))
    converter.register_structure_hook_factory(attrs.has, lambda of: _class_hook(of, converter))
    return converter


def find_capability(capabilities: object, path: str) -> Any:
    """Return what a client declares at a dotted *path* of its capabilities, None for nothing."""
    for name in path.split("."):
        capabilities = getattr(capabilities, name, None)
    return capabilities


def move_token(call: dict[str, Any]) -> None:
    """
    Put a token where handlers get it: that of a partial result, which LSP 3.18 has not for inline
    completions, in place of the other one; that of a command into its first argument.
    """
    match call:
        case {"method": types.TEXT_DOCUMENT_INLINE_COMPLETION, "params": dict(params)}:
            token = params.get("partialResultToken")
            params["workDoneToken"] = token if isinstance(token, int | str) else None
        case {
            "method": types.WORKSPACE_EXECUTE_COMMAND,
            "params": {"workDoneToken": token, "arguments": [dict(first), *_]},
        } if token is not None:
            first["workDoneToken"] = token


def describe(error: Exception) -> str:
    """Return what is wrong, in one line for the log."""
    return sanitize(str(error) or type(error).__name__, WHY_CHARS)


def _read_value(raw: Any, kind: type) -> object:
    """
    Return a value that has the type of its field: Python would take any for a text or a flag.

    A member of an enumeration is found by its value. Clients whose language knows one kind of
    number only say 1.0 for 1.
    """
    if issubclass(kind, enum.Enum):
        return kind(raw)
    if kind is int and type(raw) is float and raw.is_integer():
        return int(raw)
    if type(raw) is not kind:
        raise ValueError(f"is no {kind.__name__}")
    return raw


def _list_hook(of: Any, converter: Converter) -> Callable[[object, object], object]:
    """Return what reads a list and leaves out the items that cannot be read."""
    (kind,) = get_args(of) or (Any,)
    read = converter.get_structure_hook(kind)

    def structure(raw: object, _: object) -> object:
        if not isinstance(raw, list):
            raise ValueError("is no list")  # noqa: TRY004 (of JSON)
        items = []
        why = ""
        for item in raw:
            try:
                items.append(read(item, kind))
            except Malformed:
                raise
            except Exception as error:  # noqa: BLE001 (hooks raise anything)
                why = describe(error)
        if why:
            log.info("left out %d of %d items: %s", len(raw) - len(items), len(raw), why)
        return tuple(items)

    return structure


def _class_hook(of: type[attrs.AttrsInstance], converter: Converter) -> Callable[..., object]:
    """Return what reads an object of JSON and leaves out optional fields that cannot be read."""
    fields = {_camel_case(field.name): field for field in attrs.fields(of)}
    required = {name for name, field in fields.items() if field.default is attrs.NOTHING}

    def structure(raw: object, _: object) -> object:
        if not isinstance(raw, dict):
            raise ValueError("is no object")  # noqa: TRY004 (of JSON)
        if missing := required - raw.keys():
            raise ValueError(f"has no {min(missing)}")
        values = {}
        for name in raw.keys() & fields.keys():
            field = fields[name]
            try:
                value = converter.structure(raw[name], field.type)
                if field.validator is not None:
                    field.validator(None, field, value)
                values[field.name] = value
            except Malformed:
                raise
            except Exception as error:  # noqa: BLE001 (hooks raise anything)
                if name in required:
                    raise ValueError(f"{name}: {describe(error)}") from None
                log.info("left out %s of %s: %s", name, of.__name__, describe(error))
        return of(**values)

    return structure


def _camel_case(name: str) -> str:
    """Return a field's name as it is in JSON."""
    first, *others = name.removesuffix("_").split("_")
    return first + "".join(map(str.title, others))
