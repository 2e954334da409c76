"""
A running llama.cpp server as a `Backend`: prompts into token ids, ids into `/completion`.

Every text is tokenised once, by the server, and what is sent are ids. So counts are exact, seams
stay where they are, and no file can smuggle a control token into a prompt. Before any text goes
out, `/props` must show a llama.cpp server and `/tokenize` a model that can fill in the middle.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import dataclass, replace

from server_bridge import completion
from server_bridge.encoding import WIDTH, Ids, Kind, head, ids, joined, layout, tokens_left
from server_bridge.http import Http, Loading, NotJson, Object, Unproven
from server_bridge.mirror import Mirror, Outlook, Reckoning
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendUnavailable,
    BackendUnusable,
    Health,
    Measure,
    Prompt,
    PromptTooLong,
    Reply,
    Request,
    State,
    Stop,
    Token,
    Warmed,
)
from server_bridge.slots import Kind as SlotsKind
from server_bridge.slots import Slots
from server_bridge.specials import Specials
from server_bridge.tokenizer import SMOOTHING, Tokenizer

log = logging.getLogger(__name__)

TAIL = 8  # so few tokens cost no more than the request that would evaluate them ahead
ENOUGH_TOKENS = 32  # shorter prefills measure the request, not the speed
# One token is sampled all the same: n_predict 0 only keeps it from being evaluated.
PREFILL = {"n_predict": 0, **completion.GREEDY}


@dataclass(frozen=True, slots=True)
class Encoded:
    """A document's prompt in token ids: the parts in order, all of it, the tokens of the middle."""

    document: str
    parts: tuple[tuple[Kind, Ids], ...]
    whole: Ids
    middle: tuple[Token, ...]


class LlamaServer:
    """
    One llama.cpp server, found or started by someone else; see `protocol.Backend`.

    *alone*: nobody else uses it, and its slots do not share one cache.
    """

    def __init__(
        self,
        http: Http | str,
        key: str = "",
        kind: str = "llama-server",
        *,
        alone: bool = False,
    ) -> None:
        self._http = Http(http, key) if isinstance(http, str) else http
        self._state = State(Health.UNKNOWN, kind, self._http.url)
        self._connecting = asyncio.Lock()
        self._identity: tuple[object, ...] = ()
        self._tokenizer = Tokenizer(self._post, self._state.chars_per_token)
        self._specials: Specials | None = None
        self._alone = alone
        self._mirror = Mirror(1)
        self._slots = Slots(self._mirror, 1, alone=alone)
        self._reckoning = Reckoning()

    @property
    def state(self) -> State:
        """What is known now."""
        density, doubt = self._tokenizer.chars_per_token, self._reckoning.cause
        return replace(self._state, chars_per_token=density, doubt=doubt)

    async def connect(self) -> State:
        """Ask who answers and what it can do."""
        async with self._connecting:
            if self._state.health is not Health.READY:
                try:
                    await self._learn()
                except BackendError as error:
                    self._fail(error)
                    raise
        return self.state

    async def measure(self, prompt: Prompt) -> Measure:
        """Count the prompt by parts."""
        encoded = await self._encode(prompt)
        counts = {kind: run.n for kind, run in encoded.parts if kind != "chunk"}
        return Measure(
            total=encoded.whole.n,
            cached=self._slots.reusable(encoded.document, encoded.whole.packed),
            repo=counts.get("repo", 0),
            chunks=tuple(run.n for kind, run in encoded.parts if kind == "chunk"),
            path=counts.get("path", 0),
            prefix=counts["prefix"],
            suffix=counts["suffix"],
            middle=counts["middle"],
        )

    async def warm(self, prompt: Prompt, step: int) -> Warmed:
        """Evaluate the next *step* tokens that the server should not hold yet."""
        encoded = await self._encode(prompt)
        document, whole = encoded.document, encoded.whole
        self._check_size(whole, 1)
        if whole.n - self._slots.reusable(document, whole.packed, ahead=True) <= TAIL:
            return Warmed(evaluated=0, left=0)
        slot = await self._place(document, whole, ahead=True)
        part = self._next_part(whole, step, slot)
        answer, _ = await self._evaluate(document, part, PREFILL, slot)
        left = whole.n - part.n
        return Warmed(answer["timings"]["prompt_n"], left if left > TAIL else 0)

    def _next_part(self, whole: Ids, step: int, slot: int | None) -> Ids:
        """The beginning of *whole* of which *step* tokens are not held yet; all of it if fewer are not."""
        known = self._mirror.expected(whole.packed, slot)
        while True:
            part = head(whole, known + step)
            # A slot may hold too little of the whole to be chosen for it, yet all of a part.
            known = self._mirror.expected(part.packed, slot)
            if part.n - known > TAIL or part.n == whole.n:
                return part

    async def complete(self, request: Request) -> Reply:
        """Decode at most `n_predict` tokens."""
        encoded = await self._encode(request.prompt)
        document, whole = encoded.document, encoded.whole
        self._check_size(whole, request.n_predict)
        slot = await self._place(document, whole)
        answer, outlook = await self._evaluate(document, whole, completion.options(request), slot)
        text = completion.text(answer)
        stop = completion.stop(answer, whole.n, self._state.n_ctx)
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

    async def aclose(self) -> None:
        """Close the connection."""
        await self._http.aclose()
        self._state = replace(self._state, health=Health.UNKNOWN)

    async def _learn(self) -> None:
        """Ask who is there; another model or another server voids all ids."""
        props = await self._props()
        if self._identity != identity(props):
            self._identity = identity(props)
            self._tokenizer = Tokenizer(self._post, self.state.chars_per_token)
        _, path, slots, n_ctx = identity(props)
        model = re.split(r"[/\\]", path)[-1]
        self._mirror = Mirror(slots, alone=self._alone)
        self._slots = Slots(self._mirror, slots, alone=self._alone)
        self._specials = await self._tokenizer.specials(model)
        if self._specials is None:
            raise BackendUnusable(
                f"{model} cannot fill in the middle (it has no tokens for that): start the server "
                "with a model that can, for example llama-server --fim-qwen-1.5b-default"
            )
        self._state = replace(
            self._state, health=Health.READY, message="", model=model, slots=slots, n_ctx=n_ctx
        )

    async def _props(self) -> Object:
        """The server's properties, once they prove that it is llama.cpp."""
        try:
            props = await self._http.get("/props")
            identity(props)
        except (BackendRejected, NotJson, KeyError, TypeError):
            raise BackendUnusable(
                f"{self._http.url} is not a llama.cpp server (it has no /props of one): "
                "check fim.backend.url, or set fim.backend.kind to openai"
            ) from None
        return props

    def _fail(self, error: BackendError) -> None:
        """Note what an error says about the server."""
        if isinstance(error, Loading):
            health = Health.LOADING
        elif isinstance(error, BackendUnavailable):
            health = Health.DOWN
        elif isinstance(error, BackendUnusable):
            health = Health.UNUSABLE
        else:
            return
        self._state = replace(self._state, health=health, message=str(error))

    async def _encode(self, prompt: Prompt) -> Encoded:
        if self._state.health is not Health.READY:
            await self.connect()
        assert self._specials is not None
        parts: list[tuple[Kind, Ids]] = []
        for kind, marks, text in layout(prompt, self._specials):
            parts.append((kind, joined((ids(marks), await self._tokenizer.text(text)))))
        tape, rest = tokens_left(replace(prompt, tape=self._tokenizer.own(prompt.tape)))
        middle = tape + await self._tokenizer.run(rest)
        kind, marks_only = parts.pop()
        parts.append((kind, joined((marks_only, ids([t.id for t in middle])))))
        whole = joined(run for _, run in parts)
        return Encoded(f"{prompt.repo}\n{prompt.path}", tuple(parts), whole, middle)

    def _check_size(self, whole: Ids, n_predict: int) -> None:
        if whole.n + n_predict > self._state.n_ctx:
            raise PromptTooLong(whole.n + n_predict, self._state.n_ctx)

    async def _place(self, document: str, whole: Ids, *, ahead: bool = False) -> int | None:
        """The slot to name for *whole*, cleared where that is worth it; None to name none."""
        slots = self._slots
        if slots.is_looking(document):
            slots.see(await self._tokens_by_slot())
        slot, clear = slots.choose(document, whole.packed, ahead=ahead)
        if not clear:
            return slot
        before = await self._tokens_by_slot() if slots.kind is SlotsKind.UNKNOWN else None
        assert self._specials is not None
        foreign = ids([self._specials.suffix])  # no prompt begins with it
        answer, _ = await self._evaluate("", foreign, PREFILL, slot)
        if before is not None:
            slots.learn(before, await self._tokens_by_slot() or {}, answer["id_slot"])
        return slots.choose(document, whole.packed, ahead=ahead).slot

    async def _tokens_by_slot(self) -> dict[int, int] | None:
        """How much each slot holds; None where the server does not say."""
        try:
            slots = (await self._http.get("/slots"))["list"]
            return {int(slot["id"]): int(slot.get("n_prompt_tokens") or 0) for slot in slots}
        except (BackendRejected, BackendUnusable, NotJson, KeyError, TypeError, ValueError):
            return None

    async def _evaluate(
        self, document: str, whole: Ids, options: Object, slot: int | None
    ) -> tuple[Object, Outlook | None]:
        """Evaluate *whole*, decode, and keep the books; returns what we expected, too."""
        outlook = self._mirror.outlook(whole.packed, slot)
        options = {**options, **completion.ALWAYS, "id_slot": -1 if slot is None else slot}
        try:
            # The ids are text already, so they go around json.dumps.
            body = f'{{"prompt":[{whole.listed}],{json.dumps(options)[1:]}'
            answer = await self._post("/completion", body)
        except BaseException:
            self._mirror.forget()
            raise
        self._note(document, whole, answer, outlook, named=slot is not None)
        return answer, outlook

    def _note(
        self, document: str, whole: Ids, answer: Object, outlook: Outlook | None, *, named: bool
    ) -> None:
        """Keep the books: slots, mirror, speed."""
        slot, timings = answer["id_slot"], answer["timings"]
        made, n_held = ids(answer["tokens"]), answer["tokens_cached"]
        held = (whole.packed + made.packed)[: n_held * WIDTH]
        self._mirror.settle(slot, whole.packed, held, named=named)
        if outlook is not None and outlook.loaded:
            self._mirror.loaded(outlook.reused, timings["cache_n"])
        if document and named:
            self._slots.used(document, slot)
        self._doubt(outlook, timings["cache_n"])
        n, ms = timings["prompt_n"], timings["prompt_ms"]
        log.debug(
            "slot %d: %d of %d tokens evaluated in %.0f ms, %d made",
            slot, n, whole.n, ms, made.n,
        )  # fmt: skip
        if n >= ENOUGH_TOKENS and ms > 0:
            mean = self._state.prefill_per_s
            mean += SMOOTHING * (1000 * n / ms - mean)
            self._state = replace(self._state, prefill_per_s=mean)

    def _doubt(self, outlook: Outlook | None, found: int) -> None:
        """Compare what we expected with what came; say so once when that is wrong again and again."""
        before = self._reckoning.cause
        self._reckoning.compare(outlook, found)
        if self._reckoning.cause and not before:
            log.warning(
                "%s evaluates more than it should: %s", self._http.url, self._reckoning.cause
            )

    async def _post(self, path: str, body: str) -> Object:
        """Send, on a connection whose other end has proved to be the server we know."""
        try:
            try:
                return await self._http.post(path, body.encode())
            except Unproven:
                # llama.cpp closes after 5 s of silence and after 100 requests.
                if identity(await self._props()) != self._identity:
                    raise BackendUnavailable(f"{self._http.url} has another model now") from None
                return await self._http.post(path, body.encode())
        except BackendError as error:
            self._fail(error)
            raise


def identity(props: Object) -> tuple[str, str, int, int]:
    """Build, model, slots, context: tells servers apart. KeyError or TypeError if not llama.cpp's."""
    n_ctx = int(props["default_generation_settings"]["n_ctx"])
    return str(props["build_info"]), str(props["model_path"]), int(props["total_slots"]), n_ctx
