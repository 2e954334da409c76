"""
`fim-lsp models`, `fim-lsp serve` and model download: flags, settings, this machine and the bridge,
joined.

Which model is served, the first that there is: the one that a flag names, the one of the settings,
the one that was downloaded last, one that another program downloaded and that fits; on a terminal,
one that is offered; the bundled one.
"""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from fim_lsp.cli import models, serve, setup
from fim_lsp.cli.models import Listed
from fim_lsp.cli.setup import CannotEdit
from fim_lsp.cli.terminal import screen_on
from fim_lsp.lsp.offer import RealModel
from fim_lsp.settings import files
from fim_lsp.settings.config import BackendConfig, Config
from server_bridge import bridge
from server_bridge.machine.addresses import redact_url
from server_bridge.machine.executables import program_path
from server_bridge.process import command_line, programs, served
from server_bridge.process.command_line import Machine
from server_bridge.protocol import Backend, BackendError, BackendUnusable
from server_bridge.weights import choice, download, on_disk
from server_bridge.weights.on_disk import ModelFile
from server_bridge.weights.table import GIGABYTE, HUB, Offer


def _show_models() -> int:
    """List the models; returns the exit code."""
    config, _ = files.read((Path.cwd(),))
    active, answers = _answering(config.backend)
    all_files = on_disk.list_all(folder())
    if active.is_absolute() and not any(file.path == active for file in all_files):
        all_files.append(ModelFile(active, active.stat().st_size))
    machine = programs.machine(None)
    return models.show([_make_row(file, active, machine) for file in all_files], answers)


def folder() -> Path:
    """Return the folder of downloaded models."""
    return files.cache_folder() / "models"


def _make_row(file: ModelFile, active: Path, machine: Machine) -> Listed:
    is_active = active in (file.path, Path(file.path.name))
    if (model := file.model) is None:
        ms_per_token = choice.estimate_ms(file.n_bytes, file.n_bytes, machine)
        return Listed(file.path.name, file.path, file.n_bytes, ms_per_token, is_active=is_active)
    offer = next(o for o in choice.offers(machine, {}) if o.model.name == model.name)
    missing = model.n_bytes - file.n_bytes if file.is_part else 0
    times = offer.ms_per_token, offer.first_look_s
    return Listed(model.name, file.path, model.n_bytes, *times, is_active, missing)


def _answering(ours: BackendConfig) -> tuple[Path, str]:
    """
    Return the file of the model that answers, as far as it is known: its path, its name, or ".";
    and that in words.
    """
    if ours.endpoints or ours.url or ours.kind not in {"auto", "embedded"}:
        where = ", ".join(redact_url(server.url) for server in ours.endpoints or (ours,))
        return Path(), f"a server, {where or 'whose address is missing'}"
    settings = bridge.BackendSettings(model=ours.model, keys_dir=str(files.cache_folder()))
    if ours.kind == "auto" and (state := asyncio.run(bridge.find_running(settings))) is not None:
        return Path(state.model), f"the llama.cpp server at {state.url}, with {state.model}"
    path = Path.cwd() / Path(ours.model).expanduser() if ours.model.endswith(".gguf") else Path()
    if path.is_file():
        return path, f"{path.name}, run by the embedded engine"
    missing = f"; {ours.model}, which the settings name, is not there" if ours.model else ""
    return Path(), f"the bundled model, a toy{missing}"


TOO_SMALL = "this machine has too little memory for these models: name a smaller --model FILE"


class _Refused(Exception):
    """The user does not want it, or it cannot be; the message may be empty."""


def run(given: Namespace) -> int:
    """List the models, or serve as the flags say, to the end; returns the exit code."""
    if given.command == "models":
        return _show_models()
    try:
        program = _program(given)
    except (BackendUnusable, download.CannotDownload, _Refused) as error:
        return serve.refuse(str(error))
    assert program.key_file is not None
    if given.dry_run:
        return serve.show_command(program.argv, program.key_file)
    return serve.watch(served.keep(program), program.key_file)


def describe_machine() -> tuple[str, Offer | None]:
    """
    Return this machine's memory and processors in words, and the model of the table that suits it
    with the server that it has; None where none does.
    """
    server = program_path("llama-server")
    machine = programs.machine(server)
    words = [f"{machine.cores} cores", f"{machine.memory / GIGABYTE:.0f} GB of memory"]
    if server:
        gpu = f"{machine.gpu / GIGABYTE:.0f} GB free on a GPU"
        words.append(gpu if machine.gpu else "no GPU for llama.cpp")
    words.append(server or "no llama-server: the embedded engine is used")
    return ", ".join(words), choice.find_offer(_offers(machine), "auto")


def getter(given: Namespace) -> Callable[[str], str]:
    """
    Return a function that gets a model by its name, "" for one to be offered here, and gives its
    path.

    It gives "" where none is wanted, and says why where none is available. The embedded engine is
    to run it: the best is that for this machine without a GPU.
    """

    def get(name: str) -> str:
        machine = programs.machine(None)
        try:
            return _get(machine, given, name) if name else _offer(machine, given)
        except (download.CannotDownload, _Refused) as error:
            serve.refuse(str(error))
            return ""

    return get


def try_backend(
    open_backend: Callable[[Config], Backend], values: Mapping[str, str]
) -> tuple[str, str]:
    """
    Connect as *values* of `fim.backend` say; return why that does not work, and why a model is second
    best, "" each where it is not so.
    """
    config, _ = files.read(())
    ours = replace(
        config.backend,
        kind=values["kind"] or ("llama-server" if values["url"] else "embedded"),
        url=values["url"],
        model=values["model"],
        api_key_env=values["apiKeyEnv"],
        endpoints=(),
    )

    async def connect() -> tuple[str, str]:
        async with aclosing(open_backend(replace(config, backend=ours))) as backend:
            try:
                return "", (await backend.connect()).state.second_best
            except BackendError as error:
                return str(error), ""

    return asyncio.run(connect())


def real_model() -> RealModel | None:
    """
    Return the best model that the embedded engine runs on this machine, for an editor to offer;
    None without any.
    """
    best = choice.find_offer(_offers(programs.machine(None)), "auto")
    if best is None:
        return None

    def get(on_progress: Callable[[int], bool]) -> str:
        def show(n_here: int, n_all: int) -> None:
            if not on_progress(100 * n_here // n_all):
                raise _Refused("it was cancelled; `fim-lsp setup` resumes it")

        try:
            path = best.path or str(download.fetch(best.model, folder(), show, _hub("")))
            setup.write_model(path, files.user_file())
        except (download.CannotDownload, _Refused, CannotEdit, OSError) as error:
            return str(error)
        return ""

    return RealModel(models.describe_briefly(best), get)


def _program(given: Namespace) -> programs.Program:
    """Return the program to run. Raises _Refused, BackendUnusable, CannotDownload."""
    config, problems = files.read((Path.cwd(),))
    for problem in problems:
        screen_on(sys.stderr).say(f"fim-lsp: {problem}")
    has_folder = Path(given.program).name != given.program
    # No link is followed: `Path.resolve` would.
    program = os.path.abspath(given.program) if has_folder else given.program  # noqa: PTH100
    server = program_path(program)
    build = programs.build(server) if server else None
    if server is None and not serve.may_lack(given):
        raise _Refused
    machine = programs.machine(server)
    if given.draft and not machine.gpu and not given.dry_run:
        screen_on(sys.stdout).say(serve.SLOW_DRAFT)
    cache = files.cache_folder()
    path = _model(given, config, machine)
    plan = command_line.Plan(
        model=path,
        port=given.port,
        draft=_check(given.draft) if given.draft else "",
        speculate=not given.no_speculation,
        unload_s=config.backend.unload_after_minutes * 60,
        slots_dir=str(cache / "slots") if config.state.save else "",
    )
    if server is None or build is None:
        return programs.inside(machine, plan, cache)
    return programs.outside(server, machine, build, plan, cache)


def _model(given: Namespace, config: Config, machine: Machine) -> str:
    """Return the file to serve, "" for the bundled one."""
    if given.get:
        return _get(machine, given, given.get)
    if given.model or config.backend.model.endswith(".gguf"):
        return _check(given.model or config.backend.model)
    best = choice.find_offer(_offers(machine), "auto")
    path = on_disk.find_last_used(folder()) or (best.path if best else "")
    if path or best is None or given.dry_run or not sys.stdin.isatty():
        return path
    screen_on(sys.stdout).line("There is only the bundled model, a toy.")
    return _offer(machine, given)


def _check(name: str) -> str:
    """Return *name*, if that is a model's file. Raises _Refused."""
    if problem := setup.wrong_file(name):
        raise _Refused(problem)
    return name


def _offer(machine: Machine, given: Namespace) -> str:
    """Return the path of what the user takes of all that there is, "" for nothing."""
    offers = _offers(machine)
    best = choice.find_offer(offers, "auto")
    if best is None:
        raise _Refused(TOO_SMALL)
    screen = screen_on(sys.stdout)
    screen.say("Models, and their cost on this machine (see docs/models.md):")
    for row in models.list_offers(offers, screen.width):
        screen.line(row)
    screen.say(models.OFFERS_LEGEND)
    offer = models.choose_offer(offers, best, input)
    return _fetch(offer, given.mirror) if offer else ""


def _get(machine: Machine, given: Namespace, name: str) -> str:
    """
    Return the path of the model called *name*, downloaded if the user agrees; on a terminal `auto`
    shows all.
    """
    is_trial = getattr(given, "dry_run", False)
    if name == "auto" and sys.stdin.isatty() and not (given.yes or is_trial):
        if path := _offer(machine, given):
            return path
        raise _Refused
    offer = choice.find_offer(_offers(machine), name)
    if offer is None:
        raise _Refused(TOO_SMALL)
    if is_trial and not offer.path:
        missing = f"{offer.model.name} is not downloaded yet"
        raise _Refused(f"{missing}: download it first, without --dry-run")
    if not (offer.path or given.yes or serve.agrees(models.describe_offer(offer))):
        raise _Refused
    return _fetch(offer, given.mirror)


def _hub(mirror: str | None) -> str:
    """
    Return the address to download from: the *mirror* of a flag or of the environment, the hub.
    """
    return mirror or os.environ.get("HF_ENDPOINT") or HUB


def _fetch(offer: Offer, mirror: str | None) -> str:
    screen = screen_on(sys.stdout)
    if offer.path:
        return offer.path
    mirror = _hub(mirror)
    show = models.progress(screen, offer.model.name)
    connecting = (
        f"Connecting to {redact_url(mirror)}; if there is no answer, this takes half a minute …"
    )
    show_wait = screen.status if screen.live else screen.line
    show_wait(connecting)
    try:
        path = download.fetch(offer.model, folder(), show, mirror)
    finally:
        screen.status("")
    screen.say(f"{offer.model.name} is downloaded and verified: {path}")
    return str(path)


def _offers(machine: Machine) -> list[Offer]:
    return choice.offers(machine, on_disk.find_paths(folder()))
