"""A loop on virtual time whose threads, disks and timers are as late as *delays* says."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from fim_lsp import regular_files
from fim_lsp.context.grammars import find_borders
from fim_lsp.context.uses import find_uses
from fim_lsp.lsp import rpc, structure
from fim_lsp.settings import files
from fim_lsp.workspace import reader
from fim_lsp.workspace.files import grow
from tests.clock import Loop

PLAYER = "player"  # the task that plays the story: its pauses are as they are written
SCALES = (0, 0, 0, 0.05, 0.4, 0.9, 3.0)  # seconds that one kind of wait may take
READS = (0, 0.4, 0.9, 3.0)  # that a settings file may: within `LIMIT_S` it is not late
TIMERS = (0, 0, 0, 0, 0.02, 0.3)  # that one kind of timer may be late
EPOCH = 1e9

Wait = tuple[str, int]  # the name of what waits, and the how-manyth of that name


class Delays:
    """
    Seconds by wait: drawn from a *seed*, or *given*. Below zero the work begins so late, above it
    is done at once and told so late: the first finds late starts, the second old news.
    """

    def __init__(self, seed: int | None = None, given: Mapping[Wait, float] | None = None) -> None:
        self.used: dict[Wait, float] = {}
        self.are_over = False
        self._seed = seed
        self._given = given or {}
        self._counts = Counter[str]()

    def __call__(self, name: str, scales: tuple[float, ...] = SCALES) -> float:
        """Return how long the next wait of this *name* takes."""
        key = name, self._counts[name]
        self._counts[name] += 1
        drawn = self._given.get(key, 0.0) if self._seed is None else self._draw(key, scales)
        if drawn and not self.are_over:
            self.used[key] = drawn
            return drawn
        return 0.0

    def _draw(self, key: Wait, scales: tuple[float, ...]) -> float:
        scale = random.Random(f"{self._seed} {key[0]}").choice(scales)
        if not scale:
            return 0.0
        rng = random.Random(f"{self._seed} {key}")
        return rng.choice((0, 1, 1)) * rng.choice((1, -1)) * round(rng.uniform(0, scale), 3)


class World(Loop):
    """The event loop of one run."""

    def __init__(self, delays: Delays) -> None:
        super().__init__()
        self.delays = delays

    def run_in_executor(  # type: ignore[override]
        self, _: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = self.create_future()
        self.work(self.delays(_name(func, args)), future, functools.partial(func, *args))
        return future

    def work(self, seconds: float, future: Any, func: Callable[[], Any]) -> None:
        """Let *future* have what *func* returns or raises, as late as *seconds* says."""

        def run_in_executor(answer: Callable[[], Any]) -> None:  # tests/watchdog knows the name
            if future.done():
                return
            try:
                future.set_result(answer())
            except Exception as error:  # noqa: BLE001  (a thread's)
                future.set_exception(error)

        if seconds > 0:
            func = functools.partial(_repeat, _attempt(func))
        if seconds:
            super().call_at(self.time() + abs(seconds), run_in_executor, func)
        else:
            run_in_executor(func)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> Any:
        late = abs(self.delays(name, TIMERS)) if (name := self._timer(callback)) else 0.0
        return super().call_at(when + late, callback, *args, context=context)

    def _timer(self, callback: Any) -> str:
        """Return the name of a timer of the product, "" for one of the story."""
        name = getattr(callback, "__qualname__", "")
        task = asyncio.current_task(self)
        if task is None or task.get_name() == PLAYER:
            return f"timer {name}" if callback.__module__.startswith("fim_lsp") else ""
        name = task.get_name()
        return f"timer of {task.get_coro().__qualname__ if name.startswith('Task-') else name}"


def _attempt(func: Callable[[], Any]) -> concurrent.futures.Future[Any]:
    done: concurrent.futures.Future[Any] = concurrent.futures.Future()
    try:
        done.set_result(func())
    except Exception as error:  # noqa: BLE001  (a thread's)
        done.set_exception(error)
    return done


def _repeat(done: concurrent.futures.Future[Any]) -> Any:
    return done.result()


def _name(func: Any, args: tuple[Any, ...]) -> str:
    """Return the name of what a thread runs, and of the file that it is about."""
    while True:
        if isinstance(func, functools.partial):
            func, args = func.func, (*func.args, *args)
        elif getattr(func, "__name__", "") in ("_take_turn", "run") and callable(args[0]):
            func = args[0]
            args = args[1:]
        else:
            break
    file = next((str(a).rsplit("/", 1)[-1] for a in args if isinstance(a, str | Path)), "")
    return f"{getattr(func, '__name__', '?')} {file}".strip()


class Readers:
    """The threads that read settings files: what takes longer than the limit is late."""

    def __init__(self, world: World) -> None:
        self._world = world

    def submit(self, func: Callable[..., Any], *args: Any) -> concurrent.futures.Future[Any]:
        """Read one file."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        seconds = self._world.delays(_name(func, args), READS)
        is_late = abs(seconds) > files.LIMIT_S
        self._world.work(is_late * seconds, future, functools.partial(func, *args))
        return future


@contextmanager
def new_world(delays: Delays) -> Iterator[World]:
    """Give a world with *delays*, which has the clocks, threads and parsers of the product."""
    world = World(delays)

    def grow_slice(index: Any, root: Any, listing: Any, todo: Any) -> Any:
        n = 1 if delays("slice") else len(todo)
        index, left = grow(index, root, listing, todo[:n])
        return index, [*left, *todo[n:]]

    def wait(futures: Any, _: float) -> Any:
        done = {future for future in futures if future.done()}
        return done, {*futures} - done

    with pytest.MonkeyPatch.context() as patch:
        for clock in ("perf_counter", "monotonic"):
            patch.setattr(time, clock, world.time)
        patch.setattr(time, "monotonic_ns", lambda: int(world.time() * 1e9))
        patch.setattr(time, "time", lambda: EPOCH + world.time())
        patch.setattr(regular_files, "REST_S", 0.0)  # a thread that rests would hold the loop
        patch.setattr(files, "_READERS", Readers(world))
        patch.setattr(files, "wait", wait)
        patch.setattr("fim_lsp.workspace.explorer.grow", grow_slice)
        patch.setattr(rpc, "make_converter", _converter)
        parser: Any = reader.SyntaxProcess
        patch.setattr(parser, "borders", lambda _, language, text: _read(language, text))
        patch.setattr(parser, "uses", lambda _, *asked: [*find_uses(*asked)])
        patch.setattr(parser, "errors", lambda *_: None)
        yield world


_read = functools.lru_cache(4096)(find_borders)
_converter = functools.cache(structure.make_converter)  # takes longer than a story
