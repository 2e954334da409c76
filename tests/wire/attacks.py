"""What a hostile or broken server does with one answer."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from tests.server_bridge.odd import ODD, places, with_odd
from tests.wire.network import Reset
from tests.wire.servers import Answer, written

Pieces = AsyncGenerator[bytes, None]
Attack = Callable[[Answer, random.Random], Pieces]

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
LATE_S = (0.3, 1.3, 3.0, 8.0, 40.0)
NUMBERS = itertools.count(1)


async def silent(_: Answer, __: random.Random) -> Pieces:
    await asyncio.Event().wait()
    yield b""


async def lie(answer: Answer, _: random.Random) -> Pieces:
    """No text, and slots that are busy all the same."""
    if answer.events is not None:
        await asyncio.Event().wait()
    if isinstance(answer.body, list):
        busy = [{**slot, "is_processing": True} for slot in answer.body]
        answer = replace(answer, body=busy)
    async for piece in written(answer):
        yield piece


async def reset(_: Answer, __: random.Random) -> Pieces:
    raise Reset
    yield b""


async def close(_: Answer, __: random.Random) -> Pieces:
    return
    yield b""


async def noise(_: Answer, rng: random.Random) -> Pieces:
    yield rng.randbytes(300)


async def headers(_: Answer, __: random.Random) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        await asyncio.sleep(0.1)
        yield b"X-Name: value\r\n" * 50


async def go_on(_: Answer, __: random.Random) -> Pieces:
    while True:
        await asyncio.sleep(0.1)
        yield b"HTTP/1.1 100 Continue\r\n\r\n"


async def late(answer: Answer, rng: random.Random) -> Pieces:
    await asyncio.sleep(rng.choice(LATE_S))
    async for piece in written(answer):
        yield piece


async def queued(answer: Answer, _: random.Random) -> Pieces:
    """Comments for a while, as of a request that waits its turn, or whose prompt is evaluated."""
    if answer.events is not None:
        yield STREAM
        async with aclosing(answer.events) as events:
            begun = await anext(events)
            for _n in range(40):
                await asyncio.sleep(1.0)
                yield b": wait\n\n"
            yield b"data: %s\n\n" % json.dumps(begun).encode()
            async for event in events:
                yield b"data: %s\n\n" % json.dumps(event).encode()
        yield b"data: [DONE]\n\n"
    else:
        async for piece in written(answer):
            yield piece


async def drip(answer: Answer, rng: random.Random) -> Pieces:
    pause_s = rng.choice((0.01, 0.3, 2.0))
    size = rng.choice((7, 90))
    async for piece in written(answer):
        for at in range(0, len(piece), size):
            await asyncio.sleep(pause_s)
            yield piece[at : at + size]


async def half(answer: Answer, rng: random.Random) -> Pieces:
    n = rng.randrange(9)
    end = rng.choice((silent, reset, close, noise))
    async for piece in written(answer):
        n -= 1
        yield piece if n >= 0 else piece[: len(piece) // 2]
        if n < 0:
            break
    async for piece in end(answer, rng):
        yield piece


async def wrong_length(answer: Answer, rng: random.Random) -> Pieces:
    length = rng.choice((0, 5, 10**6, 10**30, -1))
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % length
    body = json.dumps(answer.body).encode()
    yield head + (b'data: {"content": "x"}\n\n' if answer.events else body)


async def wrong_chunks(_: Answer, rng: random.Random) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield rng.choice((b"zz\r\n", b"ffffffffff\r\n", b"5\r\n{}\r\n0\r\n\r\n", b"-1\r\n"))


async def large(_: Answer, rng: random.Random) -> Pieces:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    piece = rng.choice((b" ", b"[", b'data: {"content": "', b"data: {}\n")) * (1 << 15)
    for _n in range(200):
        yield piece[: 1 << 15]


async def cookies(answer: Answer, _: random.Random) -> Pieces:
    name = f"name{next(NUMBERS)}"
    return_ = {f"Set-Cookie: {name}_{n}={'v' * 40}\r\nX-{n}": "" for n in range(200)}
    async for piece in written(replace(answer, headers=return_)):
        yield piece


async def odd(answer: Answer, rng: random.Random) -> Pieces:
    """One value of a body, and of each fourth event, is another."""

    def spoil(value: Any) -> Any:
        return with_odd(value, rng.choice([*places(value)]), rng.choice(ODD))

    async def events(honest: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        async for event in honest:
            yield spoil(event) if rng.random() < 0.25 else event

    if answer.events is not None:
        answer = replace(answer, events=events(answer.events))
    else:
        answer = replace(answer, body=spoil(answer.body))
    async for piece in written(answer):
        yield piece


def status(code: int, kind: str = "", **more: str) -> Attack:
    """Return the attack of a status with an error of a *kind*."""

    async def attack(_: Answer, __: random.Random) -> Pieces:
        body = {"error": {"code": code, "type": kind, "message": kind}}
        async for piece in written(Answer(code, body, headers=more)):
            yield piece

    return attack


def forever(piece: bytes | Callable[[int], Any], pause_s: float, *, after: int = 0) -> Attack:
    """Return the attack of a stream that has *piece* each *pause_s*, behind some honest events."""

    async def attack(answer: Answer, _: random.Random) -> Pieces:
        yield STREAM
        if after and answer.events is not None:
            async with aclosing(answer.events) as events:
                for _n in range(after):
                    yield b"data: %s\n\n" % json.dumps(await anext(events, {})).encode()
        for n in itertools.count():
            await asyncio.sleep(pause_s)
            yield (
                piece
                if isinstance(piece, bytes)
                else b"data: %s\n\n" % json.dumps(piece(n)).encode()
            )

    return attack


def events(change: Callable[[Any, random.Random], None]) -> Attack:
    """Return the attack that changes each event."""

    async def attack(answer: Answer, rng: random.Random) -> Pieces:
        async def all_changed(honest: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
            async for event in honest:
                change(event, rng)
                yield event

        if answer.events is not None:
            answer = replace(answer, events=all_changed(answer.events))
        async for piece in written(answer):
            yield piece

    return attack


def text(said: str) -> Callable[[int], Any]:
    """Return what makes events with a text, as both kinds of servers write them."""
    return lambda n: {
        "content": said, "tokens": [n % 9 + 1] * bool(said), "tokens_predicted": n + 1,
        "choices": [{"text": said, "finish_reason": None}],
    }  # fmt: skip


def name_slots(event: Any, rng: random.Random) -> None:
    event["id_slot"] = rng.choice((-1, -7, -(2**40), rng.randrange(-(2**31), 0), 1))


def name_tokens(event: Any, _: random.Random) -> None:
    for entry in event.get("completion_probabilities", ()):
        entry["top_logprobs"] = [
            {"id": next(NUMBERS), "bytes": [65] * 90, "logprob": -1.0} for _n in range(300)
        ]


def make_tokens(event: Any, _: random.Random) -> None:
    if event.get("tokens"):
        event["tokens"] = [next(NUMBERS) for _n in range(20)]
        entry = {"logprob": -1.0, "bytes": [65] * 90}
        event["completion_probabilities"] = [
            {"id": n, "top_logprobs": [{"id": n, **entry}]} for n in event["tokens"]
        ]


def end_at_once(event: Any, rng: random.Random) -> None:
    event |= {"stop": True, "stop_type": rng.choice(("eos", "word", "limit", "none"))}
    event |= {"choices": [{"text": "", "finish_reason": rng.choice(("stop", "length", 7))}]}


THOUGHT = {"choices": [{"delta": {"reasoning_content": "hm "}}], "content": ""}
ATTACKS: dict[str, Attack] = {
    "silent": silent, "lie": lie, "reset": reset, "close": close, "noise": noise,
    "headers": headers,
    "go_on": go_on, "late": late, "queued": queued, "drip": drip, "half": half,
    "wrong_length": wrong_length, "wrong_chunks": wrong_chunks, "large": large, "cookies": cookies,
    "odd": odd,
    "431": status(431), "503": status(503), "loading": status(503, "unavailable_error"),
    "500": status(500), "busy": status(429, **{"Retry-After": "3"}), "key": status(401),
    "missing": status(404), "wrong": status(400, "n_probs"), "odd_status": status(299),
    "too_long": status(400, "exceed_context_size_error"), "switched": status(101),
    "moved": status(302, Location="http://elsewhere.invalid/"), "nothing": status(204),
    "gzip": status(200, **{"Content-Encoding": "gzip"}),
    "comments": forever(b": wait\n\n", 1.0), "pings": forever(b"data: ping\n\n", 1.0),
    "comments_late": forever(b": wait\n\n", 1.0, after=1),
    "empty": forever(text(""), 0.5), "empty_late": forever(text(""), 0.5, after=1),
    "flood": forever(b'data: {"content": "", "choices": [{"text": ""}]}\n\n' * 99, 0.0),
    "thoughts": forever(lambda _: THOUGHT, 0.2),
    "letters": forever(text("x"), 4.9), "endless": forever(text("x = 1\n"), 0.01),
    "no_text": forever(lambda _: {}, 4.9), "no_end": forever(b"", 1e6, after=4),
    "done": forever(b"data: [DONE]\n\n", 0.5),
    "slots": events(name_slots), "names": events(name_tokens), "tokens": events(make_tokens),
    "ends": events(end_at_once),
}  # fmt: skip
