"""
Answers of servers into JSON objects or into one of protocol's errors.

The statuses are llama.cpp's own (`format_error_response`, tools/server) and those that proxies,
vLLM and SGLang put in front. Messages say where an answer came from and what it means, never what
was in it: servers and proxies repeat the request in their errors, and the request is the user's
code.

A server may be broken, hostile, or no model server at all. So JSON is read strictly (RFC 8259: no
NaN, no Infinity; no number beyond a double, no deep nesting), and every answer is converted into a
declared type before anything in it is used. Messages name the place of the fault, never the
content.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendUnavailable,
    BackendUnusable,
    Health,
    PromptTooLong,
    State,
)

T = TypeVar("T")
Object = dict[str, Any]

Count = Annotated[
    int, Meta(ge=0, le=2**31 - 1)
]  # tokens, slots, and token ids: 32 bits in llama.cpp
Octet = Annotated[int, Meta(ge=0, le=255)]

LABEL = 80  # characters: names of models are shorter


class UnexpectedAnswer(BackendUnavailable):
    """The server sent what no model server should send. Nothing in the answer is used."""

    cause = "unexpected answer"


def decode_json(content: bytes) -> Any:
    """
    Return the JSON value in *content*. Raises ValueError where it is none, or one that no server
    needs.
    """
    try:
        return msgspec.json.decode(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read(kind: type[T], value: object, source: str) -> T:
    """
    Return *value* as a *kind*. Raises UnexpectedAnswer, which names *source*, where it has another
    shape.
    """
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


OK = 200
NOTHING: Mapping[str, str] = MappingProxyType({})
# The largest answer that we ask for has the probabilities of 128 tokens (100 KB); the longest list
# of models is a gateway's (700 KB). Beyond these, JSON of brackets alone takes forty times its
# bytes.
MOST_BYTES = 2 << 20
MOST_BRACKETS = 50_000
BYTES_PER_S = 1 << 17  # of a stream: 500 tokens, with what servers say of each
LONGEST_WAIT_S = 300.0  # that a server may ask for; servers often recover sooner
TURN_S = 0.002  # after which others have their turn, though more has arrived
MOST_SAID = 200  # characters of a failed answer, in the log of a developer
KIND = re.compile(r"[a-z_]{1,40}")

log = logging.getLogger(__name__)


class Loading(BackendUnavailable):
    """The server is there, its model is not yet."""


class ServerError(BackendUnavailable):
    """
    The server answered that it failed, or has too much to do; it asks for a pause of so many
    seconds.
    """

    cause = "failed"
    retry_after_s: float = 0.0


class Refused(BackendUnusable):
    """The key is not the right one."""

    cause = "key"


def state_after(state: State, error: BackendError) -> State:
    """Return the state of the server after a failure."""
    causes: dict[type[BackendError], Health] = {
        Loading: Health.LOADING,
        BackendUnavailable: Health.DOWN,
        BackendUnusable: Health.UNUSABLE,
    }
    health_after = next(
        (health for kind, health in causes.items() if isinstance(error, kind)), None
    )
    return replace(state, health=health_after, message=str(error)) if health_after else state


async def body_of(url: str, response: Any) -> bytes:
    """
    Return the body of an answer, read as far as it may be long. Raises UnexpectedAnswer where it is
    longer.
    """
    body = bytearray()
    async with aclosing(_pieces(url, response)) as pieces:
        async for piece in pieces:
            body += piece
            _check_size(url, len(body), MOST_BYTES)
    return bytes(body)


async def events_in(url: str, response: Any, patience_s: float) -> AsyncGenerator[Object, None]:
    """
    Yield the events of a stream; comments (keep-alives) are left out.

    Raises asyncio.TimeoutError where one event trickles for more than *patience_s*,
    UnexpectedAnswer where all of them are more than a model could have written in the time. The
    *response* limits the wait for each piece.
    """
    kind = response.headers.get("content-type", "")
    if response.status_code != OK or not kind.startswith("text/event-stream"):
        body = await asyncio.wait_for(body_of(url, response), patience_s)
        yield object_in(url, response.status_code, body, response.headers)
        return
    started = last = time.monotonic()
    begun: list[bytes] = []  # of the line that goes on
    n_bytes = 0
    async with aclosing(_pieces(url, response)) as pieces:
        async for piece in pieces:
            n_bytes += len(piece)
            now = time.monotonic()
            _check_size(url, n_bytes, MOST_BYTES + int(BYTES_PER_S * (now - started)))
            *lines, rest = piece.split(b"\n")
            if lines:
                lines[0] = b"".join((*begun, lines[0]))
                begun.clear()
            begun.append(rest)
            for event in _read_events(url, lines):
                yield event
                last = now = time.monotonic()
            if now > last + patience_s:
                raise TimeoutError
    for event in _read_events(url, [b"".join(begun)]):
        yield event


def object_in(
    url: str, status: int, content: bytes, headers: Mapping[str, str] = NOTHING
) -> Object:
    """Return the JSON object in an answer, or the error it means."""
    data = _parse(content)
    if status == OK:
        data = {"list": data} if isinstance(data, list) else data
        if not isinstance(data, dict):
            raise UnexpectedAnswer(f"{url} answered something that is not a JSON object")
        return data
    error = data.get("error") if isinstance(data, dict) else None
    error = error if isinstance(error, dict) else {}
    failure = _failure(url, status, error)
    if isinstance(failure, ServerError):
        failure.retry_after_s = seconds_of(headers.get("retry-after", ""))
    failure.server_text = str(error.get("message") or content.decode("utf-8", "replace"))
    log.debug(
        "answer.failed url=%s status=%d said=%r", url, status, failure.server_text[:MOST_SAID]
    )
    raise failure


def seconds_of(retry_after: str) -> float:
    """
    Return how long a `Retry-After` asks to wait (RFC 9110, 10.2.3): seconds, or until a time; no
    longer than is sane.
    """
    try:
        if retry_after.isdecimal():
            seconds = float(retry_after[:9])
        else:
            seconds = parsedate_to_datetime(retry_after).timestamp() - time.time()
    except (ValueError, OverflowError, TypeError):
        return 0.0
    return min(max(0.0, seconds), LONGEST_WAIT_S)


def _failure(url: str, status: int, error: Object) -> BackendError:
    """
    Return the error for an answer with a *status* other than 200; *error* is llama.cpp's object, if
    any.
    """
    kind = error.get("type")
    is_name = isinstance(kind, str) and KIND.fullmatch(kind)
    message = f"{url} answered {status}{f' ({kind})' if is_name else ''}"
    if status in (401, 403):
        return Refused(
            f"{url} refused the API key: say where it is in fim.backend.apiKeyEnv, "
            "apiKeyFile or apiKeyCommand"
        )
    if kind == "exceed_context_size_error":
        sizes = (optional(Count, error.get(name)) or 0 for name in ("n_prompt_tokens", "n_ctx"))
        return PromptTooLong(*sizes)
    if status == 501:  # noqa: PLR2004
        return BackendUnusable(f"{message}: the server was started without this, see its log")
    if status == 503 and kind == "unavailable_error":  # noqa: PLR2004
        return Loading(f"{url} is loading its model")
    if status == 429 or status >= 500:  # noqa: PLR2004
        return ServerError(f"{message}: see the server's log")
    return BackendRejected(message)


def _parse(content: bytes) -> Any:
    """Return the JSON in *content*, None where there is none that we could have asked for."""
    if content.count(b"[") + content.count(b"{") > MOST_BRACKETS:
        return None
    try:
        return decode_json(content)
    except ValueError:
        return None


def _read_events(url: str, lines: Iterable[bytes]) -> Iterator[Object]:
    """Yield the objects in the lines of a stream."""
    for line in lines:
        if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
            yield object_in(url, OK, line[5:])


def _check_size(url: str, n_bytes: int, most: int) -> None:
    if n_bytes > most:
        raise UnexpectedAnswer(f"{url} answered more than {most >> 20} MB")


async def _pieces(url: str, response: Any) -> AsyncGenerator[bytes, None]:
    """
    Yield the body of an answer as it arrives.

    We ask for no compression: an answer is a few kilobytes, and a megabyte of gzip may hold a
    gigabyte. What is compressed all the same is not unpacked.
    """
    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise UnexpectedAnswer(f"{url} compresses its answers, although it was asked not to")
    turn = time.monotonic() + TURN_S
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            yield piece
            if time.monotonic() > turn:  # 10,000 pieces of a byte may come at once
                await asyncio.sleep(0)
                turn = time.monotonic() + TURN_S
