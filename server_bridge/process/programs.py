"""
The installed programs and a plan into the program to run: a llama-server, or the package's own
child.

Looks at the machine and asks llama-server about itself; starts nothing that stays.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import secrets
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from server_bridge.http.api_key import ServedKey
from server_bridge.machine.executables import PACKAGES, neutral_folder, python_command, read_output
from server_bridge.process import command_line, sizing
from server_bridge.protocol import BackendUnusable

KEY_ENV = "LLAMA_API_KEY"  # llama-server's own name for it
KEY = re.compile(r"[!\"$-~][!-~]*")  # one line of llama-server's file, in which # begins a comment
MOST_PRINTED = 1 << 20  # bytes; a --help has 50,000
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
    dropped.
    """

    model: str = str(BUNDLED)
    n_threads: int = 1
    n_slots: int = command_line.N_SLOTS
    n_ctx: int = command_line.N_CTX
    n_batch: int = command_line.N_BATCH
    unload_s: int = 0  # without a request, before the model is taken out of memory; 0: never
    slots_dir: str = ""
    log: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """
    A program to run in the folder *cwd*, never the user's project: *settings* go to its stdin, its
    log to the file *log*; it needs *folders*.

    It serves the file *model*, and asks for *key*, which editors find in *key_file*. *answers*: its
    stdout is for its parent. *is_foreign*: it does not end by itself when its parent does.
    """

    argv: tuple[str, ...]
    port: int
    cwd: Path
    key: str = field(repr=False)
    key_file: Path | None = None
    model: str = ""
    log: Path | None = None
    folders: tuple[Path, ...] = ()
    settings: bytes = field(default=b"", repr=False)  # they have the key
    answers: bool = False
    is_foreign: bool = False

    @property
    def url(self) -> str:
        """The URL it will have."""
        return f"http://{command_line.HOST}:{self.port}"

    async def is_taken(self) -> bool:
        """Return whether something listens at the port: we would take it for our child."""
        try:
            _, writer = await asyncio.open_connection(command_line.HOST, self.port)
        except OSError:
            return False
        writer.close()
        return True


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
) -> Program:
    """Return a llama-server as it is best started here; its log goes to the folder *cache*."""
    program = _prepare_served(plan, cache)
    plan = replace(_resolve_paths(plan), key_file=str(program.key_file))
    argv = (server, *command_line.arguments(machine, build, plan))
    return replace(program, argv=argv, model=plan.model, is_foreign=True)


def inside(machine: command_line.Machine, plan: command_line.Plan, cache: Path) -> Program:
    """Return the engine of this package, on a port where any editor finds it."""
    settings = EmbeddedSettings(
        model=_resolve_paths(plan).model,
        n_threads=command_line.usual_threads(machine.cores),
        unload_s=plan.unload_s,
        slots_dir=plan.slots_dir,
    )
    program = _prepare_served(plan, cache)
    child = embedded(settings, program.key, plan.port)
    return replace(
        program, argv=child.argv, model=settings.model, cwd=child.cwd, settings=child.settings
    )


def embedded(settings: EmbeddedSettings, key: str, port: int = 0) -> Program:
    """
    Return the engine of this package, which tells its parent at which *port* it is (0: at any).
    """
    there, facts = sizing.physical(), sizing.read_facts(Path(settings.model))
    limits = sizing.limits(facts, settings.n_slots, settings.n_ctx, there, there)
    child_settings = {**asdict(settings), **limits._asdict(), "key": key, "port": port}
    return Program(
        argv=python_command(CHILD),
        port=port,
        cwd=PACKAGES,
        key=key,
        log=Path(settings.log) if settings.log else None,
        settings=json.dumps(child_settings).encode() + b"\n",
        answers=True,
    )


def _prepare_served(plan: command_line.Plan, cache: Path) -> Program:
    """
    Return the part that all servers of `fim-lsp serve` share: a key of their own, a log, their
    folders.
    """
    key = os.environ.get(KEY_ENV, "").strip() or secrets.token_urlsafe()
    if not KEY.fullmatch(key):
        raise BackendUnusable(f"{KEY_ENV} has characters that a key cannot have: change it")
    return Program(
        argv=(),
        port=plan.port,
        cwd=cache,
        key=key,
        key_file=ServedKey(cache, plan.port).path,
        log=cache / "serve.log",
        folders=(cache, Path(plan.slots_dir or cache)),
    )


def _resolve_paths(plan: command_line.Plan) -> command_line.Plan:
    """Return *plan* with paths that hold in any folder, and what the model's header says."""
    model = _absolute(plan.model) or str(BUNDLED)
    facts = plan.facts or sizing.read_facts(Path(model))
    return replace(plan, model=model, draft=_absolute(plan.draft), facts=facts)


def _absolute(path: str) -> str:
    """
    Return the path in any folder. Links stay: caches of models link to files whose names say
    nothing.
    """
    return str(Path.cwd() / Path(path).expanduser()) if path else ""


def _read_printed(*argv: str) -> str:
    """Return the output of a program, "" if it fails."""
    try:
        printed = read_output(argv, neutral_folder(), os.environ, ASK_S, MOST_PRINTED)
    except OSError:
        return ""
    return "\n".join(printed.decode("utf-8", "replace").splitlines())
