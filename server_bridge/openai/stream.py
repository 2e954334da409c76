"""
The events of an OpenAI-style `/v1/completions`, or of its chats, into one `StreamedAnswer`. Pure
but for the clock.

Servers differ in what they tell: llama.cpp and vLLM give log-probabilities in two shapes, mlx_lm
none while streaming; some leave out the usage. Every field is taken where it is, none is needed but
the text and a sign that it ends: a reason, `[DONE]` or the usage. An answer without any broke off.

llama-cpp-python's server ends a stream as soon as another request waits (`interrupt_requests`, its
default): `[DONE]` without a reason, and the connection is dropped. Such an event is neither an end,
for the text stops in the middle of a word, nor a failure: the turn of the request was lost.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from server_bridge.fim.layout import find_spelling
from server_bridge.http import responses
from server_bridge.http.answer_bounds import AnswerBounds, until_late
from server_bridge.http.key_refusals import refusal
from server_bridge.http.responses import Count, Object, Octet, Unproven, log_probability, optional
from server_bridge.openai import lengths
from server_bridge.protocol import (
    NO_ID,
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    Timings,
    Token,
)

THOUGHTS = 256  # more events without text than tokens: a model that thinks makes one in each
SpelledPiece = tuple[bytes, "float | None"]


class TextPart(Struct):
    """One of the parts that the text of a chat may come in."""

    type: str = "text"
    text: str | None = None


class ChatText(Struct):
    """The text of a chat model, or the next piece of it; *reasoning* are its thoughts."""

    content: str | list[TextPart] | None = None
    reasoning: object = None
    reasoning_content: object = None


class Choice(Struct):
    """One text of an event, of a chat in *delta* or *message*; for *logprobs* see `_pieces`."""

    text: str | None = None
    delta: ChatText | None = None
    message: ChatText | None = None
    finish_reason: object = None
    logprobs: object = None

    @property
    def any_text(self) -> str:
        """The text, wherever it stands."""
        chat = self.delta or self.message
        said = self.text or (chat.content if chat else None) or ""
        if isinstance(said, str):
            return said
        return "".join(part.text or "" for part in said if part.type == "text")


class CompletionEvent(Struct):
    """One event of a stream; *done* is `events.DONE`, *kind* may say that it is an error."""

    choices: list[Choice | None] | None = None
    usage: object = None
    system_fingerprint: object = None
    error: object = None
    kind: object = msgspec.field(name="object", default=None)
    message: object = None
    done: object = None


class Details(Struct):
    """`prompt_tokens_details`."""

    cached_tokens: Count | None = None


class Usage(Struct):
    """The tokens of a prompt and its answer, 0 where the server does not say."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    prompt_tokens_details: Details | None = None


class LlamaToken(Struct):
    """llama.cpp's way to tell of one token."""

    bytes: list[Octet] | None = None
    logprob: float | None = None


class LlamaLogprobs(Struct):
    """llama.cpp's way to tell of several."""

    content: list[LlamaToken]


class OpenAiLogprobs(Struct):
    """OpenAI's way, which vLLM and SGLang copy: two lists side by side."""

    tokens: list[str]
    token_logprobs: list[float | None]


class Fault(Struct):
    """An error in a stream; *code* may be a status of HTTP."""

    message: str = ""
    code: object = None


class NothingSaid(BackendUnavailable):
    """The answer has no event. With llama-cpp-python's server the prompt may be too long."""


class TurnLost(BackendTimeout):
    """The server gave the turn of this request to another one: ask again, nothing is wrong."""


@dataclass(slots=True)
class StreamedAnswer:
    """
    One answer as far as it came; *ended* is OpenAI's finish reason, "" before the end. *is_begun*:
    it is computed, and waits its turn no more; *is_all*: the server has said that it ends, if only
    by its usage. *cost* is what it took so far, as the client that asked reckons it.
    """

    text: str = ""
    last: str = ""  # what came last: a token, as a rule
    half: str = ""  # of a character, of which the other half has not come
    ended: str = ""
    is_begun: bool = False
    is_all: bool = False
    engine: str = ""  # its name and version, where it tells
    usage: Usage = field(default_factory=Usage)
    pieces: list[SpelledPiece] = field(default_factory=list)
    prompt_ms: float = 0.0
    total_ms: float = 0.0
    cost: Timings = field(default_factory=Timings)

    @property
    def n_cached(self) -> int | None:
        """Tokens of the prompt that were reused, None if the server does not say."""
        details = self.usage.prompt_tokens_details
        return details.cached_tokens if details else None

    def lose(self, text: str) -> None:
        """Take *text*, which the answer begins with, away."""
        if text:
            self.text = self.text[len(text) :]
            self.pieces = []

    def lose_last(self) -> None:
        """Take the last token away."""
        self.text = self.text.removesuffix(self.last)
        self.last = ""
        self.pieces = self.pieces[:-1]

    def tokens(self, text: str, first: int = 0) -> tuple[Token, ...]:
        """
        Return tokens from the *first* piece on that spell *text* or its beginning; one token where
        they are not known.
        """
        pieces = self.pieces[first:]
        if not pieces:
            return (Token(NO_ID, text.encode()),) if text else ()
        spelled = find_spelling(range(len(pieces)), dict(enumerate(p for p, _ in pieces)), text)
        return tuple(t._replace(id=NO_ID, logprob=pieces[t.id][1]) for t in spelled)


async def read_answer(
    events: AsyncIterator[Object], url: str, n_predict: int
) -> AsyncGenerator[StreamedAnswer, None]:
    """
    Yield the answer of *n_predict* tokens after each event, always the same object, and at its end
    once more.

    Raises NothingSaid where there is no event, TurnLost where the server drops an answer that it
    calls done without a reason, BackendUnavailable where it breaks off, or what its error means.
    """
    answer = StreamedAnswer()
    started = time.perf_counter()
    bounds = AnswerBounds(url, n_predict, n_predict + THOUGHTS)
    with _noting_drop(answer, url):
        async for event in until_late(events, lambda: bool(answer.ended)):
            if event is not responses.SIGN:
                _take(answer, responses.read(CompletionEvent, event, url), url)
                bounds.note(len(answer.text))
                answer.is_begun = True
                answer.total_ms = (time.perf_counter() - started) * 1000
            elif not answer.is_begun:
                started = time.perf_counter()
            if not answer.prompt_ms and (answer.text or answer.ended):
                answer.prompt_ms = answer.total_ms
            if not answer.ended:  # the usage comes after the end
                yield answer
    if not (answer.is_begun or answer.ended):
        raise NothingSaid(f"{url} answered nothing")
    if not answer.ended and not answer.is_all:
        raise BackendUnavailable(f"{url} broke off in the middle of an answer")
    is_long = (answer.usage.completion_tokens or len(answer.pieces)) >= n_predict
    answer.ended = answer.ended or ("length" if is_long else "stop")
    yield answer


@contextmanager
def _noting_drop(answer: StreamedAnswer, url: str) -> Iterator[None]:
    """Decide what it means that the connection is dropped: nothing, behind a reason for the end."""
    try:
        yield
    except Unproven:
        if answer.is_all and not answer.ended:
            raise TurnLost(f"{url} gave the turn of this request to another one") from None
        if not answer.ended:
            raise


def _take(answer: StreamedAnswer, event: CompletionEvent, url: str) -> None:
    if event.error or event.kind == "error":
        raise _map_fault(event.error or event.message, url)
    if isinstance(event.system_fingerprint, str):
        answer.engine = responses.label(event.system_fingerprint)
    usage = optional(Usage, event.usage)
    answer.usage = usage or answer.usage
    answer.is_all |= bool(event.done or (usage and not event.choices and answer.text))
    for choice in filter(None, (event.choices or [])[:1]):
        if _is_said_again(answer, choice):
            answer.ended = str(choice.finish_reason or answer.ended)
            continue
        text, answer.half = join_halves(answer.half + choice.any_text)
        answer.last = text or answer.last
        answer.text += text
        if choice.finish_reason:
            answer.ended = str(choice.finish_reason)
        answer.pieces += _pieces(choice.logprobs)


def _is_said_again(answer: StreamedAnswer, choice: Choice) -> bool:
    """Return whether *choice* has all the text again that came in pieces: some servers end so."""
    is_end = choice.finish_reason or (choice.message and not choice.delta)
    return bool(is_end and choice.any_text == answer.text != answer.last)


def join_halves(text: str) -> tuple[str, str]:
    """
    Return *text* with its surrogates joined to characters, those that stand alone as U+FFFD; and
    the last one, if its other half may follow.
    """
    if text.isascii():
        return text, ""
    half = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
    whole = text[: len(text) - len(half)]
    return whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), half


def _pieces(logprobs: object) -> list[SpelledPiece]:
    """Return tokens in llama.cpp's shape, or in OpenAI's for completions; none in any other."""
    if llama := optional(LlamaLogprobs, logprobs):
        tokens = [token for token in llama.content if token.bytes is not None]
        return [(bytes(token.bytes or ()), log_probability(token.logprob)) for token in tokens]
    if openai := optional(OpenAiLogprobs, logprobs):
        pairs = zip(openai.tokens, openai.token_logprobs, strict=False)
        return [
            (text.encode(errors="replace"), log_probability(logprob)) for text, logprob in pairs
        ]
    return []


def _map_fault(error: object, url: str) -> BackendError:
    """Return the error that one in a stream stands for."""
    fault = optional(Fault, error)
    message = fault.message if fault else error if isinstance(error, str) else ""
    if refused := refusal(url, responses.OK, {"error": error}, responses.NOTHING):
        return refused
    failure: BackendError = BackendUnavailable(f"{url} failed in the middle of an answer")
    if lengths.is_length(message) or (fault and str(fault.code) in map(str, responses.REFUSALS)):
        failure = BackendRejected(f"{url} refuses the request")
        failure.status = min(responses.REFUSALS)
    failure.server_text = message
    return failure
