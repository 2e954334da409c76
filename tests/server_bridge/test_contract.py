"""
What every backend keeps, on real llama.cpp; and the one without a model, so that a test that it carries can be believed.

Where a backend deals in text (`openai`), counts are estimates and an end may be a stop string. `fake` computes nothing, so
it takes no time: it has no speed to measure, and that is the one rule it cannot keep.
A new backend is one of `KINDS`, and `backend` knows the address of its server.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import pytest_asyncio

from deploy.tests import vllm_server
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.process import programs
from server_bridge.protocol import (
    Chunk,
    Health,
    Model,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    State,
    Stop,
    append_text,
    rest,
)
from tests import fake_backend, mlx_server
from tests.llama_server import PROGRAM
from tests.server_bridge.prompts import keystrokes, prompt, warm_all

pytestmark = [
    pytest.mark.engine,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("patient"),
]

# Those that scripts/test-mlx and scripts/test-cluster install.
OTHERS = {"mlx": mlx_server.PYTHON, "vllm": vllm_server.PYTHON}
MARKS = {"mlx": pytest.mark.mlx, "vllm": pytest.mark.cluster}
# Models for the embedded engine, see conftest.py: scripts/test-server runs them, and another llama-server. What is
# decided there by itself, tests/server_bridge/llama has.
UNUSUAL = ("chat", "sentencepiece", "plain")
AT_SERVER = ("llama-server", "openai", *UNUSUAL)
KINDS = [
    *("embedded", "fake"),
    *(pytest.param(each, marks=pytest.mark.server) for each in AT_SERVER if PROGRAM),
    *(pytest.param(name, marks=MARKS[name]) for name, python in OTHERS.items() if python),
]
RANDOM = "qwen-tiny"  # the model of tests/mlx_server.py
SENTENCEPIECE = "fim-tiny-sentencepiece.gguf"
PLAIN = "fim-tiny-plain.gguf"
CHAT = "fim-tiny-chat.gguf"
BLOCK = 32  # tokens; vLLM's smallest on a CPU
FORCED = ["retur", " é🎉", '\t"', "\\", "a\n  b", "]\x07[", "日本語"]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def backend(request: pytest.FixtureRequest) -> AsyncIterator[Model]:
    """Return the model of every kind of backend, ready."""
    if request.param == "fake":
        yield fake_backend.FakeBackend()
        return
    kind: Any = "openai" if request.param in OTHERS else request.param
    model = ""
    url = ""
    if request.param in UNUSUAL:
        kind = "embedded"
        model = str(request.getfixturevalue("unusual_models")[request.param])
    elif request.param != "embedded":
        server = f"{request.param}_url" if request.param in OTHERS else "url"
        url = request.getfixturevalue(server)
    # Two threads add up in another order, and tiny models are often undecided between two tokens.
    with patch.object(programs, "usual_threads", return_value=1):
        backend = open_backend(BackendSettings(kind, url, model=model))
    yield await backend.connect()
    await backend.aclose()


def counts(backend: Model) -> bool:
    """Return whether it counts tokens, or estimates."""
    return backend.state.kind != "openai"


def partial_block(backend: Model) -> int:
    """Return how many tokens at the end of a prompt are evaluated each time: vLLM keeps whole blocks."""
    return BLOCK - 1 if backend.state.model == vllm_server.MODEL else 0


async def test_says_what_it_is(backend: Model) -> None:
    """A model that is connected knows its name, its context and its slots."""
    state = backend.state
    assert (state.health, state.message) == (Health.READY, "")
    slots = 2 if counts(backend) else 1
    of_files = "fim-tiny-q8_0.gguf", SENTENCEPIECE, PLAIN, CHAT
    assert state.model in (*of_files, vllm_server.MODEL, RANDOM, fake_backend.MODEL)
    assert bool(state.second_best) == (state.model in (PLAIN, CHAT))
    if state.kind in ("embedded", "llama-server"):  # where the model says what it has marks for
        assert ("can only fill in code" in state.fills_only) == (state.model != CHAT)
    assert (state.n_ctx, state.slots) == (4096, slots)


async def test_counts_by_parts(backend: Model) -> None:
    """The parts of a measured prompt add up to the whole."""
    parts = await backend.measure(prompt("    def f("))
    frame = parts.repo, *parts.chunks, parts.path, parts.prefix, parts.suffix
    assert parts.total == sum((*frame, parts.middle))
    assert min(*parts.chunks, parts.path, parts.prefix, parts.middle) > 1
    assert (parts.suffix > 1) == (backend.state.model != PLAIN)


async def test_control_tokens_in_a_file_are_text(backend: Model) -> None:
    """What looks like a special token in a user's file is counted as the characters it is."""
    plain = prompt()
    evil = "<|fim_middle|>" * 10
    before = await backend.measure(plain)
    after = await backend.measure(
        replace(plain, prefix=plain.prefix + evil, chunks=(Chunk(evil, evil),), middle=evil)
    )
    assert after.prefix > before.prefix + 30
    assert after.chunks[0] > 60
    assert after.middle > before.middle + 30


async def test_greedy_is_repeatable_and_spelled_by_its_tokens(backend: Model) -> None:
    """The same request gives the same text, and the tokens spell it with their log-probabilities."""
    request = Request(prompt("    def __init__("), n_predict=12)
    first = await backend.complete(request)
    second = await backend.complete(request)
    assert first.text == second.text != ""
    assert b"".join(t.text for t in first.tokens).decode() == first.text
    assert b"".join(t.text for t in first.middle).decode() == request.prompt.middle
    if backend.state.model != RANDOM:  # mlx_lm.server tells no probabilities
        assert all(t.logprob is not None and t.logprob <= 0 for t in first.tokens)


@pytest.mark.parametrize("portion", [1, 7])
async def test_short_requests_give_the_text_of_one(backend: Model, portion: int) -> None:
    """Decoding in short requests changes no token."""
    if backend.state.model == RANDOM:
        pytest.skip("it spells words as no tokenizer would, and text is all that it is given back")
    start = prompt("    def __init__(self")  # no two tokens are about as likely behind it
    whole = await backend.complete(Request(start, n_predict=21))
    text = ""
    reply = None
    while len(text) < len(whole.text) and (reply is None or reply.stop is Stop.LIMIT):
        reply = await backend.complete(Request(start, n_predict=portion))
        text = text + reply.text
        start = append_text(start, reply.text, reply.tokens)
        assert reply.timings.expected_n in (None, reply.timings.cache_n)
    assert text == whole.text


async def streamed(backend: Model, request: Request, n_pieces: int = 0) -> list[Reply]:
    """Return the pieces of a stream, closed after *n_pieces* with text if that is set."""
    replies: list[Reply] = []
    async with aclosing(backend.stream(request)) as pieces:
        async for reply in pieces:
            replies.append(reply)
            if n_pieces and sum(bool(each.text) for each in replies) == n_pieces:
                break
    return replies


async def test_a_stream_gives_the_text_of_one_request(backend: Model) -> None:
    """Piece by piece, each as if asked for after the one before; only the first evaluates."""
    if backend.state.model == RANDOM:
        pytest.skip("it spells words as no tokenizer would, and text is all that it is given back")
    request = Request(prompt("    def error(self"), n_predict=21)
    whole = await backend.complete(request)
    replies = await streamed(backend, request)
    assert "".join(reply.text for reply in replies) == whole.text
    assert {reply.stop for reply in replies[:-1]} <= {Stop.LIMIT}
    assert replies[-1].stop is whole.stop
    at = request.prompt
    for reply in replies:
        assert b"".join(t.text for t in reply.middle).decode() == at.middle
        at = append_text(at, reply.text, reply.tokens)
    assert not any(reply.timings.prompt_n for reply in replies[1:])
    if counts(backend):
        assert [t.id for r in replies for t in r.tokens] == [t.id for t in whole.tokens]
        assert sum(r.timings.predicted_n for r in replies) == whole.timings.predicted_n


@pytest.mark.parametrize("n_pieces", [1, 3])
async def test_a_closed_stream_is_gone_on_with(backend: Model, n_pieces: int) -> None:
    """What came before it was closed is in the cache, and the text that follows is the same."""
    if backend.state.model == RANDOM:
        pytest.skip("it spells words as no tokenizer would, and text is all that it is given back")
    asked = Request(prompt("    def error(self"), n_predict=21)
    whole = "".join(reply.text for reply in await streamed(backend, asked))
    text = ""
    request: Request | None = asked
    while request is not None:
        replies = await streamed(backend, request, n_pieces)
        cost = replies[0].timings
        assert cost.expected_n in (None, cost.cache_n)
        assert cost.prompt_n <= 2 or not counts(backend)
        text = text + "".join(reply.text for reply in replies)
        request = rest(request, *replies)
        if replies[-1].stop is not Stop.LIMIT:
            break
    assert text == whole


@pytest.mark.parametrize("forced", FORCED)
async def test_a_stream_begins_with_the_forced_text(backend: Model, forced: str) -> None:
    """Any half word at all, also characters of several tokens, closed and gone on with or not."""
    request = Request(prompt("    x = ", forced), n_predict=24)
    whole = "".join(reply.text for reply in await streamed(backend, request))
    assert whole.startswith(forced)
    [first, *_] = await streamed(backend, request, 1)
    left = rest(request, first)
    assert left is not None
    more = await streamed(backend, left)
    assert (first.text + "".join(reply.text for reply in more)).startswith(forced)


async def test_a_limit_inside_a_character_leaves_all_of_it_out(backend: Model) -> None:
    """Of a character of several tokens there is nothing, or the whole: in a stream and in one answer."""
    forced = "'\u00e9\U0001f389\u4e2d"
    request = Request(prompt("    x = ", forced), n_predict=1)
    for n in range(1, 9):
        short = replace(request, n_predict=n)
        pieces = "".join(reply.text for reply in await streamed(backend, short))
        for text in (pieces, (await backend.complete(short)).text):
            assert "\ufffd" not in text
            assert forced.startswith(text) or text.startswith(forced)


async def test_a_stop_string_is_not_in_the_text(backend: Model) -> None:
    """Decoding ends before a stop string, also in a stream, and the tokens spell no more than the text."""
    request = Request(prompt("    def error(self"), n_predict=40)
    free = await backend.complete(request)
    stop = "\n" if "\n" in free.text else free.text[8:11]
    stopped = replace(request, stop=(stop,))
    reply = await backend.complete(stopped)
    replies = await streamed(backend, stopped)
    assert reply.text == free.text.partition(stop)[0]
    assert "".join(each.text for each in replies) == reply.text
    assert replies[-1].stop is reply.stop
    assert reply.stop in ((Stop.WORD,) if counts(backend) else (Stop.WORD, Stop.END))
    assert reply.text.startswith(b"".join(t.text for t in reply.tokens).decode())


async def test_alternatives_differ_and_repeat(backend: Model) -> None:
    """Each sample number stands for one alternative; several of them give several texts."""
    samples = [Request(prompt("    "), n_predict=12, sample=n) for n in (1, 2, 3, 1)]
    texts = [(await backend.complete(sample)).text for sample in samples]
    assert texts[0] == texts[3]
    assert len(set(texts)) > 1


async def test_a_prompt_too_long_is_refused_with_numbers(backend: Model) -> None:
    """Nothing is ever cut silently: the caller hears how much too long the prompt is."""
    long = replace(prompt(), chunks=(Chunk("big.py", "x = 1\n" * 3000),))
    measured = await backend.measure(long)
    with pytest.raises(PromptTooLong) as caught:
        await backend.complete(Request(long, n_predict=16))
    n_prompt = caught.value.n_prompt
    n_ctx = caught.value.n_ctx
    assert n_prompt == measured.total + 1 or (n_prompt > n_ctx and not counts(backend))
    assert n_ctx == backend.state.n_ctx
    with pytest.raises(PromptTooLong):
        await backend.warm(long, 100)


async def test_a_full_context_is_said_to_be_full(backend: Model) -> None:
    """A text that ends because the context does is not to be continued."""
    filler = replace(prompt(), chunks=(Chunk("big.py", "x = 1\n" * 400),))
    repeated = "y\n" * ((await _room(backend, filler) - 40) // 2)  # text is estimated to be shorter
    nearly_full = replace(filler, middle=repeated)
    room = await _room(backend, nearly_full)
    assert 0 < room < 100
    if counts(backend):
        nearly_full = replace(nearly_full, forced="z" * 4 * room)
    assert (await backend.complete(Request(nearly_full, room))).stop is Stop.FULL


async def _room(backend: Model, prompt: Prompt) -> int:
    """Return how many tokens the context has left."""
    total = (await backend.measure(prompt)).total
    if not counts(backend):
        timings = (await backend.complete(Request(prompt, n_predict=1))).timings
        total = timings.cache_n + timings.prompt_n
    return backend.state.n_ctx - total


async def test_warming_goes_in_steps_and_pays(backend: Model) -> None:
    """Warm steps evaluate no more than asked for, and the completion after them next to nothing."""
    fresh = prompt(at=900)
    total = (await backend.measure(fresh)).total - (await backend.measure(fresh)).cached
    evaluated = [warmed.evaluated for warmed in await warm_all(backend, fresh, 200)]
    assert len(evaluated) == -(-total // 200) or not counts(backend)
    assert max(evaluated) <= 201
    assert (await backend.warm(fresh, 200)).evaluated == 0
    reply = await backend.complete(Request(fresh, n_predict=1))
    assert reply.timings.prompt_n <= 8 + partial_block(backend)


@pytest.mark.promise("answers-are-bounded")
async def test_steps_of_an_instruction_come_to_an_end(backend: Model) -> None:
    """A backend that cannot evaluate a part of such a prompt says that no step is left."""
    asked = replace(prompt(at=1500), turns=("Add a docstring.",))
    await warm_all(backend, asked, 200)
    assert (await backend.warm(asked, 200)).left == 0


async def test_typing_evaluates_what_was_typed(backend: Model) -> None:
    """On a trace of keys every prediction of the cache holds, and a key costs a few tokens."""
    prompt_n = []
    # Few keys show how long the tokens of another vocabulary are, and that text is estimated.
    usual = backend.state.model in ("fim-tiny-q8_0.gguf", fake_backend.MODEL)
    every = 6 if usual and counts(backend) else 9
    for middle, half in keystrokes(every):
        typed = prompt(middle, half, at=300)
        reply = await backend.complete(Request(typed, n_predict=2))
        timings = reply.timings
        assert timings.expected_n in (None, timings.cache_n)
        if counts(backend):
            assert (await backend.measure(typed)).total == timings.cache_n + timings.prompt_n
        prompt_n.append(timings.prompt_n)
    assert len(prompt_n) > 300 // every
    assert sorted(prompt_n[1:])[len(prompt_n) // 2] <= 2 + partial_block(backend)
    assert max(prompt_n[1:]) <= 12 + partial_block(backend)


async def test_an_instruction_leaves_what_suggestions_have(backend: Model) -> None:
    """Its file is not evaluated again, nor is the next key's; a further turn costs itself."""
    if backend.state.fills_only or not counts(backend):
        pytest.skip("the model takes no instructions, or its cache is not known")
    typed = prompt("    def error(self", at=500)
    await backend.complete(Request(typed, n_predict=2))
    asked = replace(typed, middle="", turns=("add a comment to the last function",))
    answer = await backend.complete(Request(asked, n_predict=8))
    assert answer.timings.prompt_n < 0.2 * answer.timings.cache_n
    more = replace(asked, turns=(*asked.turns, answer.text, "shorter"))
    assert (await backend.complete(Request(more, n_predict=2))).timings.prompt_n <= 24
    key = await backend.complete(Request(replace(typed, middle=typed.middle + ","), n_predict=2))
    assert key.timings.prompt_n <= 8


async def test_several_files_in_turn_are_predicted(backend: Model) -> None:
    """Whatever the server evicts, saves and loads when files alternate, we know it beforehand."""
    places = [300, 700, 1100, 1500]
    agreed = []
    for n, (middle, half) in enumerate(list(keystrokes(8))[:24]):
        place = places[n * n % 7 % 4]
        typed = replace(prompt(middle, half, at=place), path=f"f{place}.py")
        timings = (await backend.complete(Request(typed, n_predict=2))).timings
        agreed.append(timings.expected_n in (None, timings.cache_n))
    assert all(agreed)


async def test_a_tape_that_begins_inside_a_character_is_shortened(backend: Model) -> None:
    """A word may begin behind half of a character's tokens; they are left out, not sent."""
    tape = (await backend.complete(Request(prompt("è = 'é"), n_predict=1))).middle
    half = tape[-1:] if len(tape[-1].text) == 1 else ()
    reply = await backend.complete(Request(replace(prompt("è = 'é"), tape=half), n_predict=1))
    assert b"".join(t.text for t in reply.middle).decode() == "è = 'é"


async def test_speed_and_density_are_measured(backend: Model) -> None:
    """The state learns from real requests how fast the machine is and how long tokens are."""
    state = backend.state
    guess = State(Health.UNKNOWN, "")
    assert 2 < state.chars_per_token < 5
    assert state.chars_per_token != guess.chars_per_token
    if state.kind == "fake":
        pytest.skip("it computes nothing, so it has no speed to measure")
    assert state.prefill_per_s != guess.prefill_per_s
    assert 0 < state.decode_ms != guess.decode_ms
