"""
JSON from servers into values of the shape it must have, or an error of protocol's. Pure.

A server may be broken, hostile, or no model server at all. So JSON is read strictly (RFC 8259: no NaN,
no Infinity; no number beyond a double, no deep nesting), and every answer is converted into a declared
type before anything in it is used. Messages name the place of the fault, never the content.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from server_bridge.protocol import BackendUnavailable

T = TypeVar("T")
Object = dict[str, Any]

Count = Annotated[
    int, Meta(ge=0, le=2**31 - 1)
]  # tokens, slots, and token ids: 32 bits in llama.cpp
Octet = Annotated[int, Meta(ge=0, le=255)]

LABEL = 80  # characters: names of models are shorter


class UnexpectedAnswer(BackendUnavailable):
    """The server sent what no model server should send. Nothing in the answer is used."""


def decode_json(content: bytes) -> Any:
    """Return the JSON value in *content*. Raises ValueError where it is none, or one that no server needs."""
    try:
        return msgspec.json.decode(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read(kind: type[T], value: object, source: str) -> T:
    """Return *value* as a *kind*. Raises UnexpectedAnswer, which names *source*, where it has another shape."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise answer_error(source, str(error)) from None


def optional(kind: type[T], value: object) -> T | None:
    """Return *value* as a *kind*; None where it has another shape and can be done without."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def answer_error(source: str, why: str) -> UnexpectedAnswer:
    """Return the error that says that *source* is not to be relied on."""
    return UnexpectedAnswer(f"{source} sent an unexpected answer ({why})")


def label(name: str) -> str:
    """Return a name that a server gave, fit for a message: one line, of bounded length."""
    return "".join(c if c.isprintable() else "?" for c in name[:LABEL])
