"""
What a session costs on the battery: `python -m benchmarks.battery [--seconds 60]`

A user writes a file of the standard library, the same keys for each value of `fim.backend.onBattery`,
with pauses between lines and looks elsewhere; the model is the bundled one, or `--model FILE`. The
processor's seconds are those of the server's process and of its engine, the waits those of all keys.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import random
import resource
import shutil
import statistics
import time
from dataclasses import replace
from unittest.mock import patch

from fim_lsp import events
from fim_lsp.documents import Position
from fim_lsp.settings.backend import BackendConfig
from fim_lsp.settings.config import Config
from tests.typist import QUICK, Typist, embedded

KEY_S, LINE_S, LOOK_S = 0.15, 1.5, 6.0  # between two keys, behind a line, and elsewhere
LINES = 4  # from one look elsewhere to the next
ABOVE = 120  # lines of the file that are there


def cpu_s() -> float:
    """Return the processor's seconds of this process and of all children that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


async def write(setting: str, seconds: float, model: str) -> dict[str, float]:
    """Type for so long; return what that took."""
    config: Config = replace(QUICK, backend=BackendConfig(on_battery=setting))
    lines = inspect.getsource(shutil).splitlines(keepends=True)
    before, session = cpu_s(), embedded(config, model)
    await session.connection.wait_ready()
    started = cpu_s()
    typist = Typist(session, "".join(lines[:ABOVE]))
    rng, waits, end = random.Random(7), list[float](), time.perf_counter() + seconds
    for n, line in enumerate(lines[ABOVE:]):
        for key in line:
            typist.type(key)
            asked = time.perf_counter()
            await typist.ask()
            waits.append(time.perf_counter() - asked)
            await asyncio.sleep(max(0.0, KEY_S * rng.uniform(0.5, 1.5) - waits[-1]))
        await asyncio.sleep(LINE_S * rng.uniform(0.5, 1.5))
        if n % LINES == LINES - 1:
            place = Position(rng.randrange(ABOVE), 0)
            session.handle(events.CursorMoved(typist.uri, place))
            await asyncio.sleep(LOOK_S * rng.uniform(0.5, 1.5))
        if time.perf_counter() > end:
            break
    ahead = typist.counted("tokens", "background")
    await session.aclose()
    return {
        "processor seconds": round(cpu_s() - before, 1),
        "of them at the start": round(started - before, 1),
        "tokens ahead": ahead,
        "keys": len(waits),
        "median wait, ms": round(1000 * statistics.median(waits)),
        "95 % of the waits, ms": round(1000 * statistics.quantiles(waits, n=20)[-1]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each session")
    parser.add_argument("--model", default="", help="in place of the bundled one")
    args = parser.parse_args()
    with patch("fim_lsp.session.power.is_on_battery", lambda: True):
        for setting in ("full", "less", "off"):
            cost = asyncio.run(write(setting, args.seconds, args.model))
            print(setting, json.dumps(cost), flush=True)


if __name__ == "__main__":
    main()
