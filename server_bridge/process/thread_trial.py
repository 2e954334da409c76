"""
How many threads are fastest with a model on this machine: measured at the first start with it, and kept in a file.

A trial takes `LIMIT_S` at most, in a child of its own (`embedded_child`), and a start goes on whatever becomes of it:
then with the usual numbers, and without another trial. What was measured counts for the same file, the same number of
cores and the same llama.cpp.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import secrets
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from server_bridge.machine import private_files
from server_bridge.process import programs, thread_choice
from server_bridge.process.programs import EmbeddedSettings
from server_bridge.process.supervisor import Supervisor
from server_bridge.process.thread_choice import Cost, Round

FILE = "threads.json"
LIMIT_S = 10.0
FIRST_S = (
    6.0  # where the first round takes longer, loading included, there is no time for a second one
)
SAYS = "measuring how many threads are fastest, which is done once for a model"
# Of the servers that are compared: a prompt and a line have room, and a batch is large enough to be bound by computing.
N_CTX, N_BATCH = 256, 128

log = logging.getLogger(__name__)


class Trial(NamedTuple):
    """
    The numbers of threads for a model, and the *day* when they were measured, "" where they are the usual ones instead.

    They hold for a file of so many bytes, so many cores, and that version of llama.cpp.
    """

    write: int
    read: int
    day: str
    n_bytes: int
    cores: int
    engine: str


def read_trials(folder: Path) -> dict[str, Trial]:
    """Return what is kept in *folder*, by the names of the models' files; a file that cannot be read has nothing."""
    try:
        found = json.loads(private_files.read(folder / FILE))
        trials = {str(name): Trial(*each) for name, each in found.items()}
        return {
            name: each
            for name, each in trials.items()
            if 0 < min(each[:2]) <= max(each[:2]) <= each.cores
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def keep(folder: Path, name: str, trial: Trial | None) -> None:
    """Keep the *trial* of the file called *name*, or forget it (None). Raises OSError."""
    trials = {key: each for key, each in read_trials(folder).items() if key != name}
    if trial is not None:
        trials[name] = trial
    private_files.write(folder / FILE, json.dumps(trials, indent=1).encode())


def is_wanted(settings: EmbeddedSettings) -> bool:
    """Return whether the model of *settings* should be measured first."""
    there_is_a_choice = len(thread_choice.candidates(programs.usable_cores())) > 1
    return bool(settings.threads_dir) and there_is_a_choice and _find(settings) is None


def apply(settings: EmbeddedSettings) -> EmbeddedSettings:
    """Return *settings* with the numbers of threads that are kept for their model, if there are any."""
    found = _find(settings) if settings.threads_dir else None
    if found is None:
        return settings
    return replace(settings, n_threads=found.write, n_batch_threads=found.read)


def in_words(folder: Path, name: str) -> str:
    """Say how many threads the file called *name* has, and why; "" where that is not kept."""
    if (found := read_trials(folder).get(name)) is None:
        return ""
    says = f"{found.write} threads to write, {found.read} to read"
    why = (
        f"measured {found.day}"
        if found.day
        else f"not measured: that failed, or took longer than {LIMIT_S:.0f} s"
    )
    return f"{says}, of {found.cores} cores ({why}; fim-lsp models measure measures again)"


async def measure(settings: EmbeddedSettings) -> None:
    """Measure the model of *settings*, and keep what is fastest. Raises nothing."""
    folder, name = Path(settings.threads_dir), Path(settings.model).name
    cores = programs.usable_cores()
    n = thread_choice.usual(cores)
    try:  # first of all: whatever ends this process, the next one starts without a trial
        usual = Trial(n, n, "", *_conditions(settings))
        keep(folder, name, usual)
    except OSError as error:
        log.info("threads.unmeasured reason=%s", error)
        return
    try:
        rounds = await _rounds(settings, thread_choice.candidates(cores))
    except asyncio.CancelledError:
        with suppress(OSError):
            keep(folder, name, None)
        raise
    chosen = thread_choice.choose(cores, rounds)
    log.info("threads.measured rounds=%d chosen=%s", len(rounds), chosen)
    if chosen is not None:
        with suppress(OSError):
            today = time.strftime("%Y-%m-%d")
            keep(folder, name, usual._replace(write=chosen.write, read=chosen.read, day=today))


async def _rounds(settings: EmbeddedSettings, candidates: list[int]) -> list[Round]:
    """Return what a child measures within `LIMIT_S`."""
    tried = replace(settings, n_slots=1, n_ctx=N_CTX, n_batch=N_BATCH, slots_dir="")
    program = programs.embedded(tried, secrets.token_urlsafe(), candidates=candidates)
    supervisor, found = Supervisor(), list[Round]()
    try:
        async with asyncio.timeout(FIRST_S) as limit:
            end = asyncio.get_running_loop().time() + LIMIT_S
            child = await supervisor.start(program)
            assert child.stdout is not None
            while line := await child.stdout.readline():
                found.append({n: Cost(*costs) for n, *costs in json.loads(line)})
                limit.reschedule(end)
    except (OSError, ValueError, TypeError) as error:  # TimeoutError is an OSError
        log.info("threads.trial_ended reason=%r", error)
    finally:
        await supervisor.end()
    return found


def _find(settings: EmbeddedSettings) -> Trial | None:
    """Return the trial of the model of *settings*, if its conditions still hold."""
    found = read_trials(Path(settings.threads_dir)).get(Path(settings.model).name)
    try:
        return found if found and found[3:] == _conditions(settings) else None
    except OSError:  # the model's file is not there
        return None


def _conditions(settings: EmbeddedSettings) -> tuple[int, int, str]:
    """Return bytes of the model, cores, and the version of llama.cpp. Raises OSError."""
    return (Path(settings.model).stat().st_size, programs.usable_cores(), _engine())


@functools.cache
def _engine() -> str:
    """Return the version of the engine inside, "" without one."""
    from importlib import metadata  # noqa: PLC0415 (20 ms)

    try:
        return metadata.version("xllamacpp")
    except metadata.PackageNotFoundError:
        return ""
