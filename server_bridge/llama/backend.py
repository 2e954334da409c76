"""
A running llama.cpp server as a `Backend`: prompts into token ids, ids into `/completion`.

Every text is tokenised once, by the server, and what is sent are ids. So counts are exact, seams
stay where they are, and no file can smuggle a control token into a prompt. Before any text goes
out, `/props` must show a llama.cpp server and `/tokenize` a model that can fill in the middle.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from server_bridge.fim.chat import CHAT
from server_bridge.fim.layout import Ids, Kind, ids, join_runs, layout, split_tape
from server_bridge.fim.tokens import FILLS_ONLY, PLAIN, Family, Specials, is_base_model
from server_bridge.http.client import Http
from server_bridge.http.responses import Stateful
from server_bridge.llama import completion
from server_bridge.llama.cache import Cache
from server_bridge.llama.checkpoints import unfit
from server_bridge.llama.link import Link, MetServer, NotForced
from server_bridge.llama.own import FOREIGN, Own
from server_bridge.llama.slot_client import SlotClient
from server_bridge.llama.slots import ASIDE
from server_bridge.llama.tokenizer import Tokenizer
from server_bridge.protocol import (
    NO_ID,
    BackendError,
    BackendRejected,
    BackendUnavailable,
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
    Timings,
    Token,
    Warmed,
    append_text,
)

LATE = "the machine is busy since {}: suggestions come late"
# between two looks at a server: no request is needed to know that it sleeps or is gone
REST_S = 60.0
N_ENCODED = 4  # prompts that are kept in token ids: those that one request compares


@dataclass(frozen=True, slots=True)
class Connected:
    """
    The server that was connected last, and the last prompts in its token ids. Another server, or
    the same again, makes another.
    """

    met: MetServer
    tokenizer: Tokenizer
    specials: Specials
    cache: Cache
    speculates: bool | None
    encoded: deque[tuple[Prompt, Encoded]] = field(default_factory=partial(deque, maxlen=N_ENCODED))

    @property
    def drafts(self) -> bool:
        """Return whether the server speculates, as far as it tells."""
        return bool(self.cache.client.drafters) if self.speculates is None else self.speculates


@dataclass(frozen=True, slots=True)
class Encoded:
    """A document's prompt in token ids: the parts in order, all of it, the tokens of the middle."""

    document: str
    parts: tuple[tuple[Kind, Ids], ...]
    whole: Ids
    middle: tuple[Token, ...]
    moves: bool = False  # see `Mirror.outlook`

    @property
    def seams(self) -> tuple[int, ...]:
        """
        Tokens up to the end of what the workspace's prompts share, and of the lines above the
        anchor.
        """
        ends = itertools.accumulate(run.n for _, run in self.parts)
        end_of = {kind: end for (kind, _), end in zip(self.parts, ends, strict=True)}
        return tuple(sorted(end_of[kind] for kind in ("chunk", "prefix") if kind in end_of))


class LlamaServer(Stateful):
    """
    One llama.cpp server that runs already, as a `Backend` and its own `Model`.

    *own*: it is one of ours. *state_dir* is the folder for notes on what was saved; without one
    nothing is. With *must_fill* a model without tokens for a gap is not used, and another server
    waits.
    """

    def __init__(
        self,
        http: Http | str,
        kind: str = "llama-server",
        *,
        own: Own | None = None,
        state_dir: str = "",
        must_fill: bool = False,
    ) -> None:
        self._own = own or FOREIGN
        http = Http(http) if isinstance(http, str) else http
        self._link = Link(http, self._own.process, hurried=must_fill)
        self._link.on_late = lambda: self.on_change()  # noqa: PLW0108 (it is set later)
        self.on_change: Callable[[], None] = lambda: None
        self._state = State(Health.UNKNOWN, kind, http.address)
        self._connecting = asyncio.Lock()
        self._connected: Connected | None = None
        self._looking: asyncio.Task[None] | None = None
        # The last `state`, behind what it was made of: it is read dozens of times per request.
        self._told: tuple[State, dict[str, Any], State] = (self._state, {}, self._state)
        self._must_fill = must_fill
        # Nothing of the user's is left on the disk of another machine.
        is_near = state_dir and (own or http.is_here)
        self._state_dir = Path(state_dir) if is_near else None

    @property
    def state(self) -> State:
        """The last known state."""
        state = self._state
        if state.is_ready and self._link.late_since:
            state = replace(state, health=Health.BUSY, message=LATE.format(self._link.late_since))
        elif state.is_ready and self._link.is_asleep:
            state = replace(state, health=Health.ASLEEP)
        if (connected := self._connected) is None:
            return state
        client = connected.cache.client
        memory = client.mirror.memory
        pid = (self._own.process and self._own.process.pid) or 0
        measured = {
            **connected.tokenizer.speeds.values,
            "cache_problem": unfit(client.server.build, memory) or client.check.problem,
            "memory": memory.kind.value,
            "engine": Engine(pid=pid, most_kept=memory.most_kept(state.slots, state.n_ctx)),
            "drafters": client.drafters,
            "drafts": connected.drafts,
        }
        if self._told[:2] != (state, measured):
            self._told = (state, measured, replace(state, **measured))
        return self._told[2]

    async def connect(self) -> Model:
        """Ask which server answers and what it can do."""
        async with self._connecting:
            if not self._state.is_ready:
                with self._noting_failures():
                    await self._meet()
        return self

    async def measure(self, prompt: Prompt) -> Measure:
        """Count the prompt by parts."""
        with self._noting_failures():
            connected, encoded = await self._encode(prompt)
        cached = connected.cache.reusable(encoded.document, encoded.whole, moves=encoded.moves)
        return Measure.of([(kind, run.n) for kind, run in encoded.parts], cached)

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """Evaluate about the next *step* tokens that the server should not hold yet."""
        with self._noting_failures():
            connected, encoded = await self._encode(prompt)
            self._check_size(encoded.whole)
            return await connected.cache.warm(
                encoded.document, encoded.whole, step, encoded.seams, moves=encoded.moves
            )

    async def complete(self, request: Request) -> Reply:
        """Decode at most `n_predict` tokens."""
        return await join(self.stream(request))

    async def stream(self, request: Request) -> AsyncGenerator[Reply, None]:
        """
        See `Model`; at most `n_predict` tokens, fewer where the context ends before. Where the
        server refuses the grammar the half word stands in the prompt.
        """
        forced = request.prompt.forced
        for before in ("", forced) if forced and self._link.forces else (forced,):
            asked = replace(request, prompt=append_text(request.prompt, before, ()))
            with suppress(NotForced):
                async with aclosing(self._decode(asked)) as replies:
                    first = await anext(replies)
                    yield _put_before(first, before, request.prompt.middle) if before else first
                    async for reply in replies:
                        yield reply
                return

    async def _decode(self, request: Request) -> AsyncGenerator[Reply, None]:
        """See `stream`."""
        with self._noting_failures():
            connected, encoded = await self._encode(request.prompt)
            self._check_size(encoded.whole)
            n_room = self._state.n_ctx - encoded.whole.n
            # At its end a server with --context-shift would drop the beginning of the prompt.
            request = replace(request, n_predict=min(request.n_predict, n_room))
            options = completion.options(request, connected.specials.family.stop)
            cache = connected.cache
            document = encoded.document
            whole = encoded.whole
            slot = await cache.prepare(document, whole)
            events = cache.client.decode(document, whole, options, slot)
            replies = completion.replies(
                events, connected.tokenizer, encoded.middle, n_room, drafted=connected.drafts
            )
            async with aclosing(events), aclosing(replies):
                async for reply in replies:
                    yield reply

    async def save(self, prompt: Prompt, files: tuple[str, ...] = ()) -> int:
        """See `Model`; 0 where the server has no `--slot-save-path`."""
        with self._noting_failures():
            connected, encoded = await self._encode(prompt)
            return await connected.cache.save(encoded.document, encoded.whole, files)

    async def restore(self, prompt: Prompt) -> int:
        """See `Model`."""
        with self._noting_failures():
            connected, encoded = await self._encode(prompt)
            return await connected.cache.restore(encoded.document, encoded.whole)

    async def disconnect(self) -> None:
        """Close the connection."""
        if self._looking is not None:
            self._looking.cancel()
        await self._link.aclose()
        self._state = replace(self._state, health=Health.UNKNOWN)

    aclose = disconnect

    async def _meet(self) -> None:
        """
        Learn which server is there. Token ids and tapes of another model or vocabulary are void.
        """
        try:
            met = await self._link.meet()
            before = self._connected if self._connected and self._connected.met == met else None
            tokenizer = before.tokenizer if before else Tokenizer(self._link)
            specials = before.specials if before else await self._specials(tokenizer, met)
        except BackendRejected as error:
            raise BackendUnusable(
                f"{self._link.url} refuses requests that a llama.cpp server answers ({error}): "
                "check fim.backend.url"
            ) from error
        own = self._own
        speeds = tokenizer.speeds
        is_exclusive = not await self._own.is_shared()
        client = SlotClient(self._link, met.identity, speeds, own.memory, exclusive=is_exclusive)
        cache = Cache(client, await tokenizer.foreign(), self._state_dir, own.engine)
        self._connected = Connected(met, tokenizer, specials, cache, await client.speculates())
        self._state = replace(
            self._state,
            health=Health.READY,
            message="",
            model=met.identity.model,
            slots=met.identity.n_slots,
            n_ctx=met.identity.n_ctx,
            second_best=_second_best(specials.family, met.identity.model),
            fills_only="" if specials.answer else FILLS_ONLY.format(met.identity.model),
        )
        if self._looking is not None:
            self._looking.cancel()
        self._looking = asyncio.create_task(self._look_on(), name=f"look at {self._link.url}")

    async def _look_on(self) -> None:
        """Look at the server once a minute as long as it is ready, and tell what has changed."""
        while self._state.is_ready:
            before = self.state.health
            await asyncio.sleep(REST_S)
            with suppress(BackendError), self._noting_failures():
                await self._link.look()
            if self.state.health is not before:
                self.on_change()

    async def _specials(self, tokenizer: Tokenizer, met: MetServer) -> Specials:
        model = met.identity.model
        fills = await tokenizer.specials(model)
        turn = None if is_base_model(model) else await tokenizer.read_turn()
        if fills:
            return await tokenizer.add_instructions(fills, turn) if turn else fills
        if self._must_fill:
            raise BackendUnusable(
                f"{model} has no tokens to fill in the middle: set fim.backend.url to {self._link.url} "
                "to use it anyway, or start llama-server --fim-qwen-1.5b-default"
            )
        return await tokenizer.chat(turn) if turn else await tokenizer.plain()

    async def _encode(self, prompt: Prompt) -> tuple[Connected, Encoded]:
        """
        Return the server that is connected, and the prompt as it spells it; once for each prompt.
        """
        is_exclusive = not await self._own.is_shared()
        if self._connected is None:
            await self.connect()
        connected = self._connected
        assert connected is not None
        if not self._state.is_ready:
            raise BackendUnavailable(self._state.message or f"{self._link.url} is not connected")
        connected.cache.client.share(exclusive=is_exclusive)
        for before, encoded in connected.encoded:
            if before == prompt:
                return connected, encoded
        encoded = await self._spell(prompt, connected)
        connected.encoded.append((prompt, encoded))
        return connected, encoded

    @staticmethod
    async def _spell(prompt: Prompt, connected: Connected) -> Encoded:
        """Return the prompt in the server's token ids."""
        tokenizer = connected.tokenizer
        parts: list[tuple[Kind, Ids]] = []
        for kind, marks, text in layout(prompt, connected.specials):
            parts.append((kind, join_runs((ids(marks), await tokenizer.text(text)))))
        finished, tape = split_tape(prompt.middle, tokenizer.own(prompt.tape))
        middle = await tokenizer.run(finished) + tape
        kind, marks_only = parts.pop()
        parts.append((kind, join_runs((marks_only, ids([t.id for t in middle])))))
        whole = join_runs(run for _, run in parts)
        # Instructions have a slot of their own, so that the next key finds its own as it was.
        document = f"{prompt.repo}\n{prompt.path}"
        if prompt.turns:
            document += "\ninstructions"
        if prompt.aside:
            document += ASIDE
        return Encoded(document, tuple(parts), whole, middle, prompt.dropped)

    def _check_size(self, whole: Ids) -> None:
        if whole.n >= self._state.n_ctx:
            raise PromptTooLong(whole.n + 1, self._state.n_ctx)


async def join(pieces: AsyncGenerator[Reply, None]) -> Reply:
    """Return all pieces of a stream as one reply."""
    replies = [reply async for reply in pieces]
    first = replies[0]
    timings = functools.reduce(
        Timings.plus, (reply.timings for reply in replies[1:]), first.timings
    )
    text = "".join(reply.text for reply in replies)
    tokens = tuple(token for reply in replies for token in reply.tokens)
    return Reply(text, tokens, first.middle, replies[-1].stop, timings)


def _put_before(first: Reply, begun: str, middle: str) -> Reply:
    """Return the *first* reply of an answer that was *begun* in the prompt, behind its *middle*."""
    tokens = (Token(NO_ID, begun.encode()), *first.tokens)
    return replace(
        first, text=begun + first.text, tokens=tokens, middle=(Token(NO_ID, middle.encode()),)
    )


def _second_best(family: Family, model: str) -> str:
    """Return why a model is not the right one, "" where it is."""
    if family == CHAT:
        return f"{model} is a chat model: it is asked in words to fill in the gap"
    if family == PLAIN:
        return f"{model} was not trained to fill in a gap: it sees only the text above the cursor"
    return ""
