"""
Answers of servers into JSON objects or into one of protocol's errors.

The statuses are llama.cpp's own (`format_error_response`, tools/server) and those that proxies,
vLLM and SGLang put in front. Messages say where an answer came from and what it means, never what
was in it: servers and proxies repeat the request in their errors, and the request is the user's
code.

A server may be broken, hostile, or no model server at all. So the size and the depth of JSON are
bounded, and every answer is converted into a declared type before anything in it is used. Messages
name the place of the fault, never the content. A value beyond RFC 8259, as servers in Python and
JavaScript write, costs nothing but itself: NaN is null, a byte that is no UTF-8 is U+FFFD, and half
a pair of surrogates is kept, because the other half may come with the next event.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from server_bridge.http.key_refusals import refusal
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    BackendUnusable,
    Health,
    PromptTooLong,
    State,
)

T = TypeVar("T")
Object = dict[str, Any]

# Tokens, slots, and token ids: 32 bits in llama.cpp.
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Octet = Annotated[int, Meta(ge=0, le=255)]

MOST_ODD = 1 << 18  # bytes: Python's reader takes ten times as long as the strict one
_NO_NUMBERS: dict[str, None] = {}  # NaN and the infinities: each is None
LABEL = 80  # characters: names of models are shorter


class UnexpectedAnswer(BackendUnavailable):
    """The server sent what no model server should send. Nothing in the answer is used."""

    cause = "unexpected answer"


class EmptyAnswer(UnexpectedAnswer):
    """The server says that all is well, and nothing else."""


class Compressed(UnexpectedAnswer):
    """The server compresses its answers, although it was asked not to."""


class Unproven(BackendUnavailable):
    """A `post` would have needed a new connection: `get` a proof of identity first, then repeat."""


def _finite(digits: str) -> float | None:
    """Return the number, None where it is beyond a double."""
    return None if math.isinf(number := float(digits)) else number


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
REFUSALS = (400, 422)  # of what a request has, and not of its address or its key
LONGEST = 2000  # characters of a refusal that are looked at
NOTHING: Mapping[str, str] = MappingProxyType({})
SIGN: Object = {"waits": True}  # a comment of a stream: the request waits its turn
# The largest answer that we ask for has the probabilities of 128 tokens (100 KB); the longest list
# of models is a gateway's (700 KB). Beyond these, JSON of brackets alone takes forty times its
# bytes.
MOST_BYTES = 2 << 20
MOST_BRACKETS = 50_000
LONGEST_WAIT_S = 300.0  # that a server may ask for; servers often recover sooner
TURN_S = 0.002  # after which others have their turn, though more has arrived
MOST_SAID = 200  # characters of a failed answer, in the log of a developer
KIND = re.compile(r"[a-z_]{1,40}")
LITELLM_BUDGET = "budget_exceeded"  # with 422: no field is at fault
TOO_LONG = {"exceed_context_size_error", "context_length_exceeded"}  # llama.cpp's and OpenAI's

# The codings that are registered, and private ones (RFC 9110, 8.4.1). Servers write other words
# there, which compress nothing: `none`, `UTF-8`.
COMPRESSION = re.compile(
    r"(?i)(?<!no-)\b(?:gzip|deflate|compress|br|zstd|lz4|xz|dc[bz]|exi|x-(?!identity)[\w-]+)\b"
)

log = logging.getLogger(__name__)


class Loading(BackendUnavailable):
    """The server is there, its model is not yet."""


class Lost(BackendTimeout):
    """The server works on nothing: the request did not reach it, or it forgot it. Ask again."""


class ServerError(BackendUnavailable):
    """
    The server answered that it failed, or has too much to do; it asks for a pause of so many
    seconds.
    """

    cause = "failed"
    retry_after_s: float = 0.0


class Stateful:
    """A backend that keeps what its failures say about the server."""

    _state: State

    @contextmanager
    def _noting_failures(self) -> Iterator[None]:
        try:
            yield
        except (BackendUnavailable, BackendUnusable) as error:
            health = Health.LOADING if isinstance(error, Loading) else Health.DOWN
            health = Health.UNUSABLE if isinstance(error, BackendUnusable) else health
            self._state = replace(self._state, health=health, message=str(error))
            raise


def is_good(status: int) -> bool:
    """Return whether a *status* says that the answer is what was asked for."""
    return OK <= status < 300  # noqa: PLR2004


async def body_of(url: str, response: Any, patience_s: float | None = None) -> bytes:
    """
    Return the body of an answer, read as far as it may be long. Raises UnexpectedAnswer where it is
    longer, asyncio.TimeoutError where it takes longer than *patience_s*.
    """
    body = bytearray()
    async with asyncio.timeout(patience_s), aclosing(pieces_of(url, response)) as pieces:
        async for piece in pieces:
            body += piece
            check_size(url, len(body), MOST_BYTES)
    return bytes(body)


def object_in(
    url: str, status: int, content: bytes, headers: Mapping[str, str] = NOTHING
) -> Object:
    """Return the JSON object in an answer, or the error it means."""
    data = parse(content)
    if is_good(status):
        if not content.strip():
            raise EmptyAnswer(f"{url} answered nothing")
        data = {"list": data} if isinstance(data, list) else data
        if not isinstance(data, dict):
            raise UnexpectedAnswer(f"{url} answered something that is not a JSON object")
        if data.get("error") and (refused := refusal(url, status, data, NOTHING)):
            raise refused
        return data
    error = data.get("error") if isinstance(data, dict) else None
    error = error if isinstance(error, dict) else {}
    failure = refusal(url, status, data, headers) or _failure(url, status, error)
    if isinstance(failure, BackendRejected):
        failure.status = status
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
    kind = str(error.get("type"))
    is_name = error.get("type") and KIND.fullmatch(kind)
    message = f"{url} answered {status}{f' ({kind})' if is_name else ''}"
    if status == 413 or TOO_LONG & {kind, str(error.get("code"))}:  # noqa: PLR2004
        sizes = (optional(Count, error.get(name)) or 0 for name in ("n_prompt_tokens", "n_ctx"))
        return PromptTooLong(*sizes)
    if status == 501:  # noqa: PLR2004
        return BackendUnusable(f"{message}: the server was started without this, see its log")
    if status == 503 and kind == "unavailable_error":  # noqa: PLR2004
        return Loading(f"{url} is loading its model")
    if status in (429, 431) or status >= 500 or kind == LITELLM_BUDGET:  # noqa: PLR2004
        return ServerError(f"{message}: see the server's log")
    return BackendRejected(message)


def parse(content: bytes) -> Any:
    """
    Return the JSON in *content*, also as Python and JavaScript write it (NaN, a byte order mark);
    None where there is none that we could have asked for.
    """
    if content.count(b"[") + content.count(b"{") > MOST_BRACKETS:
        return None
    with suppress(ValueError, RecursionError):
        with suppress(ValueError):
            return msgspec.json.decode(content)
        if len(content) <= MOST_ODD:
            text = content.decode("utf-8-sig", "replace")
            return json.loads(
                text, strict=False, parse_constant=_NO_NUMBERS.get, parse_float=_finite
            )
    return None


def check_size(url: str, n_bytes: int, most: int) -> None:
    """Raise UnexpectedAnswer where an answer has more than *most* bytes."""
    if n_bytes > most:
        raise UnexpectedAnswer(f"{url} answered more than {most >> 20} MB")


def log_probability(told: float | None) -> float | None:
    """Return a log-probability as a server tells it; rounding may lift one above 0."""
    return None if told is None else min(0.0, told)


async def pieces_of(url: str, response: Any) -> AsyncGenerator[bytes, None]:
    """
    Yield the body of an answer as it arrives.

    We ask for no compression: an answer is a few kilobytes, and a megabyte of gzip may hold a
    gigabyte. A body that is compressed all the same is not unpacked.
    """
    if COMPRESSION.search(response.headers.get("content-encoding", "")):
        raise Compressed(f"{url} compresses its answers, although it was asked not to")
    turn = time.monotonic() + TURN_S
    async with aclosing(response.aiter_raw()) as pieces:
        async for piece in pieces:
            yield piece
            if time.monotonic() > turn:  # 10,000 pieces of a byte may come at once
                await asyncio.sleep(0)
                turn = time.monotonic() + TURN_S
