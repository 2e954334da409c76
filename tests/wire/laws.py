"""
A session plays a story with a server that attacks it, and what must hold.

- *answer*: each request has its answer in time: typed ones by their deadline, all others soon after
  they are cancelled, or as long as a server may load.
- *free*: once the server is honest the next request gets a text, after a step of what is under way.
- *error*: nothing fails in a way that is none of ours, and the log has a few lines for a request.
- *rest*: in the end nothing waits, no connection stands and no task is alive.

    python -m tests.wire.laws FIRST N      each kind of trouble in N seeds, shrunk to a few steps
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

import pytest

from fim_lsp.documents import Position
from fim_lsp.instruct.dialogue import Instruction
from fim_lsp.session.session import Session
from fim_lsp.suggest.request import EDITOR, MENU
from server_bridge.bridge import BackendSettings, open_backend
from server_bridge.patience import LOAD_S
from server_bridge.protocol import Health
from tests.clock import run
from tests.typist import QUICK, ROOT, Typist
from tests.wire.attacks import ATTACKS
from tests.wire.network import Asked, Network, connected
from tests.wire.servers import SERVERS, LlamaCpp, OpenAi, written

PAUSES = (0.0, 0.02, 0.3, 1.0, 4.0, 30.0)
CONFIG = replace(QUICK, completion=replace(QUICK.completion, max_tokens=32))
STEP_S = 0.3
ABOVE = "".join(f"def part_{n}(price):\n    return price * {n}\n\n\n" for n in range(12))
FREE_S = 30.0  # events of which each may be late, or two looks, and the attempts to connect
FOR_EVER_S = 1e6
# As long as a server may load; where the user reads along, as long as it writes.
LIMITS_S = {
    "menu": CONFIG.completion.deadline_ms / 1e3, "typing": LOAD_S + FREE_S, "hand": LOAD_S + FREE_S,
    "long": FOR_EVER_S, "edit": FOR_EVER_S,
}  # fmt: skip
REST_S = 120.0
LINES = 3  # of the log, for each request
TRIES = 60

Trouble = tuple[str, str]  # a law, and what does not hold


@dataclass(frozen=True)
class Story:
    """A *kind* of server, and the *steps* of what happens."""

    kind: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return f'("{self.kind}", "{"; ".join(self.steps)}")'


class Run:
    """One run of a story."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.server: LlamaCpp | OpenAi = SERVERS[story.kind.split()[0]]()
        self.rng = random.Random(str(story))
        self.attack: tuple[str, str, float] | None = None
        self.network: Any = Network(self.serve)
        self.troubles: dict[Trouble, None] = {}
        self.asked: list[asyncio.Task[Any]] = []
        self.n_texts = self.n_attacks = self.n_asked = self.n_lines = self._n = 0

    def blame(self, law: str, what: str) -> None:
        self.troubles[law, what] = None

    async def serve(self, asked: Asked, second: Any = None) -> AsyncGenerator[bytes, None]:
        """Yield the bytes that the server answers, or a *second* one, which attacks nothing."""
        answer = (second or self.server).answer(asked)
        attack = None
        if self.attack is not None and second is None:
            name, scope, share = self.attack
            is_meant = scope == "all" or (scope == "stream") is (answer.events is not None)
            attack = ATTACKS[name] if is_meant and self.rng.random() < share else None
        self.n_attacks += attack is not None
        pieces = attack(answer, self.rng) if attack else written(answer)
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        finally:
            if answer.events is not None:
                await answer.events.aclose()

    async def play(self) -> None:
        """Play the story, and see what holds at its end."""
        self.session = Session(CONFIG, lambda _: open_backend(self.settings()))
        self.typists = dict[str, Typist]()
        self.open("a")
        self.open("b")
        for step in self.story.steps:
            kind, *args, pause = step.split()
            await getattr(self, f"do_{kind}")(*args)
            await asyncio.sleep(float(pause))
        await self.see_free()
        await self.see_rest()

    def settings(self) -> BackendSettings:
        return BackendSettings(self.story.kind, "http://127.0.0.1:9")  # type: ignore[arg-type]

    def open(self, name: str) -> None:
        text = f"{ABOVE}def total(price, rate):\n    value_of = "
        self.typists[name] = Typist(self.session, text, f"{ROOT}/{name}.py")

    async def do_attack(self, name: str, scope: str, share: str) -> None:
        self.attack = (name, scope, float(share))
        self.network.is_down = False

    async def do_honest(self) -> None:
        self.attack = None
        self.network.is_down = False

    async def do_down(self) -> None:
        self.network.is_down = True

    async def do_key(self, name: str) -> None:
        self._n += 1
        self.typists[name].type(f"\n    value_{self._n} = ")

    async def do_text(self, name: str) -> None:
        """Write another text of the same length in place of the one before."""
        self._n += 1
        typist = self.typists[name]
        text = f"{ABOVE}def total(price, rate):\n    value_{self._n:05} = "
        typist.replace(Position(0, 0), typist.document.clamp(Position(999, 0)), text)
        typist.cursor = typist.document.clamp(Position(999, 99))

    async def do_ask(self, name: str, how: str) -> None:
        """Ask, as an editor does, which cancels the request before."""
        await self.do_cancel()
        self.n_asked += 1
        limit_s = LIMITS_S[how]
        uri = self.typists[name].uri
        at = self.typists[name].cursor
        session = self.session
        work: Any
        if how == "long":
            work = session.continue_long(uri, at, lambda _: True)
        elif how == "edit":
            wanted = Instruction(Position(0, 0), at, "add types", again=False, more=False)
            work = session.edit(uri, wanted, lambda _: True)
        else:
            client = MENU if how == "menu" else EDITOR
            work = session.complete(uri, at, invoked=how == "hand", client=client)
        self.asked.append(asyncio.create_task(self._in_time(work, limit_s, how)))

    async def do_cancel(self) -> None:
        asked = self.asked
        self.asked = []
        for task in asked:
            task.cancel()
        if asked and (await asyncio.wait(asked, timeout=STEP_S))[1]:
            self.blame("answer", "a cancelled request goes on")

    async def _in_time(self, work: Any, limit_s: float, how: str) -> Any:
        late = asyncio.get_running_loop().call_later(
            limit_s + STEP_S, self.blame, "answer", f"a request ({how}) has none"
        )
        try:
            answer = await work
            self.n_texts += bool(
                answer[1]
                if how == "long"
                else answer.lines
                if how == "edit"
                else answer.suggestions
            )
            return answer
        finally:
            late.cancel()

    async def see_free(self) -> None:
        """Ask an honest server once more, at the same moment as it becomes one."""
        await self.do_honest()
        self.open("c")  # what is under way is for other documents
        loop = asyncio.get_running_loop()
        session = self.session
        since = loop.time()
        most = loop.time() + LOAD_S + FREE_S
        while loop.time() < min(since + FREE_S, most):
            await self.do_ask("c", "hand")
            [task] = self.asked
            if (answer := await task).suggestions:
                return
            if session.status().state.health is Health.LOADING:
                since = loop.time()  # a server has so long to load a model
            await asyncio.sleep(0.5)
        self.blame("free", f"no text: {answer.end.words}")

    async def see_rest(self) -> None:
        await asyncio.sleep(REST_S)
        if not self.session._lane.idle:
            self.blame("rest", f"work is left: {[*self.session._lane._jobs]}")
        if self.n_lines > LINES * self.n_asked:
            self.blame("error", "the log grows")
        await self.do_cancel()
        await self.session.aclose()
        await asyncio.sleep(1.0)
        if self.network.n_open:
            self.blame("rest", f"{self.network.n_open} connections stand")
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            self.blame("rest", f"alive: {task.get_coro().__qualname__}")


class Errors(logging.Handler):
    """Notes what is logged as an error, and counts the warnings."""

    def __init__(self, run: Run) -> None:
        super().__init__(logging.WARNING)
        self._run = run

    def emit(self, record: logging.LogRecord) -> None:
        self._run.n_lines += 1
        if record.levelno >= logging.ERROR:
            error = record.exc_info[1] if record.exc_info else ""
            self._run.blame("error", f"{record.getMessage()} {error!r}"[:200])


def play(story: Story, kind: type[Run] = Run) -> Run:
    """Return the run of *story*, of a *kind*."""
    one = kind(story)
    logger = logging.getLogger()
    handler = Errors(one)
    logger.addHandler(handler)

    async def all_of_it() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, told: one.blame("error", str(told)[:300]))
        await one.play()

    try:
        with pytest.MonkeyPatch.context() as patch, connected(one.network):
            run(all_of_it(), patch)
    finally:
        logger.removeHandler(handler)
    return one


HOW = ("menu", "menu", "typing", "typing", "hand", "hand", "long", "edit")


def draw(seed: int) -> Story:
    """Return the story of a seed."""
    rng = random.Random(seed)
    kind = rng.choice([*SERVERS])
    chosen = rng.sample([*ATTACKS], 2)
    steps = ["honest 1.0"] * (rng.random() < 0.7)

    def attack() -> str:
        scope = rng.choice(("all", "stream", "stream", "rest"))
        return f"attack {rng.choice(chosen)} {scope} {rng.choice((1, 1, 0.5))} {rng.choice(PAUSES)}"

    steps.append(attack())
    for _ in range(rng.randrange(3, 10)):
        pause = rng.choice(PAUSES)
        name = rng.choice("aab")
        match rng.randrange(9):
            case 0 | 1:
                steps.append(attack())
            case 2:
                steps.append(f"{rng.choice(('honest', 'cancel', 'down'))} {pause}")
            case 3 | 4:
                steps.append(f"key {name} {pause}")
            case _:
                steps.append(f"key {name} 0.0")
                steps.append(f"ask {name} {rng.choice(HOW)} {pause}")
    return Story(kind, tuple(steps))


def kind_of(trouble: Trouble) -> str:
    return f"{trouble[0]}: {trouble[1]}"[:60]


def shrink(story: Story, wanted: str, kind: type[Run] = Run) -> Story:
    """Return the smallest story that was found to go wrong in the same way."""
    tries = 0
    before = None

    def holds(smaller: Story) -> bool:
        nonlocal tries
        tries += 1
        return tries <= TRIES and any(kind_of(t) == wanted for t in play(smaller, kind).troubles)

    while before != story:
        before = story
        for n in reversed(range(len(story.steps))):
            smaller = replace(story, steps=story.steps[:n] + story.steps[n + 1 :])
            story = next(filter(holds, [smaller]), story)
    return story


def find(
    seeds: range, kind: type[Run] = Run, draw: Callable[[int], Story] = draw
) -> Iterator[tuple[int, str, Story]]:
    """Yield each kind of trouble once: the seed, what it is, and its smallest story."""
    known = set[str]()
    for seed in seeds:
        story = draw(seed)
        for what in map(kind_of, play(story, kind).troubles):
            if what not in known:
                known.add(what)
                yield seed, what, shrink(story, what, kind)


if __name__ == "__main__":
    for seed, what, smallest in find(range(int(sys.argv[1]), int(sys.argv[1]) + int(sys.argv[2]))):
        print(f"{seed} {what}: {smallest}", flush=True)
