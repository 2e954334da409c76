"""
Tokens evaluated per key, as figures that no change may raise unseen: they stand in `tokens_per_key.json`.

    python -m benchmarks.tokens_per_key            # prints them, in some seconds
    python -m benchmarks.tokens_per_key --write    # after a change that is meant to change them

A session types traces, at the pace of their keys, into the backend without a model (tests/fake_backend.py). Its tokens are
much like a model's, and it computes nothing; waiting takes no time (`Skipping`), and the code is made up. So the
figures are the same on every machine and decided by the session alone. `keystrokes` measures them on llama.cpp.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from benchmarks import arguments
from benchmarks.clients import Ours, replay
from benchmarks.traces import Trace, load
from fim_lsp.session.session import Session
from fim_lsp.settings.config import CompletionConfig, Config
from tests.fake_backend import FakeBackend

COMMITTED = Path(__file__).with_suffix(".json")
LEAST_S = 1e-6  # that an empty turn of the loop takes: what waits for less than its clock can show would wait for ever
SPEED: Any = {"prefill_per_s": 2000.0, "decode_ms": 6.0}  # of a small model on a laptop
SETTINGS = Config(completion=CompletionConfig(debounce_ms=30))  # the default follows the clock
TRACES = ("lines", "places", "files", "minds")  # `made_…` of the traces


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


async def measure(trace: Trace) -> dict[str, float]:
    """Return what a key costs: tokens while a request waits, the 95th percentile, and in the background."""
    backend = FakeBackend()
    backend.state = replace(backend.state, **SPEED)
    session = Session(SETTINGS, lambda _: backend)
    await replay(trace._replace(paced=True), Ours(session))
    costs = sorted(answer.evaluated for answer in session.answers)
    await session.aclose()
    stats = cast("dict[str, int]", session.stats()["tokens"])
    n_keys = trace.n_keys
    return {
        "waited for": round(stats["evaluated"] / n_keys, 2),
        "95th percentile": costs[int(0.95 * len(costs))],
        "in the background": round(stats["background"] / n_keys, 2),
    }


def figures() -> dict[str, dict[str, float]]:
    """Return the figures of every trace."""
    by_trace = {}
    for name in TRACES:
        with asyncio.Runner(loop_factory=Skipping) as runner:
            by_trace[name] = runner.run(measure(load(f"made_{name}")))
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
