"""
What a real model says along a session: the product's prompts at each place of the block, asked of a llama.cpp server.

The frame is that of `simulated` when the block is begun, on a machine that decodes `FRAME_PER_S` tokens a second. A
place is asked for only where no earlier stream says what is said there; a stream is decoded as far as a session would,
if what is typed agrees with it: until nothing more of it can be shown.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import aclosing
from typing import NamedTuple

from benchmarks.real_sessions.accepting import indentation
from benchmarks.real_sessions.recordings import Recording, Spoken, Stream, recording_of, spell
from benchmarks.real_sessions.replayed import ReplayedModel, speed
from benchmarks.real_sessions.simulated import (
    digest_prompts,
    find_frame,
    middle,
    virtual_time,
)
from benchmarks.real_sessions.texts import Text
from fim_lsp.context.grammars import language_of
from fim_lsp.documents import Position, n_common, open_document
from fim_lsp.prompt.frame import Frame, compose
from fim_lsp.session.answering.completion import Completion
from fim_lsp.settings.config import Config
from fim_lsp.suggest.request import request_at
from server_bridge.protocol import Backend, BackendError, Model, Stop, Token

FRAME_PER_S = 40.0  # tokens decoded: an idle laptop without a GPU, with the 0.5B
MOST_TOKENS = 96
TRIES = 60
AGAIN_S = 2.0


class Manner(NamedTuple):
    """How far a text is recorded: until what is wrong of it is less *sure* than that, and its line *ends*."""

    sure: float
    ends: bool = False


USUAL = Manner(Config().sure)
MANNERS = {"": USUAL, "far": Manner(0.02, ends=True)}


def frame_of(text: Text, decode_per_s: float = FRAME_PER_S) -> Frame:
    """Return the frame in which *text* is begun on a machine of this speed."""
    with virtual_time() as run:
        frame: Frame = run(find_frame(ReplayedModel(lambda *_: None, speed(decode_per_s)), text))
    return frame


async def record(backend: Backend, frame: Frame, text: Text, manner: Manner = USUAL) -> Recording:
    """Return what the model of *backend* says along *text*; on a busy machine it is asked again."""
    typed = "\n".join(text.session.typed)
    streams: list[Stream] = []
    for at in range(len(typed) + 1):
        if indentation(typed, at):
            continue  # the editor types on at once
        kept, forced = _split(frame, text, at)
        spoken = Spoken(streams, text.head, text.block)
        if spoken.at(kept, forced) is None:
            streams.append(await _ask(backend, frame, text, at, manner))
    return recording_of(text.session, digest_prompts(frame, text), streams)


async def _ask(backend: Backend, frame: Frame, text: Text, at: int, manner: Manner) -> Stream:
    for n_left in reversed(range(TRIES)):
        try:
            return await _stream(await backend.connect(), frame, text, at, manner)
        except BackendError:
            if not n_left:
                raise
            await asyncio.sleep(AGAIN_S)
    raise AssertionError


def _split(frame: Frame, text: Text, at: int) -> tuple[int, str]:
    """Return the characters of the block that a prompt has at a place, and what is forced behind them."""
    forced = compose(frame, middle(frame, text, at)).forced
    return at - len(forced), forced


async def _stream(model: Model, frame: Frame, text: Text, at: int, manner: Manner) -> Stream:
    """Return what is said at a place, as far as it is of use."""
    session = text.session
    typed = middle(frame, text, at)
    whole = text.head + text.block[:at] + text.tail
    document = open_document("file:///recorded", language_of(session.path), 1, whole)
    line = session.start + text.block.count("\n", 0, at)
    position = Position(line, at - text.block.rfind("\n", 0, at) - 1)
    request = request_at(document, position, session.path, Config(), model.state)
    prompt = compose(frame, typed)
    completion = Completion(request, frame.window, typed, prompt, MOST_TOKENS)
    kept = at - len(prompt.forced)
    tokens: tuple[Token, ...] = ()
    stop = Stop.LIMIT
    async with aclosing(model.stream(completion.next_request)) as replies:
        async for reply in replies:
            tokens += reply.tokens
            stop = reply.stop
            if completion.take(reply) or is_of_no_use(tokens, text.block[kept:], manner):
                break
    return Stream(at, kept, tokens, stop)


def is_of_no_use(tokens: tuple[Token, ...], expected: str, manner: Manner = USUAL) -> bool:
    """Return whether nothing behind *tokens* can be shown while what is typed agrees with them."""
    said = spell(tokens)
    n_right = n_common(said, expected)
    agrees = len(expected[:n_right].encode())
    at = 0
    logprob = 0.0
    for token in tokens:
        if at >= agrees:
            logprob += token.logprob or 0.0
        at += len(token.text)
    is_line = "\n" in said[n_right:].lstrip("\n")
    return logprob < math.log(manner.sure) and (is_line or not manner.ends)
