"""
A backend without a model, for tests of what a session decides. It keeps 27 of the 36 rules of the contract suite; those
on text that is continued in the middle of a word, and on measured speeds, it does not.

A token is a run of up to three letters or one other character. Two slots keep what was evaluated last, as a
llama-server does. The text is what *says* returns for a prompt, else words made of a hash of it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import AsyncGenerator, Callable

from xxhash import xxh3_64_intdigest

from server_bridge.protocol import (
    Health,
    Measure,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    Sink,
    State,
    Stop,
    Timings,
    Token,
    Warmed,
)

MODEL = "fake"
WORDS = ("return", "total", "self", "(", ")", " = ", "name", "\n    ", "value", ".", "for ")

Ids = tuple[int, ...]


def tokenize(text: str) -> tuple[Token, ...]:
    """The tokens of *text*, each with its own spelling."""
    spelled = (run.encode() for run in re.findall(r"\w{1,3}|\W", text))
    return tuple(Token(xxh3_64_intdigest(each), each, -0.1) for each in spelled)


def _parts(prompt: Prompt) -> list[Ids]:
    """The ids of repository, each chunk, path, prefix, suffix and middle, each behind a mark of its own."""
    tape = b"".join(token.text for token in prompt.tape).decode()
    middle = prompt.tape + tokenize(prompt.middle[len(tape) :])
    texts = [prompt.repo, *(f"{c.name}\0{c.text}" for c in prompt.chunks), prompt.path]
    suffix = "\0".join((prompt.suffix, *prompt.turns))
    spelled = [tokenize(text) for text in (*texts, prompt.prefix, suffix)]
    return [(-1, *(token.id for token in part)) for part in (*spelled, middle)]


def _common(left: Ids, right: Ids) -> int:
    pairs = zip(left, right, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(left), len(right)))


class FakeBackend:
    """*says* gives the text behind a prompt and a sample's number; *seen* are the requests for text."""

    def __init__(self, says: Callable[[Prompt, int], str] | None = None) -> None:
        self.state = State(Health.READY, "fake", model=MODEL, n_ctx=4096, slots=2)
        self.seen: list[Request] = []
        self.warmed: list[Prompt] = []
        self._says = says or _words
        self._slots: list[Ids] = [(), ()]  # the one used last stands last

    async def connect(self) -> State:
        return self.state

    async def measure(self, prompt: Prompt) -> Measure:
        parts = _parts(prompt)
        counts = [len(part) for part in parts]
        ids = sum(parts, ())
        cached = max(_common(ids, slot) for slot in self._slots)
        return Measure(
            sum(counts),
            min(cached, len(ids) - 1),
            counts[0],
            tuple(counts[1:-4]),
            *counts[-4:],
        )

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        self.warmed.append(prompt)
        ids = self._fit(prompt, 0)
        held = max(_common(ids, slot) for slot in self._slots)
        upto = min(len(ids), held + step)
        self._evaluate(ids[:upto])
        return Warmed(upto - held, len(ids) - upto)

    async def complete(self, request: Request) -> Reply:
        replies = [reply async for reply in self.stream(request)]
        first, last = replies[0], replies[-1]
        timings = dataclasses.replace(
            first.timings, predicted_n=sum(each.timings.predicted_n for each in replies)
        )
        text = "".join(each.text for each in replies)
        tokens = sum((each.tokens for each in replies), ())
        return Reply(text, tokens, first.middle, last.stop, timings)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        self.seen.append(request)
        prompt = request.prompt
        ids = self._fit(prompt, request.n_predict)
        held = self._evaluate(ids)
        middle = prompt.tape + tokenize(
            prompt.middle[len(b"".join(t.text for t in prompt.tape).decode()) :]
        )
        timings = Timings(prompt_n=len(ids) - held, cache_n=held, expected_n=held)
        said = prompt.forced + self._says(prompt, request.sample)
        before, stop = _before(said, request.stop), Stop.END
        if before is not None:
            said, stop = before, Stop.WORD
        tokens = tokenize(said)
        room = min(request.n_predict, self.state.n_ctx - len(ids))
        if len(tokens) >= room:
            tokens = tokens[:room]
            stop = Stop.LIMIT if room == request.n_predict else Stop.FULL
        for idx, token in enumerate(tokens or (None,)):
            is_last = idx >= len(tokens) - 1
            spelled = (token,) if token else ()
            self._slots[-1] += tuple(each.id for each in spelled)
            await asyncio.sleep(0)
            yield Reply(
                "".join(each.text.decode() for each in spelled),
                spelled,
                middle,
                stop if is_last else Stop.LIMIT,
                dataclasses.replace(timings, predicted_n=1),
            )
            middle += spelled
            timings = Timings()

    async def save(self, prompt: Prompt) -> int:
        return 0

    async def restore(self, prompt: Prompt) -> int:
        return 0

    async def continue_long(
        self, prompt: Prompt, n_predict: int, sink: Sink
    ) -> AsyncGenerator[str, None]:
        for token in tokenize(self._says(prompt, 0))[:n_predict]:
            yield token.text.decode()

    async def forward(self, path: str, body: bytes) -> AsyncGenerator[dict[str, object], None]:
        yield {"path": path, "body": body.decode()}

    async def aclose(self) -> None:
        self._slots = [(), ()]

    def _fit(self, prompt: Prompt, n_predict: int) -> Ids:
        ids = sum(_parts(prompt), ())
        if len(ids) >= self.state.n_ctx:
            raise PromptTooLong(len(ids) + n_predict, self.state.n_ctx)
        return ids

    def _evaluate(self, ids: Ids) -> int:
        """Put *ids* into the slot that holds most of them, or the one used least lately; how many it held."""
        slot = max(self._slots, key=lambda each: _common(ids, each))
        held = min(_common(ids, slot), len(ids) - 1)
        self._slots.remove(slot if held > len(ids) // 10 else self._slots[0])
        self._slots.append(ids)
        return held


def _before(text: str, stops: tuple[str, ...]) -> str | None:
    """*text* up to the first of *stops*; None where none is in it."""
    found = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(found)] if found else None


def _words(prompt: Prompt, sample: int) -> str:
    """Some forty words that depend on the end of the prompt, so that a text can be continued where it stopped."""
    text, goal = prompt.middle + prompt.forced, len(prompt.prefix) % 7 + 40
    made = ""
    while len(made) < goal * 4:
        seed = xxh3_64_intdigest((text + made)[-12:].encode(), seed=sample)
        made += WORDS[seed % len(WORDS)]
    return made
