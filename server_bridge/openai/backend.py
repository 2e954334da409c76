"""
An OpenAI-style `/v1/completions` server as a `Backend`: prompts as text that we lay out ourselves.

vLLM, SGLang, mlx_lm.server, Ollama, LM Studio, llama.cpp. Their `suffix` field is ignored, refused
or left to a chat template, so the special tokens stand in the prompt. Such a server does not tell
what it holds: the cache is estimated in characters, and corrected by the usage at the end of an
answer. Answers are streamed, for only then a server notices that the client is gone.

Token healing: the prompt ends before the half word, and the server is made to begin its answer with
it where it can be (vLLM). Elsewhere an answer that does not begin with it is asked for again with
the half word in the prompt.

mlx_lm.server keeps what it evaluated for a request that was closed only if that has a `seed`; so
each has one (8,292 of 8,293 tokens against 2, closed at the first sign of life, 0.32.2). Without
one it also serves requests in batches, and an error in one ends its thread. Some versions fail at a
prompt that is exactly what they have cached, an earlier prompt and its answer. So a whole answer
there is one token longer than what is used of it, and where a prompt should be such a whole all the
same, its last word is held back and forced likewise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import replace

from server_bridge.fim.layout import Part, render
from server_bridge.http.client import Http
from server_bridge.http.responses import Object, ServerError, Stateful
from server_bridge.openai import completion, portions
from server_bridge.openai.cuts import cut, last_word
from server_bridge.openai.models import SMALL_CONTEXT, ModelInUse, choose_model
from server_bridge.openai.stream import TurnLost
from server_bridge.openai.text_client import TextClient
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnusable,
    Engine,
    Health,
    Measure,
    Model,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    State,
    Stop,
    Warmed,
)

ASKS = 3  # for a context that the list did not say: most servers that never do have their default
TAIL = 16  # tokens; fewer cost no more than the request that would evaluate them ahead


class OpenAiServer(Stateful):
    """
    One server that the user named; *template* names the family where its model's name does not.

    *n_ctx* is the user's word for the context in tokens, 0 to believe the server.
    """

    def __init__(self, http: Http, model: str = "", template: str = "", n_ctx: int = 0) -> None:
        self._http = http
        self._model = model
        self._template = template
        self._n_ctx = n_ctx
        self._asks = ASKS
        self._state = State(Health.UNKNOWN, "openai", http.url)
        self._client: TextClient | None = None
        self._connecting = asyncio.Lock()
        self.on_change: Callable[[], None] = lambda: None

    @property
    def state(self) -> State:
        """The last known state."""
        if self._client is None:
            return self._state
        client = self._client
        state = replace(self._state, n_ctx=client.n_ctx, **client.estimate.speeds.values)
        state = replace(state, engine=Engine(client.engine, client.guessed))
        message = client.waking.message
        return replace(state, health=Health.LOADING, message=message) if message else state

    async def connect(self) -> Model:
        """
        Ask which model is there; one that is known is asked for where only that fails. A router may
        go on asking a replica that is dead, while completions move on to another one.
        """
        async with self._connecting:
            await self._wait_awake()
            if not self._state.is_ready:
                try:
                    with self._noting_failures():
                        self._use(await self._choose_model())
                except (ServerError, BackendTimeout):
                    if not self._client:
                        raise
                    self._state = replace(self._state, health=Health.READY, message="")
        return self

    async def measure(self, prompt: Prompt) -> Measure:
        """Estimate the prompt by parts."""
        client, parts = await self._render(prompt)
        estimate = client.estimate
        counts = [(part.kind, estimate.tokens(len(part.text))) for part in parts]
        return Measure.of(counts, estimate.tokens(estimate.count_held(_join(parts))))

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """See `Model`; one token is generated all the same."""
        client, text = await self._text(prompt)
        # The list may have been odd, or without the model that the user named, just then.
        if self._model and not self._n_ctx and self._asks and client.n_ctx == SMALL_CONTEXT:
            self._asks -= 1
            await self._meet_another(client.connected)
            client, text = await self._text(prompt)
        estimate = client.estimate
        held = estimate.count_held(text)
        part = cut(text, held, held + max(1, int(step * estimate.speeds.chars_per_token.value)))
        part = part[:-1] if _is_fatal(client, part) else part
        is_short = estimate.tokens(len(text) - held) <= TAIL or len(part) <= held
        # A template makes another text of half a message than of all of it.
        # Where it keeps one prompt, another one is evaluated in its place.
        if is_short or prompt.turns or prompt.aside or not estimate.keeps:
            return Warmed(evaluated=0, left=0)
        answers = client.ask(part, completion.PREFILL, whole=True)
        with self._noting_failures():
            try:
                async with aclosing(answers):
                    answer = await anext(answers)
            except TurnLost:  # and with it what was evaluated
                return Warmed(evaluated=0, left=0)
            except (BackendRejected, BackendUnusable) as error:
                if not await self._has_another(error):
                    raise
                return Warmed(evaluated=0, left=0)  # the next step has the new model's prompt
        left = estimate.tokens(len(text) - len(part))
        # It may wait its turn, which only a stream can leave, or have told that it keeps nothing.
        goes_on = answer.is_begun and left > TAIL and estimate.keeps
        n_evaluated = answer.cost.prompt_n if answer.is_begun else 0
        return Warmed(n_evaluated, left if goes_on else 0)

    async def complete(self, request: Request) -> Reply:
        """Decode at most `n_predict` tokens; once more, not streamed, where the turn was lost."""
        with self._noting_failures():
            try:
                return await self._whole(request)
            except TurnLost:
                await portions.wait_turn()
                return await self._whole(request)

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        """See `Model`; the tokens are estimated, because a closed stream tells no usage."""
        streamed = self._replies(request, whole=False)
        replies = portions.stream_in_turn(self.complete, streamed, request)
        with self._noting_failures():
            async with aclosing(replies):
                async for reply in replies:
                    yield reply

    async def _whole(self, request: Request) -> Reply:
        async with aclosing(self._replies(request, whole=True)) as replies:
            return [reply async for reply in replies][-1]

    async def save(self, prompt: Prompt, files: tuple[str, ...] = ()) -> int:  # noqa: ARG002
        """Return 0: such a server has no way to write down what it evaluated."""
        return 0

    async def restore(self, prompt: Prompt) -> int:  # noqa: ARG002
        """See `save`."""
        return 0

    async def disconnect(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.waking.aclose()
        await self._http.aclose()
        self._state = replace(self._state, health=Health.UNKNOWN)

    aclose = disconnect

    async def _wait_awake(self) -> None:
        """Wait while the server loads its model, if it does."""
        try:
            if self._client is not None and await self._client.waking.wait():
                self._state = replace(self._state, health=Health.READY, message="")
        except BackendError as error:
            self._state = replace(self._state, health=Health.DOWN, message=str(error))
            raise

    async def _choose_model(self) -> ModelInUse:
        known = self._client.connected if self._client else None
        return await choose_model(self._http, self._model, self._template, self._n_ctx, known)

    async def _meet_another(self, used: ModelInUse) -> bool:
        """
        Return whether another model than the *used* one is there now, which is used from now on; a
        list that cannot be read tells nothing.
        """
        with suppress(BackendError):
            if (in_use := await self._choose_model()) != used:
                self._use(in_use)
                return True
        return False

    def _use(self, in_use: ModelInUse) -> None:
        """Ask that model; what the server holds is unknown."""
        self._client = TextClient(self._http, in_use, self._client)
        self._state = replace(
            self._state,
            health=Health.READY,
            model=in_use.model,
            message="",
            second_best=in_use.second_best,
            fills_only=in_use.fills_only,
        )

    async def _ensure_connected(self) -> TextClient:
        if self._client is not None:
            self._client.waking.check()
        if not self._state.is_ready:
            await self.connect()
        assert self._client is not None
        return self._client

    async def _render(self, prompt: Prompt) -> tuple[TextClient, list[Part]]:
        client = await self._ensure_connected()
        family = client.connected.family
        return client, completion.instructions(prompt) if prompt.turns else render(prompt, family)

    async def _text(self, prompt: Prompt) -> tuple[TextClient, str]:
        """Return the prompt as text. Raises `PromptTooLong` where no token more has room."""
        client, parts = await self._render(prompt)
        text = _join(parts)
        n_tokens = client.estimate.tokens(len(text)) + 1
        if n_tokens > client.n_ctx:
            raise PromptTooLong(n_tokens, client.n_ctx)
        return client, text

    async def _has_another(self, error: BackendError) -> bool:
        """
        Return whether the server has another model now, which may be why it refused a request.
        """
        client = None if self._model or isinstance(error, PromptTooLong) else self._client
        return client is not None and await self._meet_another(client.connected)

    async def _replies(self, request: Request, *, whole: bool) -> AsyncGenerator[Reply, None]:
        """Yield the replies to *request*; it is asked again where the model was swapped."""
        is_begun = False
        while True:
            try:
                async with aclosing(self._ask(request, whole=whole)) as replies:
                    async for reply in replies:
                        is_begun = True
                        yield reply
                return
            except (BackendRejected, BackendUnusable) as error:
                if is_begun or not await self._has_another(error):
                    raise
                is_begun = True

    async def _ask(self, request: Request, *, whole: bool) -> AsyncGenerator[Reply, None]:
        """
        Yield the replies to *request*, a *whole* one or pieces; without token healing where the
        answer does not begin with the half word.
        """
        forced = request.prompt.forced
        client = await self._ensure_connected()
        if request.prompt.turns:  # the answer begins and ends its block itself
            request = replace(request, prompt=replace(request.prompt, middle=""), stop=())
        is_chat = client.connected.is_chat or bool(request.prompt.turns)
        for before in (forced,) if is_chat else ("", forced):
            prompt = request.prompt
            client, text = await self._text(replace(prompt, middle=prompt.middle + before))
            held = last_word(text) if _is_fatal(client, text) else ""
            wanted = held + ("" if before or is_chat else forced)
            pieces = completion.GrowingReplies(request, before, client.n_ctx)
            options = _options(client, request, held, whole=whole, guides=not before)
            asked = client.ask(text.removesuffix(held), options, whole=whole)
            async with aclosing(asked) as answers:
                async for answer in answers:
                    if not completion.agrees(answer, wanted):
                        break
                    answer.lose(held)
                    reply = pieces.reply(answer)
                    yield reply
                    if reply.stop is not Stop.LIMIT:
                        return
                else:
                    return
        raise BackendTimeout("mlx_lm.server cannot continue here; type one more key")


def _options(
    client: TextClient, request: Request, held: str, *, whole: bool, guides: bool
) -> Object:
    if request.prompt.turns:
        messages = completion.messages(request.prompt)
        return {**completion.options(request), **messages}
    if client.connected.is_chat:
        return completion.chat_options(request)
    if client.connected.is_mlx:
        request = replace(request, stop=())
    options = completion.options(request, held, guides=guides and client.guides)
    options["max_tokens"] += int(whole and client.connected.is_mlx)
    return options


def _is_fatal(client: TextClient, text: str) -> bool:
    """Return whether mlx_lm.server would die of it."""
    return client.connected.is_mlx and client.estimate.is_whole(text)


def _join(parts: list[Part]) -> str:
    return "".join(part.text for part in parts)
