"""
A backend without a model, for tests of what a session decides. It is one of the kinds of `test_contract.py`, which says
which rule it cannot keep, and why.

A token is a run of up to five letters or eight blanks, or one other character. Two slots keep what was evaluated last, as a
llama-server does. The text is what *says* returns for a prompt; without it the text goes on as `CORPUS` does behind the
longest end of the prompt that is in it, so it is the same wherever it is interrupted.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from functools import lru_cache
from itertools import islice

from xxhash import xxh3_64_intdigest

from server_bridge.llama.backend import join
from server_bridge.protocol import (
    Health,
    Measure,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    State,
    Stop,
    Timings,
    Token,
    Warmed,
)

MODEL = "fake"
CALLS = ("measure", "warm", "complete", "stream", "save", "restore")
CORPUS = """\
class Cart:
    def __init__(self, name, value):
        self.name = name
        self.value = value
        self.items = []

    def total(self, rate):
        price = sum(item.price for item in self.items)
        return price * rate + self.value


def add(first, second):
    return first + second


def area(width, height):
    if width > 0:
        return width * height
    print(width, height)
    for item in items:
        item.close()
    raise ValueError(name)
"""
LEFT = 8  # tokens at the end of a prompt that need not be evaluated for it to be saved
LOOK_BACK, LESS = 24, 4  # characters that decide what comes next, and what does in an alternative
TOKEN = re.compile(r"\w{1,5}| {1,8}|[^\w ]", re.ASCII)
CHARS_PER_TOKEN = 2.7  # of such tokens in Python
PREFILL_PER_S, DECODE_MS = 1e6, 0.01  # it computes nothing

Ids = tuple[int, ...]


@lru_cache(maxsize=256)
def tokenize(text: str) -> tuple[Token, ...]:
    """Return the tokens of *text*, each with its own spelling."""
    return tuple(map(_token, TOKEN.findall(text)))


def _token(text: str) -> Token:
    spelled = text.encode()
    return Token(xxh3_64_intdigest(spelled), spelled, -0.1)


class FakeBackend:
    """
    *says* gives the text behind a prompt and a sample's number; *seen* are the requests for text.
    *disk* is what was saved, by this one or by those before a restart. A token takes *token_s* seconds.

    A call that comes after `hold` has reached the backend, as *seen* tells, and goes on after `release`.
    """

    def __init__(
        self,
        says: Callable[[Prompt, int], str] | None = None,
        *,
        n_ctx: int = 4096,
        disk: list[Ids] | None = None,
        token_s: float = 0.0,
    ) -> None:
        self.state = State(
            Health.READY, "fake", model=MODEL, n_ctx=n_ctx, slots=2,
            chars_per_token=CHARS_PER_TOKEN, prefill_per_s=PREFILL_PER_S, decode_ms=DECODE_MS,
        )  # fmt: skip
        self.on_change: Callable[[], None] = lambda: None
        self.seen: list[Request] = []
        self.warmed: list[Prompt] = []
        self.token_s = token_s
        self._says = says
        self._disk = [] if disk is None else disk
        self._slots: list[Ids] = [(), ()]  # the one used last stands last
        self._answer: list[Ids] = [()]  # an instruction has a copy of what it begins with
        self._aside: list[Ids] = [()]  # so has what is evaluated aside
        self._held: tuple[str, ...] = ()
        self._waits = asyncio.Event()
        self._free = asyncio.Event()

    def hold(self, *calls: str) -> None:
        """Make every call wait from now on, or those named in *calls* alone."""
        self._held = calls or CALLS
        self._waits.clear()
        self._free.clear()

    async def until_held(self) -> None:
        """Return when a call waits."""
        await self._waits.wait()

    def release(self) -> None:
        """Let what waits go on, and what comes."""
        self._held = ()
        self._free.set()

    async def _pass(self, call: str) -> None:
        if call in self._held:
            self._waits.set()
            await self._free.wait()

    async def connect(self) -> FakeBackend:
        return self

    async def measure(self, prompt: Prompt) -> Measure:
        await self._pass("measure")
        parts = _parts(prompt)
        counts = [len(part) for part in parts]
        ids = sum(parts, ())
        cached = self._held_of(ids)
        return Measure(
            sum(counts), min(cached, len(ids) - 1), counts[0], tuple(counts[1:-4]), *counts[-4:]
        )

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        self.warmed.append(prompt)
        await self._pass("warm")
        ids = self._fit(prompt, 1)
        held = self._held_of(ids)
        upto = min(len(ids), held + step)
        self._evaluate(ids[:upto], self._slots_for(prompt))
        return Warmed(upto - held, len(ids) - upto)

    async def complete(self, request: Request) -> Reply:
        self.seen.append(request)
        await self._pass("complete")
        return await join(self._decode(request))

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        self.seen.append(request)
        await self._pass("stream")
        async with aclosing(self._decode(request)) as replies:
            async for reply in replies:
                yield reply

    async def _decode(self, request: Request) -> AsyncGenerator[Reply, None]:
        ids = self._fit(request.prompt, 1)
        slots = self._slots_for(request.prompt)
        held = self._evaluate(ids, slots)
        middle = _middle(request.prompt)
        timings = Timings(prompt_n=len(ids) - held, cache_n=held, expected_n=held)
        tokens, stop = self._made(request, self.state.n_ctx - len(ids))
        for idx, token in enumerate(tokens or (None,)):
            is_last = idx >= len(tokens) - 1
            spelled = (token,) if token else ()
            slots[-1] += tuple(each.id for each in spelled)
            await asyncio.sleep(self.token_s)
            yield Reply(
                "".join(each.text.decode() for each in spelled), spelled, middle,
                stop if is_last else Stop.LIMIT, dataclasses.replace(timings, predicted_n=1),
            )  # fmt: skip
            middle += spelled
            timings = Timings()

    async def save(self, prompt: Prompt, files: tuple[str, ...] = ()) -> int:
        await self._pass("save")
        ids = sum(_parts(prompt), ())
        held = self._held_of(ids)
        if held < len(ids) - LEFT:
            return 0
        self._disk.append(ids[:held])
        return held

    async def restore(self, prompt: Prompt) -> int:
        await self._pass("restore")
        ids = sum(_parts(prompt), ())
        best = max(self._disk, key=lambda saved: _common(ids, saved), default=())
        self._slots = [*self._slots[1:], best]
        return _common(ids, best)

    async def aclose(self) -> None:
        self._slots = [(), ()]
        self._answer = [()]
        self._aside = [()]

    def _fit(self, prompt: Prompt, n_predict: int) -> Ids:
        ids = sum(_parts(prompt), ())
        if len(ids) + n_predict > self.state.n_ctx:
            raise PromptTooLong(len(ids) + n_predict, self.state.n_ctx)
        return ids

    def _held_of(self, ids: Ids) -> int:
        return max(_common(ids, slot) for slot in (*self._slots, *self._answer, *self._aside))

    def _evaluate(self, ids: Ids, slots: list[Ids]) -> int:
        """Put *ids* into that of *slots* with most of them, or the one used least lately; how many were held."""
        held = min(self._held_of(ids), len(ids) - 1)
        slot = max(slots, key=lambda each: _common(ids, each))
        slots.remove(slot if _common(ids, slot) > len(ids) // 10 else slots[0])
        slots.append(ids)
        return held

    def _slots_for(self, prompt: Prompt) -> list[Ids]:
        if prompt.aside:
            return self._aside
        return self._answer if prompt.turns else self._slots

    def _made(self, request: Request, room: int) -> tuple[tuple[Token, ...], Stop]:
        """Return the tokens of the answer, where the context has *room* for so many, and why there are no more."""
        made = [*islice(self._pieces(request.prompt, request.sample), request.n_predict)]
        stop = Stop.LIMIT if len(made) == request.n_predict else Stop.END
        text = "".join(made)
        stops = [at for each in request.stop if (at := text.find(each)) >= 0]
        if stops:
            stop = Stop.WORD
            made = [*_cut(made, min(stops))]
        if len(made) >= room:
            stop = Stop.FULL
            made = made[:room]
        return tuple(map(_token, made)), stop

    def _pieces(self, prompt: Prompt, sample: int) -> Iterator[str]:
        """Yield the text behind *prompt*, token by token."""
        if self._says is not None:
            yield from TOKEN.findall(prompt.forced + self._says(prompt, sample))
            return
        yield from TOKEN.findall(prompt.forced)
        text = (prompt.prefix + prompt.middle)[-LOOK_BACK:] + prompt.forced
        while True:
            text = text[-(LESS if sample else LOOK_BACK) :]
            piece = _next(text, sample)
            yield piece
            text += piece


def _parts(prompt: Prompt) -> list[Ids]:
    """Return the ids of repository, each chunk, path, prefix, suffix and middle, each behind a mark of its own."""
    texts = [prompt.repo, *(f"{c.name}\0{c.text}" for c in prompt.chunks), prompt.path]
    spelled = [_text(text) for text in (*texts, prompt.prefix)]
    suffix = sum(map(_text, (prompt.suffix, *prompt.turns)), ())
    return [*spelled, suffix, _marked(_middle(prompt))]


def _marked(tokens: tuple[Token, ...]) -> Ids:
    """Return the ids of a part, or of a turn, behind its mark: what was a middle may be a turn later."""
    return (-1, *(token.id for token in tokens))


@lru_cache(maxsize=256)
def _text(text: str) -> Ids:
    return _marked(tokenize(text))


def _middle(prompt: Prompt) -> tuple[Token, ...]:
    """Return the tokens of the middle: its end as the tape spells it."""
    tape = b"".join(token.text for token in prompt.tape).decode()
    return tokenize(prompt.middle.removesuffix(tape)) + prompt.tape


def _common(left: Ids, right: Ids) -> int:
    """Return how many ids are the same up to the first other one, by halves: most of a test's time went here."""
    same = 0
    most = min(len(left), len(right))
    while same < most:
        half = (same + most + 1) // 2
        same, most = (half, most) if left[same:half] == right[same:half] else (same, half - 1)
    return same


def _cut(pieces: list[str], n_characters: int) -> Iterator[str]:
    """Yield *pieces* up to so many characters."""
    for piece in pieces:
        if n_characters > 0:
            yield piece[:n_characters]
        n_characters -= len(piece)


@lru_cache(maxsize=4096)
def _next(text: str, sample: int) -> str:
    """Return the token behind *text*: one that follows its longest end in `CORPUS`."""
    ends = (text[n:] for n in range(len(text) + 1) if text[n:] in CORPUS[:-1])
    end = next(ends)
    places = [n + len(end) for n in range(len(CORPUS) - len(end)) if CORPUS.startswith(end, n)]
    at = places[xxh3_64_intdigest(text.encode(), seed=sample) % len(places)]
    found = TOKEN.match(CORPUS, at)
    assert found is not None
    return found[0]
