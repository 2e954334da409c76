"""
Texts to one OpenAI-style server, its answers as they grow, and what each teaches of it.

The prompt that the server holds is estimated, its speed is measured; the fields that it does not
take show when it refuses a request, and so may its context.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from server_bridge.http.client import Http
from server_bridge.http.fields import OptionalFields
from server_bridge.http.responses import REFUSALS, Object, label
from server_bridge.openai import completion, lengths, stream
from server_bridge.openai.cache_estimate import CacheEstimate
from server_bridge.openai.completion import GUIDE, MOST_STOPS, OPTIONAL
from server_bridge.openai.models import CHATS, COMPLETIONS, TEMPLATES, ModelInUse, list_models
from server_bridge.openai.stream import NothingSaid, StreamedAnswer, TurnLost
from server_bridge.openai.waking import Waking
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    BackendUnusable,
    PromptTooLong,
    Timings,
)
from server_bridge.speeds import Speeds

# mlx_lm.server's words, 0.32
MLX_REFUSES = "logprobs must be of type bool"
MLX_DIED = "generation thread died"
QUEUE_S = 20.0  # for a whole answer where clients wait for each other
NO_CHATS = (*REFUSALS, 404, 405)
NO_CHAT = "{} refuses chats: set fim.backend.template to what its model was trained on, one of {}"

log = logging.getLogger(__name__)


class TextClient:
    """
    One server that takes texts. *known*: what was learned of the same server before.

    *loses_turns*: it ends a stream where another request waits, so a whole answer is not streamed.
    """

    def __init__(self, http: Http, connected: ModelInUse, known: TextClient | None = None) -> None:
        self.estimate: CacheEstimate = CacheEstimate(known.estimate.speeds if known else Speeds())
        self.connected = connected
        self.waking = Waking(http, *connected.shortest)
        self.n_ctx = connected.n_ctx
        self.loses_turns: bool = known.loses_turns if known else False
        self._longest_answered = 0  # tokens
        # No end of an answer has left out yet how much was reused.
        self._told = {"cached", "context"} if connected.says_context else {"cached"}
        self._http = http
        self.engine = connected.engine
        self._fields: OptionalFields = known._fields if known else OptionalFields(OPTIONAL)

    @property
    def guessed(self) -> frozenset[str]:
        """See `State`."""
        if not self._longest_answered:
            return frozenset({"slots", "context"} - self._told)
        return frozenset({"slots", "context", "cached", "confidence"} - self._told)

    @property
    def guides(self) -> bool:
        """
        Return whether an answer can be made to begin with a text; behind a router only an answer
        tells.
        """
        return self.engine.startswith("vllm") and GUIDE not in self._fields.refused

    async def ask(
        self, text: str, options: Object, *, whole: bool = False
    ) -> AsyncGenerator[StreamedAnswer, None]:
        """
        Yield the answer to *text* after each event; a *whole* one while it waits its turn, and at
        its end, of mlx_lm.server less the one token that it makes more than is used. Closing this
        closes the request.
        """
        limit_s = self._http.patience_s if whole else None  # a stream is as long as its reader
        try:
            asked = self._ask_again(text, options, streams=not (whole and self.loses_turns))
            async with asyncio.timeout(limit_s), aclosing(asked) as answers:
                async for answer in answers:
                    # mlx_lm.server has no queue to leave: it tells how far it has evaluated
                    waits = not (answer.is_begun or self.connected.is_mlx)
                    if waits or not whole:
                        yield answer
        except TimeoutError:
            raise BackendTimeout(f"{self._http.url} did not answer in time") from None
        if not whole:
            return
        if self.connected.is_mlx and not self.connected.is_chat:
            self.estimate.note_whole(text + answer.text, options.get("stop", ()))
            if answer.ended == "length" and answer.text != answer.last:
                answer.lose_last()
        yield answer

    async def _ask_again(
        self, text: str, options: Object, *, streams: bool
    ) -> AsyncGenerator[StreamedAnswer, None]:
        """See `ask`. A field that the server refuses is left out, and it is asked again."""
        is_asked = "messages" in options
        is_begun = False
        while True:
            body = self._body(text, options, streams=streams)
            sent = self._fields.leave_out(body)
            try:
                once = self._ask_once(text, sent, options)
                async with aclosing(once) as answers:
                    async for answer in answers:
                        is_begun = answer.is_begun
                        yield answer
                return
            except NothingSaid as error:
                if not streams or "stream" in self._fields.refused:
                    raise
                raise await self._explain_nothing(error, text, is_asked=is_asked) from None
            except TurnLost:
                self.loses_turns = True
                self._http.patience_s = max(self._http.patience_s, QUEUE_S)
                raise
            except BackendRejected as error:
                self._learn_length(error, text, options["max_tokens"])
                self._learn_mlx(error)
                if is_begun or not self._fields.take_back(sent, error):
                    if self.connected.is_chat and not is_asked and error.status in NO_CHATS:
                        refusal = BackendUnusable(NO_CHAT.format(self._http.url, TEMPLATES))
                        refusal.server_text = error.server_text
                        raise refusal from None
                    raise
                log.info("openai.refused url=%s reason=%s", self._http.url, error)

    def _body(self, text: str, options: Object, *, streams: bool) -> Object:
        """Return a request with all that a server may take."""
        fields = {"stream": True, "stream_options": {"include_usage": True}} if streams else {}
        fixed = self.connected.fields
        if "messages" in options:
            fixed = {name: value for name, value in fixed.items() if name != "logprobs"}
            return {**fields, **fixed, **options}
        question = completion.fields(text) if self.connected.is_chat else {"prompt": text}
        return {**question, **fields, **fixed, **options}

    async def _ask_once(
        self, text: str, body: Object, options: Object
    ) -> AsyncGenerator[StreamedAnswer, None]:
        """See `ask`; what the answer says of the server is kept, also when this is closed."""
        n_held = self.estimate.tokens(self.estimate.count_held(text))
        answer = None
        line = completion.last_line(text)
        path = CHATS if "messages" in body else COMPLETIONS
        # mlx_lm.server has its model; a request that is given up costs it what it evaluated
        ask = self._http.stream if self.connected.is_mlx else self.waking.stream
        events = ask(path, json.dumps(body).encode())
        read = stream.read_answer(events, self._http.url, options["max_tokens"])
        fills = self.connected.is_chat and "messages" not in options
        try:
            async with aclosing(events), aclosing(read) as answers:
                async for answer in answers:
                    if answer.is_begun:
                        self._fields.note_answer()
                    answer.cost = self._cost(answer, len(text), n_held)
                    yield completion.code(answer, line) if fills else answer
        finally:
            if answer is not None and answer.is_begun:
                self.engine = answer.engine or self.engine
                self._note_told(answer)
                self._longest_answered = max(
                    self._longest_answered, self.estimate.tokens(len(text))
                )
                self.estimate.learn(text, answer.usage.prompt_tokens, answer.n_cached)
                log.debug("%d evaluated, %d reused", answer.cost.prompt_n, answer.cost.cache_n)
                speeds = self.estimate.speeds
                speeds.learn_prefill(answer.cost.prompt_n, answer.cost.prompt_ms)
                speeds.learn_decoding(answer.cost.predicted_n, answer.cost.predicted_ms)

    async def _explain_nothing(
        self, error: NothingSaid, text: str, *, is_asked: bool
    ) -> BackendError:
        """
        Return what it means that *text* was answered by a stream of nothing: asked for one token
        that is not streamed, the server may say that it is too long.
        """
        n_prompt = self.estimate.tokens(len(text))
        if is_asked or n_prompt <= self._longest_answered:
            return error
        try:
            async with aclosing(
                self._ask_again(text, completion.PREFILL, streams=False)
            ) as answers:
                _ = [answer async for answer in answers]
        except PromptTooLong as too_long:
            return too_long
        except BackendError:
            pass
        else:
            return error
        return BackendUnavailable(
            f"{self._http.url} answered nothing; its context may be smaller than {self.n_ctx} "
            "tokens: set fim.backend.contextTokens"
        )

    def _note_told(self, answer: StreamedAnswer) -> None:
        """Note what the server told of an answer; how much was reused only the end can tell."""
        if answer.n_cached is not None:
            self._told.add("cached")
        elif answer.ended:
            self._told.discard("cached")
        if answer.pieces or not answer.text:
            self._told.add("confidence")

    def _learn_mlx(self, error: BackendRejected) -> None:
        """
        Know mlx_lm.server by its refusals, however its models were listed. Raises BackendUnusable
        where it does not work any more.
        """
        if MLX_DIED in error.server_text:
            raise BackendUnusable(
                f"mlx_lm.server at {self._http.url} has to be started again: the part of it that "
                f"generates text has ended ({MLX_DIED}, as its log says, too)"
            ) from None
        if MLX_REFUSES in error.server_text:
            self.connected = self.connected.as_mlx()

    def _learn_length(self, error: BackendRejected, text: str, n_predict: int) -> None:
        """
        Raise PromptTooLong where the refusal of *text* is about its length, and keep what it tells
        of it; where that is nothing, half of it is tried.
        """
        told = error if isinstance(error, PromptTooLong) else None
        if not told and not lengths.is_length(error.server_text):
            return
        n_prompt = self.estimate.tokens(len(text))
        sizes = (told.n_prompt, told.n_ctx) if told else (0, 0)
        if not all(sizes):
            sizes = lengths.find_limit(error.server_text, n_predict, n_prompt + n_predict)
        n_all, n_ctx = sizes
        if n_ctx:
            self.n_ctx = min(self.n_ctx, n_ctx)
            self._told.add("context")
            self.estimate.learn(text, n_all, None)
        raise PromptTooLong(n_all, n_ctx or n_prompt // 2) from None

    def _cost(self, answer: StreamedAnswer, n_chars: int, n_held: int) -> Timings:
        """
        Return the cost of a text of *n_chars*, of which the server should have held *n_held*
        tokens.
        """
        total = answer.usage.prompt_tokens or max(1, self.estimate.tokens(n_chars))
        told = answer.n_cached
        reused = self.estimate.count_reused(n_held) if told is None else told
        cached = min(reused, total - 1)  # the last token is always evaluated, for its logits
        return Timings(
            prompt_n=total - cached,
            cache_n=cached,
            predicted_n=answer.usage.completion_tokens or len(answer.pieces),
            prompt_ms=answer.prompt_ms,
            predicted_ms=answer.total_ms - answer.prompt_ms,
        )


class TextServer:
    """
    A `TextModel`: one server that the user named, and one of its models, through `/v1/completions`.

    The prompt is sent as it is, with the marks of the model's own format in it.
    """

    def __init__(self, http: Http, model: str) -> None:
        self._http = http
        in_use = ModelInUse(model, fields={"model": model})
        self._client = TextClient(http, in_use)

    async def continue_text(self, text: str, n_predict: int, stops: tuple[str, ...]) -> str | None:
        """
        Return the continuation of *text* until one of *stops*; None where it was cut off. Raises
        BackendError.
        """
        options = {"max_tokens": n_predict, "temperature": 0, "stop": list(stops[:MOST_STOPS])}
        async with aclosing(self._client.ask(text, options)) as answers:
            answer = [answer async for answer in answers][-1]
        return answer.text if answer.ended == "stop" else None

    async def models(self) -> list[str]:
        """Return the names of the models that the server lists. Raises BackendError."""
        return [label(model.known_as) for model in await list_models(self._http)]

    async def aclose(self) -> None:
        """Close the connection."""
        await self._client.waking.aclose()
        await self._http.aclose()
