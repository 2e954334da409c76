"""
What is installed here, and a plan, into the program to run: a llama-server, or the package's own child.

Looks at the machine and asks llama-server about itself; starts nothing that stays.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from server_bridge import launch, memory
from server_bridge.embedded import BUNDLED, EmbeddedSettings
from server_bridge.protocol import BackendUnusable

KEY_ENV = "LLAMA_API_KEY"  # llama-server reads it, too: the key never stands on a command line
ASK_S = 30.0  # a --help takes 20 ms, a look at the GPUs through a cold driver some seconds


@dataclass(frozen=True, slots=True)
class Program:
    """What to run: *settings* go to its stdin, its log to the file *log*; it needs *folders*."""

    argv: tuple[str, ...]
    port: int
    log: Path
    folders: tuple[Path, ...]
    settings: bytes = field(default=b"", repr=False)  # they have the key

    @property
    def url(self) -> str:
        """Where it will be."""
        return f"http://{launch.HOST}:{self.port}"

    @property
    def has_key(self) -> bool:
        """Whether it will ask for a key."""
        return bool(os.environ.get(KEY_ENV))


def found(name: str) -> str | None:
    """The path of a llama-server called *name*, None where there is none."""
    return shutil.which(name)


def machine(server: str | None) -> launch.Machine:
    """Memory and cores, and the largest GPU that the llama-server at *server* can use."""
    devices = _printed(server, "--list-devices") if server else ""
    return launch.Machine(memory.physical(), os.cpu_count() or 1, launch.gpu(devices))


def build(server: str) -> launch.Build:
    """What the llama-server at *server* understands. Raises BackendUnusable if it is none."""
    known = launch.build(_printed(server, "--help"))
    if "--model" not in known.options or "--port" not in known.options:
        raise BackendUnusable(f"{server} --help does not read like llama-server's")
    return known


def outside(
    server: str, machine: launch.Machine, build: launch.Build, plan: launch.Plan, cache: Path
) -> Program:
    """A llama-server as it is best started here; its log goes to the folder *cache*."""
    return _program((server, *launch.arguments(machine, build, _settled(plan))), plan, cache)


def inside(machine: launch.Machine, plan: launch.Plan, cache: Path) -> Program:
    """The engine of this package, on a port where any editor finds it."""
    settings = EmbeddedSettings(
        model=_settled(plan).model,
        n_threads=launch.threads(machine),
        slots_dir=plan.slots_dir,
    )
    given = {**asdict(settings), "key": os.environ.get(KEY_ENV, ""), "port": plan.port}
    argv = (sys.executable, "-m", "server_bridge.embedded_child")
    return replace(_program(argv, plan, cache), settings=json.dumps(given).encode() + b"\n")


def _program(argv: tuple[str, ...], plan: launch.Plan, cache: Path) -> Program:
    return Program(argv, plan.port, cache / "serve.log", (cache, Path(plan.slots_dir or cache)))


def _settled(plan: launch.Plan) -> launch.Plan:
    """With paths that hold in any folder, and what the model's header says."""
    model = _absolute(plan.model) or str(BUNDLED)
    facts = plan.facts or memory.facts(Path(model))
    return replace(plan, model=model, draft=_absolute(plan.draft), facts=facts)


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().resolve()) if path else ""


def _printed(server: str, option: str) -> str:
    """What a program prints, "" if it does not end well."""
    try:
        done = subprocess.run(  # noqa: S603 (the user named it, or it is on his PATH)
            [server, option],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=ASK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""
