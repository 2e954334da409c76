"""
`fim-lsp models`, `forget`, `serve` and the download of `fim-lsp setup`: flags, settings, this
machine and the bridge, joined.

Which model is served, the first that there is: the one that a flag names, the one of the settings,
the one that was downloaded last, one that another program downloaded and that fits; the bundled
one.
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
from fim_lsp.cli.terminal import screen_on
from fim_lsp.settings import files
from fim_lsp.settings.config import BackendConfig, Config
from server_bridge import bridge
from server_bridge.machine import locks
from server_bridge.machine.addresses import redact_url
from server_bridge.machine.executables import program_path
from server_bridge.process import command_line, programs
from server_bridge.process.command_line import Machine
from server_bridge.protocol import Backend, BackendError, BackendUnusable
from server_bridge.weights import choice, download, on_disk
from server_bridge.weights.on_disk import ModelFile
from server_bridge.weights.table import GIGABYTE, HUB, Offer


def _show_models() -> int:
    """List the models; returns the exit code."""
    config, _ = files.read((Path.cwd(),))
    named = Path.cwd() / Path(config.backend.model).expanduser()
    active, answers = _answering(config.backend, named)
    all_files = on_disk.list_all(folder())
    if named.is_file() and not any(file.path == named for file in all_files):
        all_files.append(ModelFile(named, named.stat().st_size))
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


def _answering(ours: BackendConfig, named: Path) -> tuple[Path, str]:
    """
    Return the file of the model that answers, as far as it is known: its path (*named* is that of
    the settings), its name, or "."; and that in words.
    """
    if ours.endpoints or ours.url or ours.kind not in {"auto", "embedded"}:
        where = ", ".join(redact_url(server.url) for server in ours.endpoints or (ours,))
        return Path(), f"a server, {where or 'whose address is missing'}"
    settings = bridge.BackendSettings(model=ours.model, keys_dir=str(files.cache_folder()))
    if ours.kind == "auto" and (state := asyncio.run(bridge.find_running(settings))) is not None:
        return Path(state.model), f"the llama.cpp server at {state.url}, with {state.model}"
    if named.is_file():
        return named, f"{named.name}, run by the embedded engine{_describe_shared()}"
    missing = f"; {ours.model}, which the settings name, is not there" if ours.model else ""
    return Path(), f"the bundled model, a toy{missing}; fim-lsp setup gets a real one"


def _describe_shared() -> str:
    """Return which engines editors share now, as part of a sentence."""
    words = ""
    for model, memory, n_users in locks.list_shared(files.cache_folder()):
        words += f"; {model} takes {memory / GIGABYTE:.1f} GB; editors that use it: {n_users}"
    return words


TOO_SMALL = "this machine has too little memory for these models: name a smaller --model FILE"


def run(given: Namespace) -> int:
    """List the models, forget, or serve as the flags say; returns the exit code."""
    if given.command == "models":
        return _show_models()
    if given.command == "forget":
        programs.forget_keys(files.cache_folder())
        return setup.forget(files.cache_folder())
    try:
        served = _choose_server(given)
        if given.dry_run:
            return serve.show_command(served.argv, served.key_file)
        serve.show_instructions(served.url, served.key_file)
        served.run()
    except (BackendUnusable, OSError) as error:
        return serve.refuse(str(error))


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
    return ", ".join(words) + _describe_shared(), choice.find_offer(_offers(machine), "auto")


def get_model(given: Namespace) -> str:
    """
    Return the path of a model that the embedded engine is to run: the one that the flags name, or
    that is chosen here, downloaded if it has to be. "" where none is wanted, or available, which is
    said.
    """
    offer = _choose(_offers(programs.machine(None)), given)
    if offer is None or offer.path:
        return offer.path if offer else ""
    try:
        return _fetch(offer, given.mirror or os.environ.get("HF_ENDPOINT") or HUB)
    except download.CannotDownload as error:
        serve.refuse(str(error))
        return ""


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


def _choose_server(given: Namespace) -> programs.Served:
    """Return the server to run. Raises BackendUnusable."""
    config, problems = files.read((Path.cwd(),))
    for problem in problems:
        screen_on(sys.stderr).say(f"fim-lsp: {problem}")
    has_folder = Path(given.program).name != given.program
    # No link is followed: `Path.resolve` would.
    program = os.path.abspath(given.program) if has_folder else given.program  # noqa: PTH100
    if (server := program_path(program)) is None:
        missing = f"there is no program {given.program}"
        raise BackendUnusable(serve.INSTALL if given.program == "llama-server" else missing)
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
    return programs.outside(server, machine, programs.build(server), plan, cache)


def _model(given: Namespace, config: Config, machine: Machine) -> str:
    """Return the file to serve, "" for the bundled one."""
    if given.model or config.backend.model.endswith(".gguf"):
        return _check(given.model or config.backend.model)
    best = choice.find_offer(_offers(machine), "auto")
    return on_disk.find_last_used(folder()) or (best.path if best else "")


def _check(name: str) -> str:
    """Return *name*, if that is a model's file. Raises BackendUnusable."""
    if problem := setup.wrong_file(name):
        raise BackendUnusable(problem)
    return name


def _choose(offers: list[Offer], given: Namespace) -> Offer | None:
    """Return the model that the flags name or the user takes, None for none."""
    best = choice.find_offer(offers, given.get or "auto")
    if best is None:
        serve.refuse(TOO_SMALL)
    elif sys.stdin.isatty() and not given.yes and given.get in (None, "auto"):
        return models.choose_offer(screen_on(sys.stdout), offers, best, input)
    elif best.path or given.yes or models.agrees(best):
        return best
    return None


def _fetch(offer: Offer, mirror: str) -> str:
    screen = screen_on(sys.stdout)
    show = models.progress(screen, offer.model.name)
    connecting = f"Connecting to {redact_url(mirror)}; without an answer it takes half a minute …"
    (screen.status if screen.live else screen.line)(connecting)
    try:
        path = download.fetch(offer.model, folder(), show, mirror)
    finally:
        screen.status("")
    screen.say(f"{offer.model.name} is downloaded and verified: {path}")
    return str(path)


def _offers(machine: Machine) -> list[Offer]:
    return choice.offers(machine, on_disk.find_paths(folder()))
