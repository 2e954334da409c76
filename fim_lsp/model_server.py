"""
`fim-lsp serve`, and model download: what is wanted, this machine and the bridge, joined.

Which model is served, the first that there is: the one that a flag names, the one of the settings, the
one that was downloaded last, one that another program downloaded and that fits; on a terminal, one that
is offered; the bundled one.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from fim_lsp.cli import offers, serve, setup
from fim_lsp.cli.terminal import screen_on
from fim_lsp.cli.toml_edit import CannotEdit
from fim_lsp.lsp.offer import CANCELLED, NotGot, RealModel
from fim_lsp.settings import files, merge
from fim_lsp.settings.config import Config
from server_bridge.machine.addresses import redact_url
from server_bridge.machine.executables import program_path
from server_bridge.process import command_line, programs, served
from server_bridge.protocol import BackendUnusable
from server_bridge.weights import download, on_disk, table
from server_bridge.weights.table import GIGABYTE, HUB, Offer

TOO_SMALL = (
    "this machine has too little memory for a model of the table: name a smaller --model FILE"
)


class _Refused(Exception):
    """The user does not want it, or it cannot be; the message may be empty."""


def run(given: Namespace) -> int:
    """Serve as the flags say, to the end; returns the exit code."""
    try:
        program = _program(given)
    except (BackendUnusable, download.CannotDownload) as error:
        return serve.refuse(str(error))
    except _Refused as error:
        return serve.refuse(str(error)) if str(error) else 1
    assert program.key_file is not None
    if given.dry_run:
        return serve.show(program.argv, program.key_file)
    return serve.run(served.keep(program), program.key_file)


def machine_in_words() -> str:
    """Describe this machine's memory and processors."""
    server = program_path("llama-server")
    found = programs.machine(server)
    words = [f"{found.cores} cores", f"{found.memory / GIGABYTE:.0f} GB of memory"]
    if server:
        words.append(
            f"{found.gpu / GIGABYTE:.0f} GB free on a GPU" if found.gpu else "no GPU for llama.cpp"
        )
    return ", ".join((*words, server or "no llama-server: the engine inside this package is used"))


def best_offer() -> Offer | None:
    """Return the model of the table that suits this machine, with the server that it has; None where none does."""
    return table.find_offer(_offers(programs.machine(program_path("llama-server"))), "auto")


def getter(given: Namespace) -> Callable[[str], str]:
    """
    Return a function that gets a model by its name, "" for one to be offered here, and gives its path.

    It gives "" where none is wanted, and says why where none is available. The engine inside the package
    is to run it: the best is that for this machine without a GPU.
    """

    def get(name: str) -> str:
        found = programs.machine(None)
        try:
            return _get(found, given, name) if name else _offer(found, given)
        except (download.CannotDownload, _Refused) as error:
            if str(error):
                serve.refuse(str(error))
            return ""

    return get


def real_model() -> RealModel | None:
    """Return the best model that the engine inside runs on this machine, for an editor to offer; None without any."""
    best = table.find_offer(_offers(programs.machine(None)), "auto")
    if best is None:
        return None

    def get(hear: Callable[[int, int], bool]) -> None:
        def show(n_here: int, n_all: int) -> None:
            if not hear(n_here, n_all):
                raise NotGot(CANCELLED)

        try:
            path = best.path or str(download.fetch(best.model, _folder(), show, _hub("")))
            setup.write_model(path, files.user_file())
        except (download.CannotDownload, CannotEdit, OSError) as error:
            raise NotGot(str(error)) from error

    return RealModel(offers.what_short(best), get)


def _program(given: Namespace) -> programs.Program:
    """Return the program to run. Raises _Refused, BackendUnusable, CannotDownload."""
    config, _ = merge.merge_layers(files.find_layers((Path.cwd(),)).layers)
    has_folder = Path(given.program).name != given.program
    server = program_path(os.path.abspath(given.program) if has_folder else given.program)  # noqa: PTH100 (no link is followed)
    build = programs.build(server) if server else None
    if server is None and not serve.may_lack(given):
        raise _Refused
    machine = programs.machine(server)
    if given.draft and not machine.gpu and not given.dry_run:
        serve.warn_of_draft()
    cache = files.cache_folder()
    path = _model(given, config, machine)
    plan = command_line.Plan(
        model=path,
        port=given.port,
        draft=_check(given.draft) if given.draft else "",
        speculate=not given.no_speculation,
        slots_dir=str(cache / "slots") if config.state.save else "",
    )
    if server is None or build is None:
        return programs.inside(machine, plan, cache)
    return programs.outside(server, machine, build, plan, cache)


def _model(given: Namespace, config: Config, machine: command_line.Machine) -> str:
    """Return the file to serve, "" for the bundled one."""
    if given.get:
        return _get(machine, given, given.get)
    if given.model or config.backend.model.endswith(".gguf"):
        return _check(given.model or config.backend.model)
    best = table.find_offer(_offers(machine), "auto")
    path = on_disk.find_last_used(_folder()) or (best.path if best else "")
    if path or best is None or given.dry_run or not sys.stdin.isatty():
        return path
    screen_on(sys.stdout).line("There is only the bundled model, a toy.")
    return _offer(machine, given)


def _check(name: str) -> str:
    """Return *name*, if that is a model's file. Raises _Refused."""
    if problem := setup.wrong_file(name):
        raise _Refused(problem)
    return name


def _offer(machine: command_line.Machine, given: Namespace) -> str:
    """Return the path of what the user takes of all that there is, "" for nothing."""
    found = _offers(machine)
    best = table.find_offer(found, "auto")
    if best is None:
        raise _Refused(TOO_SMALL)
    screen = screen_on(sys.stdout)
    screen.say("Models, and their cost on this machine (see docs/models.md):")
    for row in offers.rows(found, screen.width):
        screen.line(row)
    screen.say(offers.LEGEND)
    offer = offers.choose_offer(found, best, input)
    return _fetch(offer, given.mirror) if offer else ""


def _get(machine: command_line.Machine, given: Namespace, name: str) -> str:
    """Return the path of the model called *name*, downloaded if the user agrees; on a terminal `auto` shows all."""
    if (
        name == "auto"
        and sys.stdin.isatty()
        and not (given.yes or getattr(given, "dry_run", False))
    ):
        if path := _offer(machine, given):
            return path
        raise _Refused
    offer = table.find_offer(_offers(machine), name)
    if offer is None:
        raise _Refused(TOO_SMALL)
    if offer.path:
        return offer.path
    if getattr(given, "dry_run", False):
        raise _Refused(
            f"{offer.model.name} is not downloaded yet: download it first, without --dry-run"
        )
    if not (given.yes or serve.agrees(offers.what(offer))):
        raise _Refused
    return _fetch(offer, given.mirror)


def _hub(mirror: str | None) -> str:
    """Return the address to download from: the *mirror* of a flag or of the environment, the hub."""
    return mirror or os.environ.get("HF_ENDPOINT") or HUB


def _fetch(offer: Offer, mirror: str | None) -> str:
    screen = screen_on(sys.stdout)
    if offer.path:
        return offer.path
    mirror = _hub(mirror)
    show = offers.progress(screen, offer.model.name)
    connecting = (
        f"Connecting to {redact_url(mirror)}; if there is no answer, this takes half a minute …"
    )
    if screen.live:
        screen.status(connecting)
    else:
        screen.line(connecting)
    try:
        path = download.fetch(offer.model, _folder(), show, mirror)
    finally:
        screen.status("")
    screen.say(f"{offer.model.name} is downloaded and verified: {path}")
    return str(path)


def _offers(machine: command_line.Machine) -> list[Offer]:
    return table.offers(machine, on_disk.find_paths(_folder()))


def _folder() -> Path:
    return files.cache_folder() / "models"
