"""
An OpenAI-style `/v1/completions` server as a `Backend`: prompts as text that we lay out ourselves.

vLLM, SGLang, mlx_lm.server, Ollama, LM Studio, llama.cpp. Their `suffix` field is ignored, refused or
left to a chat template, so the special tokens stand in the prompt. What such a server holds cannot be
asked; it is estimated in characters and corrected by the usage at the end of an answer. Answers
are streamed, for only then a server notices that the client is gone. mlx_lm.server does not, and forgets what it
evaluated for a request that was cancelled: there nothing is ever cancelled on purpose.

Token healing: the prompt ends before the half word, and the server is made to begin its answer with it where it can
be (vLLM). Elsewhere an answer that does not begin with it is asked for again with the half word in the prompt.

mlx_lm.server 0.32 dies of a prompt that is exactly what it has cached, an earlier prompt and its
answer. So a request there makes one token more than is used, and where a prompt should be such a whole
all the same, its last word is held back and forced likewise.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import replace

from server_bridge import running_mean, short_requests
from server_bridge.fim.text import Part, rendered
from server_bridge.fim.tokens import PLAIN
from server_bridge.http.client import FORWARD_S, Http
from server_bridge.http.responses import state_after
from server_bridge.http.shapes import Object
from server_bridge.openai import chat, completion, stream
from server_bridge.openai.cache_estimate import CacheEstimate, cut, last_word
from server_bridge.openai.models import TEMPLATES, Connected, connected
from server_bridge.openai.stream import StreamedAnswer
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnusable,
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
    Warmed,
)

log = logging.getLogger(__name__)

TAIL = 16  # tokens; fewer cost no more than the request that would evaluate them ahead
NO_CHAT = "{} refuses chats: set fim.backend.template to what its model was trained on, one of {}"
ENOUGH_TOKENS = 32  # shorter prefills measure the request, not the speed


class OpenAiServer:
    """
    One server that the user named; *template* names the family where its model's name does not.

    *n_ctx* is the user's word for the context in tokens, 0 to believe the server.
    """

    def __init__(self, http: Http, model: str = "", template: str = "", n_ctx: int = 0) -> None:
        self._http = http
        self._forwards = http.another(_named_by_the_user)
        self._forwards.patience_s = FORWARD_S
        self._model = model
        self._template = template
        self._n_ctx = n_ctx
        self._state = State(Health.UNKNOWN, "openai", http.url)
        self._connected: Connected | None = None
        self._estimate = CacheEstimate(self._state.chars_per_token)
        self._prefill_per_s = running_mean.prefill_per_s(self._state.prefill_per_s)
        self._decode_ms = running_mean.decode_ms(self._state.decode_ms)
        self._connecting = asyncio.Lock()
        self._is_told = True  # of options for its chat template
        self._engine = ""
        self._refuses_guides = False

    @property
    def state(self) -> State:
        """What is known now."""
        return replace(
            self._state,
            chars_per_token=self._estimate.chars_per_token,
            prefill_per_s=self._prefill_per_s.value,
            decode_ms=self._decode_ms.value,
        )

    async def connect(self) -> State:
        """Ask which model is there."""
        async with self._connecting:
            if self._state.health is not Health.READY:
                try:
                    await self._meet()
                except BackendError as error:
                    self._state = state_after(self._state, error)
                    raise
        return self.state

    async def measure(self, prompt: Prompt) -> Measure:
        """Estimate the prompt by parts."""
        parts = await self._rendered(prompt)
        counts = [self._estimate.tokens(len(part.text)) for part in parts]
        by_kind = {part.kind: n for part, n in zip(parts, counts, strict=True)}
        held = self._estimate.held(_joined(parts))
        return Measure(
            total=sum(counts),
            cached=min(self._estimate.tokens(held), sum(counts)),
            repo=by_kind.get("repo", 0),
            chunks=tuple(n for part, n in zip(parts, counts, strict=True) if part.kind == "chunk"),
            path=by_kind.get("path", 0),
            prefix=by_kind["prefix"],
            suffix=by_kind["suffix"],
            middle=by_kind["middle"],
        )

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """Have about *step* more tokens evaluated; one token is generated all the same."""
        text = _joined(await self._rendered(prompt))
        self._check_size(text, 1)
        held = self._estimate.held(text)
        if self._estimate.tokens(len(text) - held) <= TAIL or not self._estimate.keeps:
            return Warmed(evaluated=0, left=0)
        part = cut(text, held, held + max(1, int(step * self._estimate.chars_per_token)))
        if self._is_fatal(part):
            part = part[:-1]
        _, timings = await self._ask(part, completion.PREFILL)
        left = self._estimate.tokens(len(text) - len(part))
        return Warmed(timings.prompt_n, left if left > TAIL else 0)

    async def complete(self, request: Request) -> Reply:
        """Decode at most `n_predict` tokens."""
        prompt = request.prompt
        text = _joined(await self._rendered(prompt))
        self._check_size(text, request.n_predict)
        if self._is_chat:
            return await self._unhealed(request)
        held = last_word(text) if self._is_fatal(text) else ""
        cut_text = text[: len(text) - len(held)]
        answer, timings = await self._decode(cut_text, request, held, guides=self._guides)
        if not completion.agrees(answer, held + prompt.forced):
            return await self._unhealed(request)
        answer.lose(held)
        return completion.reply(answer, request, timings, self._state.n_ctx)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        """See `Backend`; what is evaluated is an estimate, because a closed stream tells no usage."""
        await self.connect()
        if self._is_mlx:
            replies = short_requests.stream(self.complete, request, self.state)
        else:
            replies = self._streamed_replies(request)
        async with aclosing(replies):
            async for reply in replies:
                yield reply

    async def save(self, prompt: Prompt) -> int:  # noqa: ARG002
        """Such a server has no way to write down what it evaluated."""
        return 0

    async def restore(self, prompt: Prompt) -> int:  # noqa: ARG002
        """See `save`."""
        return 0

    async def continue_long(
        self,
        prompt: Prompt,  # noqa: ARG002
        n_predict: int,  # noqa: ARG002
        sink: Sink,  # noqa: ARG002
    ) -> AsyncGenerator[str, None]:
        """Raise: no such server generates past its context."""
        raise BackendUnusable(
            f"{self._http.url} cannot write past its context: that takes a llama.cpp server "
            "(fim.backend.kind llama-server or embedded)"
        )
        yield ""  # what makes it a generator

    async def forward(self, path: str, body: bytes) -> AsyncGenerator[Object, None]:
        """See `Backend`."""
        await self.connect()
        async with aclosing(self._forwards.stream(path, body)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()
        await self._forwards.aclose()
        self._state = replace(self._state, health=Health.UNKNOWN)

    async def _meet(self) -> None:
        """Learn which model is there; what the server holds is unknown then."""
        self._connected = found = await connected(self._http, self._model, self._template)
        self._estimate = CacheEstimate(self._estimate.chars_per_token)
        self._engine, self._refuses_guides = found.owner, False
        self._state = replace(
            self._state,
            health=Health.READY,
            model=found.model,
            n_ctx=self._n_ctx or found.n_ctx,
            message="",
            streams=not found.is_mlx,
            second_best=_second_best(found),
        )

    async def _rendered(self, prompt: Prompt) -> list[Part]:
        if self._state.health is not Health.READY:
            await self.connect()
        assert self._connected is not None
        return rendered(prompt, self._connected.family)

    @property
    def _is_chat(self) -> bool:
        return self._connected is not None and self._connected.is_chat

    def _options(self, request: Request, held: str = "", *, guides: bool = False) -> Object:
        if self._is_chat:
            return chat.options(request)
        return completion.options(request, held, is_mlx=self._is_mlx, guides=guides)

    @property
    def _guides(self) -> bool:
        """Whether an answer can be made to begin with a text; behind a router only an answer tells."""
        return self._engine.startswith("vllm") and not self._refuses_guides

    @property
    def _is_mlx(self) -> bool:
        return self._connected is not None and self._connected.is_mlx

    def _is_fatal(self, text: str) -> bool:
        """Whether mlx_lm.server would die of it."""
        return self._is_mlx and self._estimate.is_whole(text)

    def _check_size(self, text: str, n_predict: int) -> None:
        n_tokens = self._estimate.tokens(len(text)) + n_predict
        if n_tokens > self._state.n_ctx:
            raise PromptTooLong(n_tokens, self._state.n_ctx)

    async def _unhealed(self, request: Request) -> Reply:
        """The reply to a prompt that ends with the half word."""
        prompt = request.prompt
        text = _joined(await self._rendered(replace(prompt, middle=prompt.middle + prompt.forced)))
        answer, timings = await self._decode(text, request)
        answer.begin_with(prompt.forced)
        return completion.reply(answer, request, timings, self._state.n_ctx)

    async def _decode(
        self, text: str, request: Request, held: str = "", *, guides: bool = False
    ) -> tuple[StreamedAnswer, Timings]:
        """One request, *held* coming before what was asked for."""
        answer, timings = await self._ask(text, self._options(request, held, guides=guides))
        if (
            self._is_mlx
            and not self._is_chat
            and answer.ended == "length"
            and answer.text != answer.last
        ):
            answer.lose_last()
        return answer, timings

    async def _ask(self, text: str, options: Object) -> tuple[StreamedAnswer, Timings]:
        """One request and all of its answer; what it says about the server is kept."""
        if self._is_fatal(text):
            raise BackendTimeout("mlx_lm.server cannot go on from there; one more key and it can")
        try:
            whole = self._whole(text, options)
            answer, timings = await asyncio.wait_for(whole, self._http.patience_s)
        except asyncio.TimeoutError:
            raise BackendTimeout(f"{self._http.url} did not answer in time") from None
        self._estimate.wholes(text + answer.text, options.get("stop", ()))
        return answer, timings

    async def _whole(self, text: str, options: Object) -> tuple[StreamedAnswer, Timings]:
        async with aclosing(self._growing(text, options)) as answers:
            return [each async for each in answers][-1]

    async def _streamed_replies(self, request: Request) -> AsyncGenerator[Reply, None]:
        """The replies to *request*; without token healing where the answer does not begin with the half word."""
        prompt = request.prompt
        for before in (prompt.forced,) if self._is_chat else ("", prompt.forced):
            asked = replace(prompt, middle=prompt.middle + before)
            text = _joined(await self._rendered(asked))
            self._check_size(text, 1)
            pieces, known = completion.Pieces(request, before, self._state.n_ctx), None
            options = self._options(request, guides=self._guides and not before)
            answers = self._growing(text, options)
            async with aclosing(answers):
                async for answer, timings in answers:
                    if not before and not self._is_chat and not pieces.agrees(answer):
                        break
                    reply = pieces.reply(answer, timings.since(known) if known else timings)
                    if reply is not None:
                        known = timings
                        yield reply
                        if reply.stop is not Stop.LIMIT:
                            return
                else:
                    return

    async def _growing(
        self, text: str, options: Object
    ) -> AsyncGenerator[tuple[StreamedAnswer, Timings], None]:
        """See `_asked`; a server that refuses to be guided is asked without, from now on."""
        try:
            async with aclosing(self._asked(text, options)) as answers:
                async for each in answers:
                    yield each
        except BackendRejected as error:
            if completion.GUIDE not in options or isinstance(error, PromptTooLong):
                raise
            log.info("openai.unguided url=%s reason=%s", self._http.url, error)
            self._refuses_guides = True
            unguided = {name: each for name, each in options.items() if name != completion.GUIDE}
            async with aclosing(self._asked(text, unguided)) as answers:
                async for each in answers:
                    yield each

    async def _asked(
        self, text: str, options: Object
    ) -> AsyncGenerator[tuple[StreamedAnswer, Timings], None]:
        """The answer after each event, and what it cost; what that says of the server is kept, also when this is closed."""
        assert self._connected is not None
        fields = {"stream": True, "stream_options": {"include_usage": True}}
        path, asked = "/v1/completions", {"prompt": text}
        if self._is_chat:
            path, asked = "/v1/chat/completions", chat.fields(text, is_told=self._is_told)
        body = {**asked, **fields, **self._connected.fields, **options}
        events = self._http.stream(path, json.dumps(body).encode())
        n_held = self._estimate.tokens(self._estimate.held(text))
        answer, timings, line = None, Timings(), chat.last_line(text)
        with self._noting_failures(text):
            try:
                growing = stream.growing(events, self._http.url)
                async with aclosing(events), aclosing(growing) as answers:
                    async for answer in answers:
                        timings = self._timings(answer, len(text), n_held)
                        yield chat.code(answer, line) if self._is_chat else answer, timings
            finally:
                if answer is not None:
                    self._engine = answer.engine or self._engine
                    self._estimate.sent(text, answer.n_prompt, answer.n_cached)
                    self._learn_speeds(timings)

    @contextmanager
    def _noting_failures(self, text: str) -> Iterator[None]:
        """Keep what a failure says about the server, and about the length of *text*."""
        try:
            yield
        except BackendRejected as error:
            refused = stream.refused(error)
            if isinstance(refused, PromptTooLong):
                self._estimate.sent(text, refused.n_prompt, None)  # it has told how long it is
            elif self._is_chat and self._is_told:
                self._is_told = False  # OpenAI's own refuses what it does not know
            elif self._is_chat:
                failure = BackendUnusable(NO_CHAT.format(self._http.url, TEMPLATES))
                self._state = state_after(self._state, failure)
                raise failure from None
            raise refused from None
        except BackendError as error:
            self._state = state_after(self._state, error)
            raise

    def _timings(self, answer: StreamedAnswer, n_chars: int, n_held: int) -> Timings:
        """What a text of *n_chars* cost, of which the server should have held *n_held* tokens."""
        total = answer.n_prompt or self._estimate.tokens(n_chars)
        told = answer.n_cached
        cached = min(self._estimate.reused(n_held) if told is None else told, total)
        return Timings(
            prompt_n=total - cached,
            cache_n=cached,
            predicted_n=answer.n_made or len(answer.pieces),
            prompt_ms=answer.prompt_ms,
            predicted_ms=answer.total_ms - answer.prompt_ms,
        )

    def _learn_speeds(self, timings: Timings) -> None:
        log.debug("%d tokens evaluated, %d reused", timings.prompt_n, timings.cache_n)
        if timings.prompt_n >= ENOUGH_TOKENS and timings.prompt_ms:
            self._prefill_per_s.add(1000 * timings.prompt_n / timings.prompt_ms)
        if timings.predicted_n > 1:  # the first token comes of the prompt
            self._decode_ms.add(timings.predicted_ms / (timings.predicted_n - 1))


def _second_best(found: Connected) -> str:
    """Why a model is not the right one, as far as its name tells."""
    if found.is_chat:
        return (
            f"{found.model} is asked in words to fill in the gap, because its name tells of no tokens for that "
            "(if it has them, name them by fim.backend.template)"
        )
    if found.family == PLAIN:
        return f"{found.model} is shown what stands above the cursor alone"
    return ""


async def _named_by_the_user() -> None:
    """Such a server is believed."""


def _joined(parts: list[Part]) -> str:
    return "".join(part.text for part in parts)
