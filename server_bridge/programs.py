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
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from server_bridge import launch, memory
from server_bridge.embedded import BUNDLED, EmbeddedSettings
from server_bridge.protocol import BackendUnusable

KEY_ENV = "LLAMA_API_KEY"  # llama-server reads it, too: the key never stands on a command line
ASK_S = 30.0  # a --help takes 20 ms, a look at the GPUs through a cold driver some seconds


@dataclass(frozen=True, slots=True)
class Program:
    """What to run: *settings* go to its stdin, its log to the file *log*."""

    argv: tuple[str, ...]
    port: int
    log: Path
    settings: bytes = b""

    @property
    def url(self) -> str:
        """Where it will be."""
        return f"http://{launch.HOST}:{self.port}"


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
    server: str, machine: launch.Machine, build: launch.Build, plan: launch.Plan, log: Path
) -> Program:
    """A llama-server as it is best started here."""
    facts = plan.facts or memory.facts(Path(plan.model or BUNDLED))
    plan = replace(plan, model=plan.model or str(BUNDLED), facts=facts)
    return Program((server, *launch.arguments(machine, build, plan)), plan.port, log)


def inside(machine: launch.Machine, plan: launch.Plan, log: Path) -> Program:
    """The engine of this package, on a port where any editor finds it."""
    settings = EmbeddedSettings(
        model=plan.model or str(BUNDLED),
        n_threads=launch.threads(machine),
        slots_dir=plan.slots_dir,
    )
    given = {**asdict(settings), "key": os.environ.get(KEY_ENV, ""), "port": plan.port}
    argv = (sys.executable, "-m", "server_bridge.embedded_child")
    return Program(argv, plan.port, log, json.dumps(given).encode() + b"\n")


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
