"""
A llama.cpp server that has proved its identity, and typed answers from it.

The user's text goes only to the server that `meet` met: the same build, model, slots and context,
with the same vocabulary. llama.cpp closes a connection after 5 s of silence and after 100 requests,
its router after each, and another server may have its port by then. So each new connection is
proved before it is used: by `/props`, and by a fixed text whose tokens must be those of before: a
model may be replaced under its own name. Of a router only itself is proved.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import NamedTuple, Protocol, TypeVar

from server_bridge.fim.tokens import FAMILIES
from server_bridge.http.client import Http, Look
from server_bridge.http.fields import OptionalFields
from server_bridge.http.responses import (
    SIGN,
    Loading,
    Lost,
    Object,
    ServerError,
    UnexpectedAnswer,
    Unproven,
    optional,
    read,
)
from server_bridge.llama.answers import Event, Slot, TokenIds
from server_bridge.llama.identity import Identity, proof, properties
from server_bridge.patience import CALM_S, LOOK_S, NextStep, Seen, ServerKind, Watch
from server_bridge.protocol import (
    BackendError,
    BackendRejected,
    BackendTimeout,
    BackendUnavailable,
    BackendUnusable,
    PromptTooLong,
)

# Answers of a server that does without an endpoint, or answers there as no llama.cpp does.
WITHOUT = (BackendRejected, BackendUnusable, UnexpectedAnswer)


# Words, digits, spaces, signs and scripts; and every control token, whose numbers differ soonest.
PROBE = (
    "def area(self, width: int) -> float:\n    return width * 31.4159  # größe 面積 площа 🎉\n"
    "for (let i = 0; i < items.length; i++) {\n\tconsole.log(`${items[i]}`);\n}\n"
    + "".join(spelling for family in FAMILIES for spelling in family.spellings)
)

# Fields that a completion can do without, though less is known of it then; see `http.fields`.
OPTIONAL = (
    "response_fields", "n_cache_reuse", "timings_per_token", "n_probs", "return_tokens", "samplers",
    "cache_prompt", "stop", "seed", "temperature", "top_k", "id_slot", "grammar",
)  # fmt: skip

WAITING = Event()  # the request waits its turn, as the server says
T = TypeVar("T")
Body = Callable[[Object], str]  # writes a request with these fields

log = logging.getLogger(__name__)


class NotForced(BackendRejected):
    """The server refuses the grammar that an answer is to begin by: it needs another prompt."""


class Process(Protocol):
    """The process of a server that we run."""

    pid: int | None

    def cpu_s(self) -> float | None:
        """Return the seconds that it has computed; None once it has ended."""

    async def kill(self) -> None:
        """End it at once: it hangs."""


class MetServer(NamedTuple):
    """A server as it was met: what it says of itself, and `PROBE` in its tokens."""

    identity: Identity
    probe: tuple[int, ...]


class Link:
    """
    *http* to one server, and a second connection for streams. All raise `BackendError` alone.

    Closing a stream closes its connection, and the next one needs another. This one has the same
    server behind it while the first connection, which was proved, is still open: this is looked at
    once the other one stands, and on another machine it is asked.
    """

    def __init__(
        self, http: Http, process: Process | None = None, *, hurried: bool = False
    ) -> None:
        self._http = http
        self._process = process
        self._streams = http.another(self._check)
        self._looks = http.another()  # a look holds nothing of the user's: any server may be asked
        for connection in (self._http, self._streams):
            connection.watch = self._watch
            connection.on_late = self._note_late
        self.on_late: Callable[[], None] = lambda: None
        self._late_since = ""
        self._late_until = 0.0
        self._is_hurried = hurried or http.patience_s < LOOK_S
        self._met: MetServer | None = None
        self._was_met = False
        self.is_asleep = False  # so it was when it was looked at, and its slots are empty since
        self._fields = OptionalFields(OPTIONAL)

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._http.url

    @property
    def late_since(self) -> str:
        """Since when answers come late, as HH:MM; "" while they come in time."""
        return self._late_since if time.monotonic() < self._late_until else ""

    @property
    def forces(self) -> bool:
        """Return whether an answer can be made to begin with a text, as far as is known."""
        return "grammar" not in self._fields.refused

    async def meet(self) -> MetServer:
        """Learn which server is there now. Raises BackendUnusable where it is not llama.cpp."""
        self._met = None
        try:
            met = await self._identify()
        except BackendTimeout:
            if self.is_asleep:  # a server that loads its model answers nothing
                raise self._loading() from None
            raise
        self._met = met
        self.is_asleep = False
        self._was_met = True
        return met

    async def look(self) -> None:
        """Learn whether it is there, and whether its model is in memory; this wakes nothing."""
        if (await self._looks.get("/props", named=False)).get("is_sleeping") is True:
            self._note_sleep()

    def _note_sleep(self) -> None:
        self.is_asleep = True

    def _loading(self) -> Loading:
        return Loading(f"{self.url} loads its model again, after a rest")

    async def _prove(self, http: Http) -> None:
        """
        Raise BackendUnavailable if another server is there than the one that was met, or its slots
        are empty since it slept.
        """
        proved = await proof(http, self._note_sleep)
        met = self._met
        if self.is_asleep:
            raise self._loading()
        if proved is None and met is not None:
            return  # a router closes the connection behind a probe, before what it is to prove
        if not met or proved != met.identity or await self._probe(http) != met.probe:
            raise BackendUnavailable(f"{self.url} has another model now")

    async def post(self, kind: type[T], path: str, body: str) -> T:
        """Send JSON, and read the answer as a *kind*."""
        answer = await self._proven(lambda: self._http.post(path, body.encode()))
        return read(kind, answer, self.url + path)

    async def get(self, kind: type[T], path: str) -> list[T]:
        """Return the JSON list at *path*, each item as a *kind*."""
        answer = await self._proven(lambda: self._http.get(path, opens=False))
        # `http.responses` hands a list on so.
        return read(list[kind], answer.get("list"), self.url + path)  # type: ignore[valid-type]

    async def _proven(self, send: Callable[[], Awaitable[Object]]) -> Object:
        """
        Return the answer to what is sent, where it must be on a new connection that proved its
        server.
        """
        try:
            return await send()
        except Unproven:
            await self._prove(self._http)
            return await send()

    async def stream(self, fields: Object, body: Body) -> AsyncGenerator[Event, None]:
        """
        Send a request with those of *fields* that the server takes, as *body* writes it, and read
        the events of the answer, `WAITING` before it; closing this closes its connection.
        """
        is_begun = was_lost = False
        while True:
            taken = self._fields.leave_out(fields)
            if "grammar" in fields.keys() - taken.keys():
                raise NotForced(f"{self.url} refuses a grammar")
            sent = self._streams.stream("/completion", body(taken).encode())
            try:
                async with aclosing(sent) as events:
                    async for event in events:
                        if "done" in event:  # `events.DONE`
                            continue
                        if event is SIGN:
                            yield WAITING
                            continue
                        is_begun = True
                        self._fields.note_answer()
                        yield read(Event, event, f"{self.url}/completion")
                return
            except Lost:
                if is_begun or was_lost:
                    raise
                was_lost = True
            except BackendRejected as error:
                is_final = is_begun or isinstance(error, PromptTooLong)
                if is_final or not self._fields.take_back(taken, error):
                    raise
                log.info("llama.refused url=%s reason=%s", self.url, error)

    async def aclose(self) -> None:
        """Close the connections."""
        for http in (self._http, self._streams, self._looks):
            await http.aclose()

    def _watch(self) -> Look:
        """Return what looks at the server while one answer is late, and says what follows."""
        server = ServerKind.LLAMA if self._was_met and not self._is_hurried else ServerKind.HURRIED
        watch = Watch(ServerKind.ENGINE if self._process else server)
        before = self._process.cpu_s() if self._process else None

        async def look() -> NextStep:
            nonlocal before
            seen = await self._see()
            if self._process is not None:
                was = before
                before = self._process.cpu_s()
                if before is None:
                    seen = Seen.GONE
                elif seen is Seen.DEAF and before != was:
                    seen = Seen.WORKING
            log.info("llama.late url=%s seen=%s", self.url, seen.name)
            step = watch.decide(seen, time.monotonic())
            if step is NextStep.END and self._process is not None:
                await self._process.kill()
            return step

        return look

    async def _see(self) -> Seen:
        """
        Look at the slots: it answers between two batches. Where it does not show them it answers
        something else, which is not known to be less.
        """
        try:
            slots = optional(list[Slot], (await self._looks.get("/slots", named=False)).get("list"))
        except (BackendTimeout, ServerError, UnexpectedAnswer):
            return Seen.DEAF
        except BackendUnavailable as error:
            return Seen.WORKING if isinstance(error, Loading) else Seen.GONE
        except BackendError:
            return Seen.WORKING
        is_idle = slots and not any(slot.is_processing for slot in slots)
        return Seen.IDLE if is_idle else Seen.WORKING

    def _note_late(self) -> None:
        """Note that an answer is late: they come in time again once none was for a while."""
        if self._met is not None:
            self._late_since = self.late_since or time.strftime("%H:%M")
            self._late_until = time.monotonic() + CALM_S
            asyncio.get_running_loop().call_later(CALM_S, self.on_late)
            self.on_late()

    async def _check(self) -> None:
        """Raise BackendUnavailable if another server may be there by now."""
        if self._http.is_open:
            return
        try:
            await self._http.get("/health", named=False, opens=False)
        except Unproven:
            await self._prove(self._http)

    async def _identify(self) -> MetServer:
        identity = await properties(self._http, self._note_sleep)
        try:
            return MetServer(identity, await self._probe(self._http))
        except Unproven:  # closed behind a hundred answers; by a router, behind each of a model
            await proof(self._http)
            return MetServer(identity, await self._probe(self._http))

    async def _probe(self, http: Http) -> tuple[int, ...]:
        question = {"content": PROBE, "add_special": False, "parse_special": True}
        answer = await http.post("/tokenize", json.dumps(question).encode())
        return tuple(read(TokenIds, answer, f"{self.url}/tokenize").tokens)
