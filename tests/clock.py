"""An event loop whose timers are due at once, one after the other: an hour takes no time, and a busy machine changes nothing."""

from __future__ import annotations

import asyncio
import inspect
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

Result = TypeVar("Result")


class Clock(selectors.DefaultSelector):
    """A selector that does not wait: *now* is the time when the next timer is due."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(timeout and 0)


class Loop(asyncio.SelectorEventLoop):
    """An event loop on that clock and without threads, so that the same keys always do the same."""

    def __init__(self) -> None:
        self._clock = Clock()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def run_in_executor(  # type: ignore[override]
        self, _: object, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        future = self.create_future()
        future.set_result(func(*args))
        return future


def run(work: Coroutine[Any, Any, Result], monkeypatch: pytest.MonkeyPatch) -> Result:
    """Return the result of *work* on such a loop, which tells the time to all. It must not wait for sockets or processes."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        loop = runner.get_loop()
        monkeypatch.setattr(time, "perf_counter", loop.time)
        monkeypatch.setattr(time, "monotonic", loop.time)
        monkeypatch.setattr(time, "monotonic_ns", lambda: int(loop.time() * 1e9))
        return runner.run(work)


def on_clock(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Have a test run on such a loop; its fixtures have none."""
    signature = inspect.signature(test)
    patch = inspect.Parameter("monkeypatch", inspect.Parameter.KEYWORD_ONLY)
    own = {"monkeypatch": patch, **signature.parameters}

    def on_it(**values: Any) -> None:
        run(test(**{name: values[name] for name in signature.parameters}), values["monkeypatch"])

    on_it.__name__ = test.__name__
    on_it.__doc__ = test.__doc__
    on_it.__module__ = test.__module__
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own.values()]
    on_it.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return on_it
