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
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from fim_lsp.cli import models, setup
from fim_lsp.cli.models import Listed
from fim_lsp.cli.terminal import screen_on
from fim_lsp.settings import files
from fim_lsp.settings.config import BackendConfig, Config
from server_bridge import bridge
from server_bridge.machine import locks
from server_bridge.machine.addresses import USUAL_PORTS, port_of, redact_url
from server_bridge.machine.executables import program_path
from server_bridge.process import command_line, programs, sizing
from server_bridge.process.command_line import Machine
from server_bridge.protocol import Backend, BackendError, BackendUnusable
from server_bridge.weights import choice, model_files
from server_bridge.weights.model_files import ModelFile
from server_bridge.weights.table import GIGABYTE, HUB, Offer


def _show_models(*, as_json: bool) -> int:
    """List the models; returns the exit code."""
    config, problems = files.read((Path.cwd(),))
    named = Path.cwd() / Path(config.backend.model).expanduser()
    active, answers = _answering(config.backend, named)
    all_files = model_files.list_all(folder())
    if named.is_file() and not any(file.path == named for file in all_files):
        all_files.append(ModelFile(named, named.stat().st_size))
    machine = programs.machine(None)
    rows = [_make_row(file, active, machine) for file in all_files]
    if as_json:
        return models.show_json(rows, answers)
    return models.show(rows, answers, files.list_stopping(problems))


def folder() -> Path:
    """Return the folder of downloaded models."""
    return files.cache_folder() / "models"


def _make_row(file: ModelFile, active: Path, machine: Machine) -> Listed:
    is_active = active in (file.path, Path(file.path.name))
    if (model := file.model) is None:
        needs = command_line.count_needs(sizing.read_facts(file.path), file.n_bytes, machine)
        ms_per_token = choice.estimate_ms(file.n_bytes, file.n_bytes, machine)
        return Listed(file.path.name, file.path, file.n_bytes, needs, ms_per_token, 0, is_active)
    offer = next(o for o in choice.offers(machine, {}) if o.model.name == model.name)
    missing = model.n_bytes - file.n_bytes if file.is_part else 0
    costs = offer.needs, offer.ms_per_token, offer.first_look_s
    return Listed(model.name, file.path, model.n_bytes, *costs, is_active, missing)


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
        return named, f"{named.name}, run by the embedded engine{_describe_users()}"
    missing = f"; {ours.model}, which the settings name, is not there" if ours.model else ""
    return Path(), f"the bundled model, a toy{missing}; fim-lsp setup gets a real one"


def _describe_users() -> str:
    """Return the memory and the users of the engine that editors share, in brackets."""
    shared = locks.list_shared(files.cache_folder())
    if len(shared) != 1:  # none, or as many as versions of this program: each has its model
        return _describe_shared()
    _, memory, n_users = shared[0]
    users = {0: "no editor", 1: "one editor"}.get(n_users, f"{n_users} editors")
    return f" ({memory / GIGABYTE:.1f} GB of memory, used by {users} now)"


def _describe_shared() -> str:
    """Return which engines editors share now, as part of a sentence."""
    words = ""
    for model, memory, n_users in locks.list_shared(files.cache_folder()):
        words += f"; {model} takes {memory / GIGABYTE:.1f} GB; editors that use it: {n_users}"
    return words


INSTALL = """\
llama-server is not installed, and your editors share an engine without it. It can use a GPU: get it \
from your system's packages (brew, winget, apt: llama.cpp) or from \
https://github.com/ggml-org/llama.cpp/releases; --program names one that is not on the PATH."""
# On a processor a token of the 0.5B costs half of one of the 1.5B, and checking several at once
# nearly as much as generating them. n-grams are right when they draft, and stay on.
SLOW_DRAFT = (
    "Without a GPU, a draft model makes the server slower: a 0.5B that drafts for a 1.5B halves "
    "its speed at best. Leave --draft out."
)
TOO_SMALL = "this machine has too little memory for these models: name a smaller --model FILE"


def run(given: Namespace) -> int:
    """List the models, forget, or serve as the flags say; returns the exit code."""
    if given.command == "models":
        return _show_models(as_json=given.json)
    if given.command == "forget":
        programs.forget_keys(files.cache_folder())
        config, _ = files.read((Path.cwd(),))
        ours = config.backend
        has_server = bool(ours.endpoints or ours.url) or ours.kind == "llama-server"
        return setup.forget(files.cache_folder(), has_server=has_server)
    try:
        served = _choose_server(given)
        if given.dry_run:
            return _show_command(served.argv, served.key_file)
        _show_instructions(served)
        served.run()
    except (BackendUnusable, OSError) as error:
        return _refuse(str(error))


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
    except model_files.CannotDownload as error:
        _refuse(str(error))
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
        raise BackendUnusable(INSTALL if given.program == "llama-server" else missing)
    machine = programs.machine(server)
    if given.draft and not machine.gpu and not given.dry_run:
        screen_on(sys.stdout).say(SLOW_DRAFT)
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
    return model_files.find_last_used(folder()) or (best.path if best else "")


def _check(name: str) -> str:
    """Return *name*, if that is a model's file. Raises BackendUnusable."""
    if problem := setup.wrong_file(name):
        raise BackendUnusable(problem)
    return name


def _choose(offers: list[Offer], given: Namespace) -> Offer | None:
    """Return the model that the flags name or the user takes, None for none."""
    best = choice.find_offer(offers, given.get or "auto")
    if best is None:
        _refuse(TOO_SMALL)
    elif sys.stdin.isatty() and not given.yes and given.get in (None, "auto"):
        return models.choose_offer(screen_on(sys.stdout), offers, best, input)
    elif best.path or models.agrees(best, is_sure=given.yes):
        return best
    return None


def _fetch(offer: Offer, mirror: str) -> str:
    screen = screen_on(sys.stdout)
    show = models.progress(screen, offer.model.name)
    connecting = f"Connecting to {redact_url(mirror)}; without an answer it takes half a minute …"
    (screen.status if screen.live else screen.line)(connecting)
    try:
        path = model_files.fetch(offer.model, folder(), show, mirror)
    finally:
        screen.status("")
    screen.say(f"{offer.model.name} is downloaded and verified: {path}")
    return str(path)


def _offers(machine: Machine) -> list[Offer]:
    return choice.offers(machine, model_files.find_paths(folder()))


def _show_command(command: Sequence[str], key_file: Path) -> int:
    """Print a command line as a shell takes it; returns the exit code."""
    screen_on(sys.stdout).text(shlex.join(command))
    if not key_file.exists():  # written by `serve` alone, for as long as it runs
        file = shlex.quote(str(key_file))
        folder = shlex.quote(str(key_file.parent))
        make = f"(umask 077; mkdir -p {folder}; openssl rand -hex 32 > {file})"
        screen_on(sys.stderr).line(f"Make its key first: {make}")
    return 0


def _refuse(reason: str) -> int:
    """Say why it cannot be; returns the exit code."""
    screen_on(sys.stdout).say(f"fim-lsp: {reason}")
    return 1


def _show_instructions(served: programs.Served) -> None:
    """Print what to change in the editor's settings, if anything, and the memory it takes."""
    screen = screen_on(sys.stdout)
    if port_of(served.url) in USUAL_PORTS:  # else it has to be named
        screen.say(
            "Your editors find the server and its key by themselves. To name it in their settings:"
        )
    else:
        screen.say("Name it in your editor's settings; fim-lsp finds its key:")
    screen.line(f'    config.toml    backend.url = "{served.url}"')
    screen.line(f'    settings.json  "fim.backend.url": "{served.url}"')
    screen.line(f"Other programs need its key: {served.key_file}")
    if served.needs:
        screen.line(f"Memory: {served.needs / GIGABYTE:.1f} GB at most, with the model's file.")
    screen.line("Ctrl-C ends it. From here on llama-server itself says how it does.")
    sys.stdout.flush()
