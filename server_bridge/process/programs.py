"""
The installed programs and a plan into the program to run: a llama-server, or the package's own
child.

Looks at the machine and asks llama-server about itself; starts nothing that stays.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import secrets
import socket
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from xxhash import xxh3_64_hexdigest

from server_bridge.http.api_key import ServedKey
from server_bridge.machine import private_files, processes
from server_bridge.machine.executables import (
    PACKAGES,
    become,
    neutral_folder,
    python_command,
    read_output,
)
from server_bridge.process import command_line, sizing
from server_bridge.protocol import BackendUnusable

KEY_ENV = "LLAMA_API_KEY"  # llama-server's own name for it
KEY = re.compile(r"[!\"$-~][!-~]*")  # one line of llama-server's file, in which # begins a comment
# llama.cpp's threads wait for each other several hundred times a token. libgomp lets them spin for
# milliseconds, each time that another program has the core of one: two threads on two busy cores
# then decode at a tenth of one thread's speed. Threads that sleep after 10 µs are as fast on idle
# cores, and on busy ones (benchmarks/HISTORY.md).
SPINS = {"GOMP_SPINCOUNT": "1000"}
SPIN_ENV = {*SPINS, "OMP_WAIT_POLICY"}  # a user who sets one of these knows better
ASK_S = 30.0  # a --help takes 20 ms, a look at the GPUs through a cold driver some seconds
CPU_TIME = Path("/sys/fs/cgroup/cpu.max")  # microseconds, and of how many; of a container its own
PACKAGE = Path(__file__).resolve().parent.parent
LIST_DEVICES = "--list-devices"  # of llama-server and of our child
CHILD = "server_bridge.process.embedded_child"
BUNDLED = PACKAGE / "models" / "fim-tiny-q8_0.gguf"
# Without these it would listen for other machines, or answer every process and page on this one.
NEEDED = ("--model", "--port", "--host", "--api-key-file")


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """
    The settings of this package's engine.

    One thread is enough for the bundled model. *n_ctx* is the most tokens per slot, see
    `command_line`: a full ring of 16 chunks of 64 lines takes some 12,000. Two slots serve any
    number of documents. Without *slots_dir* no state can be saved; without *log* the child's log is
    dropped. *shared* is how the names of files begin by which editors share it, "" for a child of
    one; it ends when no editor has used it for *unused_s*.
    """

    model: str = str(BUNDLED)
    n_threads: int = 1
    n_slots: int = command_line.N_SLOTS
    n_ctx: int = sizing.N_CTX
    n_batch: int = command_line.N_BATCH
    unload_s: int = 0  # without a request, before the model is taken out of memory; 0: never
    slots_dir: str = ""
    log: str = ""
    shared: str = ""
    unused_s: float = 600.0

    def find_file(self) -> Path | None:
        """
        Return the file of the engine that all with these settings share; None where each has its
        own: of the bundled model it is small. Raises OSError.
        """
        if not self.shared or sys.platform == "win32" or self.model == str(BUNDLED):
            return None
        model = Path(self.model).stat()
        alike = asdict(replace(self, log=""))
        words = [alike, model.st_size, model.st_mtime_ns, *processes.place()]
        return Path(f"{self.shared}-{xxh3_64_hexdigest(json.dumps(words).encode())}.json")


@dataclass(frozen=True, slots=True)
class Program:
    """
    A program to run in the folder *cwd*, never the user's project: *settings* go to its stdin, and
    its log to the file *log*. It inherits the file *lock* if it is shared.
    """

    argv: tuple[str, ...]
    cwd: Path
    log: Path = Path(os.devnull)
    settings: bytes = field(default=b"", repr=False)  # they have the key
    lock: int | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """
    The command of a llama-server that editors use; they find its *key* in *key_file*. It saves
    states in *slots_dir*, and *needs* so many bytes of memory at most, 0 where that is not known.
    """

    argv: tuple[str, ...]
    port: int
    key: str = field(repr=False)
    key_file: Path
    slots_dir: str
    needs: int = 0

    @property
    def url(self) -> str:
        """The URL that it will have."""
        return f"http://{command_line.HOST}:{self.port}"

    def run(self) -> NoReturn:
        """
        Have it take the place of this process. Raises OSError, also where something listens at its
        port already: editors would take that for it.
        """
        if _is_taken(self.port):
            raise OSError(f"something listens at {self.url}: end it, or choose another --port")
        if self.slots_dir:
            Path(self.slots_dir).mkdir(0o700, parents=True, exist_ok=True)
        private_files.write(self.key_file, self.key.encode() + b"\n")
        become(self.argv, neutral_folder(), make_environment())


def _is_taken(port: int) -> bool:
    """Return whether something listens at a port of this machine, also what hangs."""
    with socket.socket() as asking:
        asking.settimeout(1.0)
        return asking.connect_ex((command_line.HOST, port)) != errno.ECONNREFUSED


def forget_keys(cache: Path) -> None:
    """Delete the keys of servers that are gone: editors need that of one that runs."""
    for path in cache.glob("serve-*.key"):
        if not _is_taken(int(path.stem[6:])):
            path.unlink(missing_ok=True)


def make_environment() -> dict[str, str]:
    """Return our environment without the key, and how long threads spin."""
    ours = {name: value for name, value in os.environ.items() if name != KEY_ENV}
    return ours if SPIN_ENV & ours.keys() else ours | SPINS


def machine(server: str | None) -> command_line.Machine:
    """
    Return memory and cores, and the largest GPU that the llama-server at *server* can use, or else
    the engine of this package.
    """
    argv = (server,) if server else python_command(CHILD)
    devices = _read_printed(*argv, LIST_DEVICES)
    return command_line.Machine(
        sizing.physical(),
        usable_cores(),
        command_line.gpu(devices),
        command_line.apple_chip(devices),
    )


def usable_cores() -> int:
    """
    Return the logical cores that this process may use; a container may have less time than they
    have.
    """
    cores = os.cpu_count() or 1
    if sys.platform == "linux":
        cores = len(os.sched_getaffinity(0))
    try:
        share, period = map(int, CPU_TIME.read_text("ascii").split())
    except (OSError, ValueError):  # another system, no limit ("max"), or an older kernel
        return cores
    return min(cores, max(1, -(-share // period)))


def usual_threads() -> int:
    """Return how many threads a server of the user's model takes on this machine."""
    return command_line.usual_threads(usable_cores())


def build(server: str) -> command_line.Build:
    """
    Return the capabilities of the llama-server at *server*. Raises BackendUnusable if it cannot be
    used.
    """
    capabilities = command_line.build(_read_printed(server, "--help"))
    if not {"--model", "--port"} <= capabilities.options:
        raise BackendUnusable(f"{server} --help does not read like llama-server's")
    if missing := [option for option in NEEDED if option not in capabilities.options]:
        raise BackendUnusable(f"{server} is too old, it has no {missing[0]}: update llama.cpp")
    return capabilities


def outside(
    server: str,
    machine: command_line.Machine,
    build: command_line.Build,
    plan: command_line.Plan,
    cache: Path,
) -> Served:
    """Return a llama-server as it is best started here; its key is in the folder *cache*."""
    key = os.environ.get(KEY_ENV, "").strip() or secrets.token_urlsafe()
    if not KEY.fullmatch(key):
        raise BackendUnusable(f"{KEY_ENV} has characters that a key cannot have: change it")
    key_file = ServedKey(cache, plan.port).path
    model = _absolute(plan.model) or str(BUNDLED)
    plan = replace(
        plan,
        model=model,
        draft=_absolute(plan.draft),
        facts=plan.facts or sizing.read_facts(Path(model)),
        key_file=str(key_file),
    )
    argv = (server, *command_line.arguments(machine, build, plan))
    needs = command_line.count_needs(plan.facts, Path(model).stat().st_size, machine)
    return Served(argv, plan.port, key, key_file, plan.slots_dir, needs)


def embedded(settings: EmbeddedSettings, key: str, lock: int | None = None) -> Program:
    """
    Return the engine of this package, which tells its parent where it is; with a *lock*, one that
    editors share.
    """
    there = sizing.physical()
    facts = sizing.read_facts(Path(settings.model))
    limits = sizing.limits(facts, settings.n_slots, settings.n_ctx, there, there)
    child_settings = {
        **asdict(settings), **limits._asdict(), "key": key, "lock": lock,
        "file": str(settings.find_file()) if lock is not None else "",
    }  # fmt: skip
    log = Path(settings.log or os.devnull)
    written = json.dumps(child_settings).encode() + b"\n"
    return Program(python_command(CHILD), PACKAGES, log, written, lock)


def _absolute(path: str) -> str:
    """
    Return the path in any folder. Links stay: caches of models link to files whose names say
    nothing.
    """
    return str(Path.cwd() / Path(path).expanduser()) if path else ""


def _read_printed(*argv: str) -> str:
    """Return the lines that a program prints, "" where it fails."""
    try:
        code, printed = asyncio.run(read_output(argv, ASK_S))
    except OSError:
        return ""
    return "" if code else "\n".join(printed.decode("utf-8", "replace").splitlines())
