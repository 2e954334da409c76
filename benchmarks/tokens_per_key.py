"""
Tokens evaluated per key, as figures that no change may raise unseen: they stand in `tokens_per_key.json`.

    python -m benchmarks.tokens_per_key            # prints them, in some seconds
    python -m benchmarks.tokens_per_key --write    # after a change that is meant to change them

A session types traces, at the pace of their keys, into the backend without a model (tests/fake_backend.py). Its tokens are
much like a model's, and it computes nothing; waiting takes no time (`Skipping`), and the code is made up (`module`). So the
figures are the same on every machine and decided by the session alone. `keystrokes` measures them on llama.cpp.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import arguments
from benchmarks.clients import Ours
from benchmarks.editor import Editor, Step
from benchmarks.traces import (
    SLIP,
    A,
    B,
    Typist,
    accept_line,
    change_of_mind,
    jump,
    open_line,
    pace,
    think,
    write,
)
from fim_lsp.session.session import Session
from fim_lsp.settings.config import CompletionConfig, Config
from tests.fake_backend import FakeBackend

COMMITTED = Path(__file__).with_suffix(".json")
N_ASKS = 150  # requests in each trace
AT_LINE = 300
FILES = {A: 1, B: 2}  # the seed of each
LEAST_S = 1e-6  # that an empty turn of the loop takes: what waits for less than its clock can show would wait for ever
SPEED: Any = {"prefill_per_s": 2000.0, "decode_ms": 6.0}  # of a small model on a laptop
SETTINGS = Config(completion=CompletionConfig(debounce_ms=30))  # the default follows the clock

VERBS = ("load", "count", "find", "merge", "update", "check", "split", "send")
NOUNS = ("order", "price", "parcel", "customer", "weight", "address", "route", "stock")
METHOD = '''\
    def {verb}_{noun}(self, {first}, {second}=None):
        """{verb} the {noun} of a {first}."""
        {found} = self.{noun}s.get({first}.name, {second})
        if {found} is None or {found}.{third} < {number}:
            raise ValueError(f"no {noun} for {{{first}}}")
        for {third} in {found}.{third}s:
            self.{verb}_{second}({third}, {first}.{second} * {number})
        return {found}

'''


class Skipping(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer, and whose threads are none."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        selector: Any = self._selector  # type: ignore[attr-defined]
        select = selector.select

        def skip(seconds: float | None) -> list[Any]:
            self._now += (seconds or 0.0) + LEAST_S
            return select(None if seconds is None else 0)

        selector.select = skip

    def time(self) -> float:
        """Return seconds since the beginning, as far as anything was waited for."""
        return self._now

    def run_in_executor(self, _: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """Run *func* now."""
        done = Future[Any]()
        done.set_result(func(*args))
        return asyncio.wrap_future(done, loop=self)


def module(seed: int) -> str:
    """Return a class of some six hundred lines, no two methods alike."""
    rng = random.Random(seed)
    names = ("verb", "noun", "first", "second", "third", "found")
    text = "class Shop:\n"
    while text.count("\n") < 2 * AT_LINE:
        words = dict(zip(names, (rng.choice(VERBS), *rng.sample(NOUNS, 5)), strict=True))
        text += METHOD.format(**words, number=rng.randrange(100))
    return text


def new_code(seed: int) -> Iterator[str]:
    """Lines to type, for ever."""
    while True:
        lines = module(seed).split("\n")[1:]
        yield from (line for line in lines if line.strip() and '"""' not in line)
        seed += 1


def user(seed: int) -> Typist:
    """Return a user with two files open, at work in the middle of the first."""
    rng = random.Random(seed)
    made = Typist(Editor(pace(rng)), rng, new_code(10 * seed), [AT_LINE])
    for uri, file_seed in reversed(FILES.items()):
        made.editor.open(uri, "python", module(file_seed))
    open_line(made, AT_LINE)
    return made


def lines(typist: Typist) -> None:
    """Line after line, with slips of the finger, and a thought now and then."""
    write(typist, next(typist.code), slips=SLIP)
    if typist.rng.random() < 0.2:
        think(typist)
    typist.editor.enter()


def places(typist: Typist) -> None:
    """A line here and a line there."""
    jump(typist)
    write(typist, next(typist.code))


def files(typist: Typist) -> None:
    """A line in this file, and one in the other."""
    write(typist, next(typist.code))
    think(typist)
    typist.editor.switch(B if typist.editor.uri == A else A)
    open_line(typist, typist.editor.position.line)


def minds(typist: Typist) -> None:
    """What was typed or accepted is taken back in part."""
    write(typist, next(typist.code))
    accept_line(typist)
    change_of_mind(typist)


TRACES = {trace.__name__: trace for trace in (lines, places, files, minds)}


def steps_of(once: Callable[[Typist], None]) -> list[Step]:
    """Return a user's steps who does *once* again and again."""
    typist = user(1)
    while sum(step.asks for step in typist.editor.steps) < N_ASKS:
        once(typist)
    return typist.editor.steps


async def measure(steps: list[Step]) -> dict[str, float]:
    """Return what a key costs: tokens while a request waits, the 95th percentile, and in the background."""
    backend = FakeBackend()
    backend.state = replace(backend.state, **SPEED)
    session = Session(SETTINGS, lambda _: backend)
    ours, requests = Ours(session), list[asyncio.Task[str | None]]()
    for step in steps:
        await asyncio.sleep(step.wait_ms / 1e3)
        for event in step.events:
            session.handle(event)
        if step.asks:
            requests.append(asyncio.create_task(ours.complete(step.uri, step.position)))
    await asyncio.gather(*requests, return_exceptions=True)  # most were overtaken
    await session.wait_idle()
    stats, n_keys = session.counters, sum(step.key for step in steps)
    costs = sorted(answer.evaluated for answer in stats.answers)
    await session.aclose()
    return {
        "waited for": round(stats.evaluated / n_keys, 2),
        "95th percentile": costs[int(0.95 * len(costs))],
        "in the background": round(stats.background / n_keys, 2),
    }


def figures() -> dict[str, dict[str, float]]:
    """Return the figures of every trace."""
    by_trace = {}
    for name, once in TRACES.items():
        with asyncio.Runner(loop_factory=Skipping) as runner:
            by_trace[name] = runner.run(measure(steps_of(once)))
    return by_trace


def main() -> None:
    """Print the figures, or write them."""
    parser = arguments.parser("benchmarks.tokens_per_key", __doc__)
    parser.add_argument("--write", action="store_true", help="commit to the figures of now")
    text = json.dumps(figures(), indent=2) + "\n"
    if parser.parse_args().write:
        COMMITTED.write_text(text, "utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
