"""
An OpenAI-style `/v1/completions` server as a `Backend`: prompts as text that we lay out ourselves.

vLLM, SGLang, mlx_lm.server, Ollama, LM Studio, llama.cpp. Their `suffix` field is ignored, refused or
left to a chat template, so the special tokens stand in the prompt. What such a server holds cannot be
asked; it is estimated in characters and corrected by the usage that comes with each answer. Answers
are streamed, for only then a server notices that nobody waits any more, and nothing is ever cancelled
on purpose: mlx_lm.server forgets what it evaluated for a request that was.

Token healing: the prompt ends before the half word, and an answer that does not begin with it is
asked for again with the half word in the prompt.

mlx_lm.server 0.32 dies of a prompt that is exactly what it has cached, an earlier prompt and its
answer. So a burst there makes one token more than is used, and where a prompt should be such a whole
all the same, its last word is held back and forced likewise.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from contextlib import aclosing
from dataclasses import replace

from server_bridge import stream
from server_bridge.answers import Object, state_after
from server_bridge.completion import TEMPERATURE
from server_bridge.http import Http, Unproven
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
    State,
    Stop,
    Timings,
    Token,
    Warmed,
)
from server_bridge.specials import FAMILIES, Family, called, named
from server_bridge.stream import NO_ID, Answer
from server_bridge.templates import Part, rendered
from server_bridge.warmth import SMOOTHING, Warmth, cut, last_word

log = logging.getLogger(__name__)

TAIL = 16  # tokens; fewer cost no more than the request that would evaluate them ahead
ENOUGH_TOKENS = 32  # shorter prefills measure the request, not the speed
MOST_STOPS = 4  # OpenAI's own limit, and that of servers that copy it
SMALL_CONTEXT = (
    4096  # tokens, where the server does not say: Ollama's default, and it cuts silently
)
STOPS = {"stop": Stop.END, "length": Stop.LIMIT}


class OpenAiServer:
    """One server that the user named; *template* names the family where its model's name does not."""

    def __init__(self, http: Http, model: str = "", template: str = "", n_ctx: int = 0) -> None:
        self._http = http
        self._model = model
        self._template = template
        self._n_ctx = n_ctx
        self._sent: Object = {}  # what every request says besides the prompt
        self._is_mlx = False
        self._family: Family | None = None
        self._state = State(Health.UNKNOWN, "openai", http.url)
        self._warmth = Warmth(self._state.chars_per_token)
        self._connecting = asyncio.Lock()

    @property
    def state(self) -> State:
        """What is known now."""
        return replace(self._state, chars_per_token=self._warmth.chars_per_token)

    async def connect(self) -> State:
        """Ask which model is there."""
        async with self._connecting:
            if self._state.health is not Health.READY:
                try:
                    await self._learn()
                except BackendError as error:
                    self._state = state_after(self._state, error)
                    raise
        return self.state

    async def measure(self, prompt: Prompt) -> Measure:
        """Estimate the prompt by parts."""
        parts = await self._rendered(prompt)
        counts = [self._warmth.tokens(len(part.text)) for part in parts]
        by_kind = {part.kind: n for part, n in zip(parts, counts, strict=True)}
        held = self._warmth.held(_joined(parts))
        return Measure(
            total=sum(counts),
            cached=min(self._warmth.tokens(held), sum(counts)),
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
        held = self._warmth.held(text)
        if self._warmth.tokens(len(text) - held) <= TAIL or not self._warmth.keeps:
            return Warmed(evaluated=0, left=0)
        part = cut(text, held, held + max(1, int(step * self._warmth.chars_per_token)))
        if self._is_fatal(part):
            part = part[:-1]
        _, timings = await self._ask(part, {"max_tokens": 1, "temperature": 0})
        left = self._warmth.tokens(len(text) - len(part))
        return Warmed(timings.prompt_n, left if left > TAIL else 0)

    async def complete(self, request: Request) -> Reply:
        """Decode at most `n_predict` tokens."""
        prompt = request.prompt
        text = _joined(await self._rendered(prompt))
        self._check_size(text, request.n_predict)
        held = last_word(text) if self._is_fatal(text) else ""
        answer, timings = await self._decode(text[: len(text) - len(held)], request, held)
        if _agrees(answer, held + prompt.forced):
            answer.lose(held)
        else:
            unhealed = replace(prompt, middle=prompt.middle + prompt.forced)
            text = _joined(await self._rendered(unhealed))
            answer, timings = await self._decode(text, request)
            answer.begin_with(prompt.forced)
        said, stopped = _until(answer.text, request.stop)
        return Reply(
            text=said,
            tokens=answer.tokens(said),
            middle=(Token(NO_ID, prompt.middle.encode()),) if prompt.middle else (),
            stop=Stop.WORD if stopped else self._stop(answer, request),
            timings=timings,
        )

    async def aclose(self) -> None:
        """Close the connection."""
        await self._http.aclose()
        self._state = replace(self._state, health=Health.UNKNOWN)

    async def _learn(self) -> None:
        """Who is there, which model to ask for, how that spells a gap and what fits into it."""
        listed = await self._listed()
        entry = _chosen(listed, self._model, self._http.url)
        model = self._model or re.split(r"[/\\]", str(entry.get("id", "")))[-1]
        self._family = _family(model, self._template, self._http.url)
        # A server of several says whose they are and wants to hear which; mlx_lm.server says nothing,
        # has one, and would load whatever else it is asked for.
        whose = entry.get("owned_by")
        self._is_mlx = not whose
        # A seed makes mlx_lm.server take requests one by one, where an error ends one, not all.
        self._sent = {"seed": 0} if self._is_mlx else {"logprobs": 1}
        if self._model or whose:
            self._sent["model"] = self._model or entry["id"]
        n_ctx = entry.get("max_model_len") or (entry.get("meta") or {}).get("n_ctx")
        self._warmth = Warmth(self._warmth.chars_per_token)
        self._state = replace(
            self._state,
            health=Health.READY,
            model=re.split(r"[/\\]", model)[-1],
            n_ctx=self._n_ctx or n_ctx or SMALL_CONTEXT,
            message="",
        )

    async def _listed(self) -> list[Object]:
        """The models that the server has; none where it cannot list them but is well."""
        try:
            answer = await self._http.get("/v1/models")
            return [dict(entry) for entry in answer["data"]]
        except (BackendRejected, Unproven, KeyError, TypeError, ValueError):
            # mlx_lm.server drops the connection where there is no Hugging Face cache to list.
            try:
                await self._http.get("/health")
            except BackendRejected:
                raise BackendUnusable(
                    f"{self._http.url} lists no models (/v1/models): check fim.backend.url"
                ) from None
            return []

    async def _rendered(self, prompt: Prompt) -> list[Part]:
        if self._state.health is not Health.READY:
            await self.connect()
        assert self._family is not None
        return rendered(prompt, self._family)

    def _is_fatal(self, text: str) -> bool:
        """Whether mlx_lm.server would die of it."""
        return self._is_mlx and self._warmth.is_whole(text)

    def _check_size(self, text: str, n_predict: int) -> None:
        n_tokens = self._warmth.tokens(len(text)) + n_predict
        if n_tokens > self._state.n_ctx:
            raise PromptTooLong(n_tokens, self._state.n_ctx)

    async def _decode(self, text: str, request: Request, held: str = "") -> tuple[Answer, Timings]:
        """One burst, *held* coming before what was asked for."""
        options: Object = {"max_tokens": request.n_predict + len(held) + self._is_mlx}
        options["temperature"] = TEMPERATURE if request.sample else 0
        if request.sample:
            options["seed"] = request.sample
        # Every answer is cut here as well. mlx_lm.server takes a stop string out and goes on, where it
        # is not what the tokenizer makes of it alone.
        if request.stop and not self._is_mlx:
            options["stop"] = list(request.stop[:MOST_STOPS])
        answer, timings = await self._ask(text, options)
        if self._is_mlx and answer.ended == "length" and answer.text != answer.last:
            answer.lose_last()
        return answer, timings

    async def _ask(self, text: str, options: Object) -> tuple[Answer, Timings]:
        """One request and all of its answer; what it says about the server is kept."""
        if self._is_fatal(text):
            raise BackendTimeout("mlx_lm.server cannot go on from there; one more key and it can")
        body = {
            "prompt": text,
            "stream": True,
            "stream_options": {"include_usage": True},
            **self._sent,
            **options,
        }
        events = self._http.stream("/v1/completions", json.dumps(body).encode())
        try:
            async with aclosing(events):
                reading = stream.read(events, self._http.url)
                answer = await asyncio.wait_for(reading, self._http.patience_s)
        except asyncio.TimeoutError:
            raise BackendTimeout(f"{self._http.url} did not answer in time") from None
        except BackendRejected as error:
            refused = stream.refused(error)
            if isinstance(refused, PromptTooLong):
                self._warmth.sent(text, refused.n_prompt, None)  # it has told how long it is
            raise refused from None
        except BackendError as error:
            self._state = state_after(self._state, error)
            raise
        timings = self._timings(answer, text)
        self._warmth.sent(text, answer.n_prompt, answer.n_cached)
        self._warmth.wholes(text + answer.text, options.get("stop", ()))
        if timings.prompt_n >= ENOUGH_TOKENS:
            mean = self._state.prefill_per_s
            mean += SMOOTHING * (1000 * timings.prompt_n / timings.prompt_ms - mean)
            self._state = replace(self._state, prefill_per_s=mean)
        if (more := timings.predicted_n - 1) > 0:  # the first token comes of the prompt
            mean = self._state.decode_ms
            mean += SMOOTHING * (timings.predicted_ms / more - mean)
            self._state = replace(self._state, decode_ms=mean)
        log.debug("%d of %d tokens evaluated", timings.prompt_n, answer.n_prompt)
        return answer, timings

    def _timings(self, answer: Answer, text: str) -> Timings:
        total = answer.n_prompt or self._warmth.tokens(len(text))
        cached = answer.n_cached
        if cached is None:
            cached = min(self._warmth.tokens(self._warmth.held(text)), total)
        return Timings(
            prompt_n=total - cached,
            cache_n=cached,
            predicted_n=int(answer.usage.get("completion_tokens") or len(answer.pieces)),
            prompt_ms=answer.prompt_ms,
            predicted_ms=answer.total_ms - answer.prompt_ms,
        )

    def _stop(self, answer: Answer, request: Request) -> Stop:
        """Why decoding ended; a full context looks like a limit on the wire, a stop string like an end."""
        made = int(answer.usage.get("completion_tokens") or request.n_predict)
        full = made < request.n_predict or answer.n_prompt + made >= self._state.n_ctx
        if answer.ended == "length" and full:
            return Stop.FULL
        return STOPS.get(answer.ended, Stop.END)


def _agrees(answer: Answer, forced: str) -> bool:
    """Whether the answer begins with *forced*, as far as it got."""
    text = answer.text
    return text.startswith(forced) or (
        answer.ended == "length" and bool(text) and forced.startswith(text)
    )


def _until(text: str, stops: tuple[str, ...]) -> tuple[str, bool]:
    """The text before the first stop string, and whether there is one; half characters left out."""
    at = min((text.find(stop) for stop in stops if stop in text), default=-1)
    return (text[:at], True) if at >= 0 else (text.rstrip("\ufffd"), False)


def _joined(parts: list[Part]) -> str:
    return "".join(part.text for part in parts)


def _chosen(listed: list[Object], model: str, url: str) -> Object:
    """The entry of the model to ask for."""
    for entry in listed:
        if entry.get("id") == model:
            return entry
    if model or not listed:
        return {}
    if len(listed) > 1 and listed[0].get("owned_by"):
        names = ", ".join(str(entry.get("id")) for entry in listed[:8])
        raise BackendUnusable(f"{url} has several models: set fim.backend.model to one of {names}")
    return listed[-1]  # mlx_lm.server names the one it runs after those it found on disk


def _family(model: str, template: str, url: str) -> Family:
    if family := called(template) if template else named(model):
        return family
    names = ", ".join(family.name for family in FAMILIES)
    why = (
        f"there is no template {template}"
        if template
        else f"the model's name {model!r} at {url} does not say how it spells a gap"
    )
    raise BackendUnusable(f"{why}: set fim.backend.template to one of {names}")
