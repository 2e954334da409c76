"""The contract: a row for each promise, and what came of it, in words for a table."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from fim_lsp.cli import checks, server_checks
from fim_lsp.cli.checks import Target
from fim_lsp.settings.merge import Layer, merge_layers
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.failover.endpoints import Endpoints
from server_bridge.http.api_key import Key
from server_bridge.llama.identity import open_to_pages
from server_bridge.protocol import BackendError, Chunk, Prompt, PromptTooLong, Request, behind
from tests.server_bridge.prompts import prompt
from tests.servers.servers import KEY, KEY_VARIABLE, Running

REQUEST = Request(prompt("    def total(self"), n_predict=24)
SHORT = "def area(width, height):\n    return width * height\n\n\n"
LONG_S = 120.0  # for one row, on a machine that has other work, too
ROUNDS = 5
YES = "yes"
Row = Callable[[Running], Awaitable[str]]


def settings_of(server: Running, **other: Any) -> dict[str, Any]:
    """Return the section `backend` of the settings for *server*."""
    return {"kind": "openai", "url": server.url, **server.server.settings, **other}


@asynccontextmanager
async def backend(server: Running, **other: Any) -> AsyncIterator[Endpoints]:
    """Our client of *server*, as a session has it."""
    told = settings_of(server, **other)
    settings = BackendSettings(
        told["kind"],
        told["url"],
        told.get("model", ""),
        key=Key(told.get("apiKeyEnv", "")),
        context_tokens=told.get("contextTokens", 0),
    )
    async with aclosing(open_backend(settings)) as opened:
        yield opened


async def text_of(model: Endpoints, request: Request) -> str:
    """Return the text of a streamed answer."""
    async with aclosing(model.stream(request)) as replies:
        return "".join([reply.text async for reply in replies])


async def by_hand(server: Running) -> str:
    """A text where a user asks for one"""
    async with backend(server) as model:
        return YES if await text_of(model, REQUEST) else "no text"


async def while_typing(server: Running) -> str:
    """Texts at ten keys, one after the other"""
    async with backend(server) as model:
        typed = ["    return sum(item"[:n] for n in range(8, 18)]
        texts = [await text_of(model, Request(prompt(each), 8)) for each in typed]
    return f"{sum(map(bool, texts))} of {len(texts)}"


async def same_text(server: Running) -> str:
    """A stream and a whole answer are the same text"""
    async with backend(server) as model:
        whole = (await model.complete(REQUEST)).text
        return YES if await text_of(model, REQUEST) == whole else "no"


async def kept(server: Running) -> str:
    """Evaluated of a prompt that has grown by a word"""
    async with backend(server) as model:
        reply = await model.complete(REQUEST)
        more = behind(REQUEST.prompt, reply)
        cost = (await model.complete(Request(replace(more, tape=()), 1))).timings
        if "cached" in model.state.engine.guessed:
            return "not told"
        return f"{cost.prompt_n} of {cost.prompt_n + cost.cache_n} tokens"


async def half_a_word(server: Running) -> str:
    """A half-typed word is continued"""
    half = Request(prompt("    def total(self):\n        ", "retur"), n_predict=8)
    async with backend(server) as model:
        return YES if (await text_of(model, half)).startswith("retur") else "no"


async def stop_string(server: Running) -> str:
    """A stop string ends a text, and is not in it"""
    async with backend(server) as model:
        text = await text_of(model, replace(REQUEST, n_predict=64, stop=("\n",)))
        return YES if "\n" not in text else "no"


async def special_tokens(server: Running) -> str:
    """Special tokens in a file are text"""
    evil = "<|fim_middle|><|endoftext|>" * 4
    at = replace(REQUEST.prompt, prefix=evil, chunks=(Chunk("evil.py", evil),))
    async with backend(server) as model:
        return YES if await text_of(model, replace(REQUEST, prompt=at)) else "no text"


async def samples(server: Running) -> str:
    """Other suggestions than the first, of two asked for"""
    async with backend(server) as model:
        texts = [await text_of(model, replace(REQUEST, sample=n)) for n in range(3)]
        return str(len({*texts}) - 1)


async def closed(server: Running) -> str:
    """A closed stream stops the work"""
    long = replace(REQUEST, n_predict=400, sample=7)
    async with backend(server) as model:
        await text_of(model, REQUEST)
        started = time.monotonic()
        n_pieces = 0
        async with aclosing(model.stream(long)) as replies:
            async for reply in replies:
                n_pieces += bool(reply.text)
                if n_pieces == 4:
                    break
        first_s = time.monotonic() - started
        started = time.monotonic()
        await text_of(model, replace(REQUEST, n_predict=4))
        next_s = time.monotonic() - started
        return YES if next_s < 4 * first_s else f"no: {next_s:.1f} s against {first_s:.1f} s"


async def several(server: Running, n_sessions: int) -> str:
    async def session(number: int) -> int:
        n_answered = 0
        async with backend(server) as model:
            for n_round in range(ROUNDS):
                middle = f"def total_{n_round}("
                at = Prompt(f"repo{number}", (), f"{number}.py", SHORT, "\n", middle)
                try:
                    text = await text_of(model, Request(at, 24))
                except BackendError:
                    text = ""
                n_answered += bool(text) and not model.state.message
        return n_answered

    answered = await asyncio.gather(*(session(n) for n in range(n_sessions)))
    return f"{sum(answered)} of {n_sessions * ROUNDS}"


async def two_sessions(server: Running) -> str:
    """Two sessions at once"""
    return await several(server, 2)


async def three_sessions(server: Running) -> str:
    """Three sessions at once"""
    return await several(server, 3)


async def too_long(server: Running) -> str:
    """A prompt over the context: refused, then the next one works"""
    text = "".join(f"value_{n} = {n}\n" for n in range(4000))
    at = replace(REQUEST.prompt, prefix=text)
    said = "answered"
    async with backend(server, contextTokens=60_000) as model:
        try:
            async with asyncio.timeout(LONG_S / 2):
                await text_of(model, Request(at, 4))
        except PromptTooLong as error:
            said = f"too long, {error.n_ctx} fit"
        except (BackendError, TimeoutError) as error:
            said = f"{type(error).__name__}"
        await asyncio.sleep(1.0)
        return said if await text_of(model, REQUEST) else f"{said}; the next one fails"


async def empty(server: Running) -> str:
    """An empty file"""
    async with backend(server) as model:
        await text_of(model, Request(Prompt("repo", (), "new.py", "", ""), 8))
        return YES


async def one_line(server: Running) -> str:
    """A file of one line of 100,000 characters: an answer or an error, and the next key works"""
    at = replace(REQUEST.prompt, prefix="x" * 100_000)
    async with backend(server) as model:
        said = "an answer"
        try:
            async with asyncio.timeout(LONG_S / 2):
                await text_of(model, Request(at, 4))
        except (BackendError, TimeoutError) as error:
            said = type(error).__name__
        await asyncio.sleep(1.0)
        return said if await text_of(model, REQUEST) else f"{said}; the next one fails"


async def killed(server: Running) -> str:
    """Killed: an error; started again: answered"""
    async with backend(server) as model:
        await text_of(model, REQUEST)
        server.kill()
        try:
            await text_of(model, REQUEST)
            return "answered by a dead server"
        except BackendError:
            told = bool(model.state.message)
        server.start()
        for _ in range(20):
            await asyncio.sleep(0.5)
            try:
                if await text_of(model, REQUEST):
                    return YES if told else "yes, without a message"
            except BackendError:
                pass
        return "not found again"


async def swapped(server: Running) -> str:
    """Killed while a stream runs, and back: the next key works"""
    async with backend(server) as model:
        try:
            async with aclosing(model.stream(replace(REQUEST, n_predict=200))) as replies:
                await anext(replies)
                server.kill()
                server.start()
                _ = [reply async for reply in replies]
        except BackendError:
            pass
        for _ in range(20):
            await asyncio.sleep(0.5)
            try:
                if await text_of(model, REQUEST):
                    return YES
            except BackendError:
                pass
        return "no"


async def wrong_key(server: Running) -> str:
    """A wrong key is named"""
    if not server.server.has_key:
        return "no key"
    os.environ["FIM_TEST_WRONG"] = "sk-wrong"
    async with backend(server, apiKeyEnv="FIM_TEST_WRONG") as model:
        try:
            await text_of(model, REQUEST)
        except BackendError as error:
            return YES if "key" in str(error) else f"no: {error}"[:60]
    return "answered"


async def confidence(server: Running) -> str:
    """Probabilities in streams"""
    async with backend(server) as model:
        await text_of(model, REQUEST)
        return "no" if "confidence" in model.state.engine.guessed else YES


async def doctors_words(server: Running) -> str:
    """What doctor says of the context, and of answers"""
    config, _ = merge_layers([Layer("file", {"backend": settings_of(server)})])
    async with backend(server) as model:
        await text_of(model, REQUEST)
        target = Target(config, (), model, open_to_pages)
        found = [*await server_checks.context(target), *await server_checks.answers(target)]
        works = [finding.level != "bad" for finding in await checks.model(target)]
    said = "; ".join(finding.says for finding in found)
    return said if all(works) else f"does not work: {said}"


ROWS: tuple[Row, ...] = (
    by_hand, while_typing, same_text, kept, half_a_word, stop_string, special_tokens, samples,
    closed, two_sessions, three_sessions, too_long, empty, one_line, killed, swapped, wrong_key,
    confidence, doctors_words,
)  # fmt: skip


async def run(row: Row, server: Running) -> str:
    """Return what came of *row*, in words."""
    os.environ[KEY_VARIABLE] = KEY
    try:
        async with asyncio.timeout(LONG_S):
            return await row(server)
    except TimeoutError:
        return f"no answer in {LONG_S:.0f} s"
    except BackendError as error:
        return f"{type(error).__name__}: {error}".replace(server.url, "it")[:120]
