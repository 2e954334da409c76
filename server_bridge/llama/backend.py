"""
A running llama.cpp server as a `Backend`: prompts into token ids, ids into `/completion`.

Every text is tokenised once, by the server, and what is sent are ids. So counts are exact, seams
stay where they are, and no file can smuggle a control token into a prompt. Before any text goes
out, `/props` must show a llama.cpp server and `/tokenize` a model that can fill in the middle.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from server_bridge import completion
from server_bridge.answers import Object, state_after
from server_bridge.cache import Cache, Server
from server_bridge.encoding import Ids, Kind, ids, joined, layout, tokens_left
from server_bridge.http import LOOPBACK, Http, Unproven
from server_bridge.identity import ROUTER, identity, proof, properties
from server_bridge.protocol import (
    BackendError,
    BackendUnavailable,
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
    Token,
    Warmed,
)
from server_bridge.specials import Specials
from server_bridge.tokenizer import Tokenizer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A document's prompt in token ids: the parts in order, all of it, the tokens of the middle."""

    document: str
    parts: tuple[tuple[Kind, Ids], ...]
    whole: Ids
    middle: tuple[Token, ...]


class LlamaServer:
    """
    One llama.cpp server, found or started by someone else; see `protocol.Backend` and `Saves`.

    *engine* is a server of our own, by its build and flags: nobody else uses it, and its slots do not
    share one cache. *shelf* is the folder where it is noted what was saved; without one nothing is.
    """

    def __init__(
        self,
        http: Http | str,
        kind: str = "llama-server",
        *,
        engine: str = "",
        shelf: str = "",
    ) -> None:
        self._http = Http(http) if isinstance(http, str) else http
        self._state = State(Health.UNKNOWN, kind, self._http.url)
        self._connecting = asyncio.Lock()
        self._identity: tuple[object, ...] = ()
        self._tokenizer = Tokenizer(self._post, self._state.chars_per_token)
        self._specials: Specials | None = None
        self._engine = engine
        self._shelf = Path(shelf) if shelf else None
        self._cache: Cache | None = None

    @property
    def state(self) -> State:
        """What is known now."""
        state = replace(self._state, chars_per_token=self._tokenizer.chars_per_token)
        if (cache := self._cache) is None:
            return state
        return replace(
            state,
            prefill_per_s=cache.prefill_per_s,
            decode_ms=cache.decode_ms,
            doubt=cache.doubt,
        )

    async def connect(self) -> State:
        """Ask who answers and what it can do."""
        async with self._connecting:
            if self._state.health is not Health.READY:
                try:
                    await self._learn()
                except BackendError as error:
                    self._state = state_after(self._state, error)
                    raise
        return self.state

    async def measure(self, prompt: Prompt) -> Measure:
        """Count the prompt by parts."""
        cache, encoded = await self._encode(prompt)
        counts = {kind: run.n for kind, run in encoded.parts if kind != "chunk"}
        return Measure(
            total=encoded.whole.n,
            cached=cache.reusable(encoded.document, encoded.whole),
            repo=counts.get("repo", 0),
            chunks=tuple(run.n for kind, run in encoded.parts if kind == "chunk"),
            path=counts.get("path", 0),
            prefix=counts["prefix"],
            suffix=counts["suffix"],
            middle=counts["middle"],
        )

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """Evaluate the next *step* tokens that the server should not hold yet."""
        cache, encoded = await self._encode(prompt)
        self._check_size(encoded.whole, 1)
        return Warmed(*await cache.warm(encoded.document, encoded.whole, step))

    async def complete(self, request: Request) -> Reply:
        """Decode at most `n_predict` tokens."""
        cache, encoded = await self._encode(request.prompt)
        self._check_size(encoded.whole, request.n_predict)
        options = completion.options(request)
        answer, outlook = await cache.evaluate(encoded.document, encoded.whole, options)
        await self._see_drafters(completion.drafters(answer))
        text = completion.text(answer)
        stop = completion.stop(answer, encoded.whole.n, self._state.n_ctx)
        numbers = answer["tokens"][:-1] if stop is Stop.END else answer["tokens"]
        tokens = await self._tokenizer.spelled(numbers, completion.entries(answer), text)
        return Reply(
            text=text,
            tokens=completion.rated(tokens, answer),
            middle=encoded.middle,
            stop=stop,
            timings=completion.timings(
                answer, outlook.reused if outlook and outlook.sure else None
            ),
        )

    async def save(self, prompt: Prompt) -> int:
        """See `Saves`."""
        cache, encoded = await self._encode(prompt)
        return await cache.save(encoded.document, encoded.whole)

    async def restore(self, prompt: Prompt) -> int:
        """See `Saves`."""
        cache, encoded = await self._encode(prompt)
        return await cache.restore(encoded.document, encoded.whole)

    async def run_on(self, prompt: Prompt, n_predict: int, sink: Sink) -> AsyncGenerator[str, None]:
        """See `Endless`."""
        whole = replace(prompt, middle=prompt.middle + prompt.forced, forced="")
        cache, encoded = await self._encode(whole)
        self._check_size(encoded.whole, 1)
        await proof(self._http)  # on a connection whose other end has proved to be the server
        async with aclosing(cache.run_on(encoded.document, encoded.whole, n_predict, sink)) as text:
            async for piece in text:
                yield piece

    async def aclose(self) -> None:
        """Close the connection."""
        await self._http.aclose()
        self._state = replace(self._state, health=Health.UNKNOWN)

    async def _learn(self) -> None:
        """Ask who is there; another model or another server voids all ids."""
        props = await properties(self._http)
        if self._identity != identity(props):
            self._identity = identity(props)
            self._tokenizer = Tokenizer(self._post, self.state.chars_per_token)
        build, path, slots, n_ctx = identity(props)
        model = re.split(r"[/\\]", path)[-1]
        self._specials = await self._tokenizer.specials(model)
        if self._specials is None:
            raise BackendUnusable(
                f"{model} cannot fill in the middle (it has no tokens for that): start the server "
                "with a model that can, for example llama-server --fim-qwen-1.5b-default"
            )
        server = Server(
            url=self._http.url,
            model=path,
            facts={"build": build, "slots": slots, "n_ctx": n_ctx, "engine": self._engine},
            n_slots=slots,
            foreign=self._specials.suffix,
            alone=bool(self._engine),
            send=self._post,
            get=self._http.get,
            stream=self._http.stream,
            n_ctx=n_ctx,
        )
        # Nothing of the user's is left on a disk of somebody else's machine.
        ours = self._engine or LOOPBACK.match(self._http.url)
        self._cache = Cache(server, self.state, self._shelf if ours else None)
        self._state = replace(
            self._state,
            health=Health.READY,
            message="",
            model=model,
            slots=slots,
            n_ctx=n_ctx,
            drafters="",
            drafts=False,
        )

    async def _see_drafters(self, drafters: str) -> None:
        """
        Ask once whether a server with *drafters* does speculate.

        It starts, and says nothing, with a draft model of another vocabulary; only /slots tells.
        """
        if drafters == self._state.drafters:
            return
        try:
            slots = (await self._http.get("/slots"))["list"]
            drafts = any(slot.get("speculative", True) for slot in slots)
        except (BackendError, LookupError):
            drafts = True  # it does not show its slots
        self._state = replace(self._state, drafters=drafters, drafts=drafts)

    async def _encode(self, prompt: Prompt) -> tuple[Cache, Encoded]:
        """The prompt as the connected server spells it, and what that server holds."""
        if self._state.health is not Health.READY:
            await self.connect()
        assert self._specials is not None
        assert self._cache is not None
        parts: list[tuple[Kind, Ids]] = []
        for kind, marks, text in layout(prompt, self._specials):
            parts.append((kind, joined((ids(marks), await self._tokenizer.text(text)))))
        tape, rest = tokens_left(replace(prompt, tape=await self._tokenizer.own(prompt.tape)))
        middle = tape + await self._tokenizer.run(rest)
        kind, marks_only = parts.pop()
        parts.append((kind, joined((marks_only, ids([t.id for t in middle])))))
        whole = joined(run for _, run in parts)
        document = f"{prompt.repo}\n{prompt.path}"
        return self._cache, Encoded(document, tuple(parts), whole, middle)

    def _check_size(self, whole: Ids, n_predict: int) -> None:
        if whole.n + n_predict > self._state.n_ctx:
            raise PromptTooLong(whole.n + n_predict, self._state.n_ctx)

    async def _post(self, path: str, body: str) -> Object:
        """Send, on a connection whose other end has proved to be the server we know."""
        try:
            try:
                return await self._http.post(path, body.encode())
            except Unproven:
                # llama.cpp closes after 5 s of silence and after 100 requests, its router after each.
                found = await proof(self._http)
                if found.get("role") != ROUTER and identity(found) != self._identity:
                    raise BackendUnavailable(f"{self._http.url} has another model now") from None
                return await self._http.post(path, body.encode())
        except BackendError as error:
            if not path.startswith("/slots/"):  # what it cannot do says nothing of its health
                self._state = state_after(self._state, error)
            raise
