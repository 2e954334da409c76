"""
The events of an OpenAI-style `/v1/completions` into one `Answer`. Pure but for the clock.

Servers differ in what they tell: llama.cpp and vLLM give log-probabilities in two shapes, mlx_lm
none while streaming; some leave out the usage. Every field is taken where it is, none is needed but
the text and the reason why it ends: an answer without that broke off.
"""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from server_bridge.encoding import spelled
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendUnavailable,
    PromptTooLong,
    Token,
)

Object = dict[str, Any]
NO_ID = -1  # a token of which only the text is known
# vLLM, SGLang and OpenAI say it in words: "maximum context length is 4096 tokens … 5000 tokens"
LIMIT = re.compile(r"context length[^0-9]*(\d+)")
COUNTS = re.compile(r"(\d+) (?:\w+ )?tokens")  # "8193 input tokens"


@dataclass(slots=True)
class Answer:
    """One answer as far as it came; *ended* is OpenAI's finish reason, "" before the end."""

    text: str = ""
    last: str = ""  # what came last: a token, as a rule
    ended: str = ""
    usage: Object = field(default_factory=dict)
    pieces: list[tuple[bytes, float | None]] = field(default_factory=list)
    prompt_ms: float = 0.0
    total_ms: float = 0.0

    @property
    def n_prompt(self) -> int:
        """Tokens of the prompt, 0 if nobody said."""
        return int(self.usage.get("prompt_tokens") or 0)

    @property
    def n_cached(self) -> int | None:
        """Tokens of the prompt that were reused, None if nobody said."""
        cached = (self.usage.get("prompt_tokens_details") or {}).get("cached_tokens")
        return None if cached is None else int(cached)

    def begin_with(self, text: str) -> None:
        """Put *text*, which was asked with, before the answer."""
        self.text = text + self.text
        if self.pieces:
            self.pieces.insert(0, (text.encode(), None))

    def lose(self, text: str) -> None:
        """Take *text*, which the answer begins with, away."""
        if text:
            self.text, self.pieces = self.text[len(text) :], []

    def lose_last(self) -> None:
        """Take the last token away."""
        self.text, self.last, self.pieces = self.text.removesuffix(self.last), "", self.pieces[:-1]

    def tokens(self, text: str) -> tuple[Token, ...]:
        """Tokens that spell *text* or its beginning, by their text alone; one where they are not known."""
        if not self.pieces:
            return (Token(NO_ID, text.encode()),) if text else ()
        found = spelled(range(len(self.pieces)), dict(enumerate(p for p, _ in self.pieces)), text)
        return tuple(t._replace(id=NO_ID, logprob=self.pieces[t.id][1]) for t in found)


async def read(events: AsyncIterator[Object], url: str) -> Answer:
    """All of the answer. Raises BackendUnavailable where it breaks off, or what its error means."""
    answer, started = Answer(), time.perf_counter()
    async for event in events:
        _take(answer, event)
        answer.total_ms = (time.perf_counter() - started) * 1000
        if not answer.prompt_ms and (answer.text or answer.ended):
            answer.prompt_ms = answer.total_ms
    if not answer.ended:
        raise BackendUnavailable(f"{url} broke off in the middle of an answer")
    return answer


def _take(answer: Answer, event: Object) -> None:
    if error := event.get("error"):
        raise _meant(error.get("message", "") if isinstance(error, dict) else str(error))
    answer.usage = event.get("usage") or answer.usage
    for choice in (event.get("choices") or [])[:1]:
        answer.last = choice.get("text") or answer.last
        answer.text += choice.get("text") or ""
        answer.ended = choice.get("finish_reason") or answer.ended
        answer.pieces += _pieces(choice.get("logprobs") or {})


def _pieces(logprobs: Object) -> list[tuple[bytes, float | None]]:
    """llama.cpp's shape, or OpenAI's for completions."""
    if "content" in logprobs:
        return [
            (bytes(entry["bytes"]), entry["logprob"])
            for entry in logprobs["content"]
            if "bytes" in entry
        ]
    tokens, values = logprobs.get("tokens") or [], logprobs.get("token_logprobs") or []
    return [(t.encode(), value) for t, value in zip(tokens, values, strict=False)]


def _meant(message: str) -> BackendError:
    """The error that a message in a stream stands for."""
    return too_long(message) or BackendUnavailable(f"the server failed: {message}")


def too_long(message: str) -> PromptTooLong | None:
    """A refusal in words as numbers, if it is about the length."""
    if found := LIMIT.search(message):
        n_ctx, largest = int(found[1]), max(map(int, COUNTS.findall(message)), default=0)
        return PromptTooLong(largest, n_ctx) if largest > n_ctx else None
    return None


def refused(error: BackendRejected) -> BackendRejected:
    """The same refusal, in numbers where it is about the length."""
    return too_long(str(error)) or error
