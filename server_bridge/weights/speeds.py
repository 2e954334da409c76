"""
The measured speeds of models on this machine: a file beside the models, by their names.

The measurement that counts is the newest one. A file that cannot be read is ignored.
"""

from __future__ import annotations

import json
import math
import secrets
import time
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

from server_bridge.machine import private_files
from server_bridge.protocol import Backend, Prompt, Request, Timings

FILE = "speeds.json"
ENOUGH_TOKENS = 32  # what is shorter measures the request, not the speed
LINE_TOKENS = 16
STEP_TOKENS = 32
CODE = "".join(f"def step_{n}(value):\n    return value + {n}\n\n\n" for n in range(16))


class Speed(NamedTuple):
    """Tokens evaluated per second, and milliseconds for one that is written."""

    prefill_per_s: float
    decode_ms: float


def read_speeds(folder: Path) -> dict[str, Speed]:
    """Return the speeds that were measured, by the names of the models' files."""
    try:
        found = json.loads(private_files.read(folder / FILE))
        speeds = {str(name): Speed(*map(float, pair)) for name, pair in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
    return {name: each for name, each in speeds.items() if all(0 < x < math.inf for x in each)}


def keep(folder: Path, name: str, speed: Speed | None) -> None:
    """Keep the *speed* of the file called *name*, or forget it (None). Raises OSError."""
    speeds = {key: each for key, each in read_speeds(folder).items() if key != name}
    if speed is not None:
        speeds[name] = speed
    private_files.write(folder / FILE, json.dumps(speeds, indent=1).encode())


def speed(evaluated: Timings, decoded: Timings) -> Speed | None:
    """
    Return the speed by two requests, one that was *evaluated*, one that *decoded* a line; None
    where they are too short.
    """
    enough = evaluated.prompt_n >= ENOUGH_TOKENS and decoded.predicted_n > 1
    if not enough or evaluated.prompt_ms <= 0 or decoded.predicted_ms <= 0:
        return None
    per_s = 1000 * evaluated.prompt_n / evaluated.prompt_ms
    return Speed(round(per_s, 1), round(decoded.predicted_ms / (decoded.predicted_n - 1), 2))


async def measure(backend: Backend) -> Speed | None:
    """
    Return the speed of *backend*, by a prompt that it has not seen, and a line behind it; None where it says no line.

    In steps, so that no answer of a slow model takes longer than is waited for. Raises BackendError.
    """
    model = await backend.connect()
    prompt = Prompt(secrets.token_hex(4), (), "steps.py", CODE, "", "def step_16(value):\n")
    evaluated, left, began = 0, 1, time.perf_counter()
    while left:
        warmed = await model.warm(prompt, STEP_TOKENS)
        evaluated, left = evaluated + warmed.evaluated, warmed.left
    prefill_s = time.perf_counter() - began
    async with aclosing(model.stream(Request(prompt, LINE_TOKENS))) as replies:
        written = [(time.perf_counter(), len(reply.tokens)) async for reply in replies]
    n_tokens = sum(n for _, n in written[1:])
    if not n_tokens or not evaluated:
        return None
    decode_ms = 1000 * (written[-1][0] - written[0][0]) / n_tokens
    return Speed(round(evaluated / prefill_s, 1), round(decode_ms, 2))
