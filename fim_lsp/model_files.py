"""`fim-lsp models` and `fim-lsp bundle`: files of models, their speeds and the settings, joined with `server_bridge`."""

from __future__ import annotations

import asyncio
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from fim_lsp.cli import bundle, models, setup
from fim_lsp.cli.models import Here, Listed
from fim_lsp.cli.terminal import screen_on
from fim_lsp.cli.toml_edit import CannotEdit
from fim_lsp.settings import files, merge
from fim_lsp.settings.backend import BackendConfig
from fim_lsp.settings.config import Config
from server_bridge import bridge
from server_bridge.machine.addresses import redact_url
from server_bridge.process import programs
from server_bridge.protocol import Backend, BackendError, Timings
from server_bridge.weights import on_disk, speeds, table
from server_bridge.weights.on_disk import ModelFile
from server_bridge.weights.speeds import Speed
from server_bridge.weights.table import is_bundled

Open = Callable[[Config], Backend]


def run(given: Namespace, open_backend: Open) -> int:
    """List, measure or remove, as the flags say; returns the exit code."""
    config, _ = merge.merge_layers(files.find_layers((Path.cwd(),)).layers)
    here = survey(config)
    if given.action == "remove":
        if not given.name:
            screen_on(sys.stdout).line("fim-lsp: name a model: fim-lsp models remove NAME")
            return 2
        if not (given.yes or sys.stdin.isatty()):
            screen_on(sys.stdout).line(
                "fim-lsp: there is no terminal to ask in: allow it with --yes"
            )
            return 2
        delete = partial(_delete, config.backend)
        return models.remove(here, given.name, delete, None if given.yes else input)
    if given.action == "measure":
        return _measure(here, given.name, config, open_backend)
    return models.show(here)


def run_bundle(given: Namespace, _: Open) -> int:
    """Pack this installation, and the model that is in use or was downloaded last; returns the exit code."""
    config, _problems = merge.merge_layers(files.find_layers((Path.cwd(),)).layers)
    named = _resolve_model(config.backend)
    model = given.model or (str(named) if named.is_file() else on_disk.find_last_used(folder()))
    if given.model and (problem := setup.wrong_file(given.model)):
        screen_on(sys.stdout).say(f"fim-lsp: {problem}")
        return 1
    path = Path(model).expanduser() if model and not given.no_model else None
    return bundle.pack(given.folder, path)


def folder() -> Path:
    """Return the folder of downloaded models."""
    return files.cache_folder() / "models"


def keep_speed(name: str, evaluated: Timings, decoded: Timings) -> None:
    """Keep what two requests tell of the model in the file called *name*, but of the bundled one. Raises OSError."""
    if not is_bundled(name) and (speed := speeds.speed(evaluated, decoded)) is not None:
        speeds.keep(folder(), name, speed)


def survey(config: Config) -> Here:
    """Return the models on this machine, and those that the settings use."""
    active, answers = _answering(config.backend)
    all_files = on_disk.files(folder())
    if active.is_absolute() and not any(each.path == active for each in all_files):
        all_files.append(ModelFile(active, active.stat().st_size, is_ours=False))
    kept = speeds.read_speeds(folder())
    computed = {
        offer.model.name: Speed(table.WINDOW / offer.first_look_s, offer.ms_per_token)
        for offer in table.offers(programs.machine(None), {})
    }
    listed = [
        _make_row(each, kept, computed, is_active=active in (each.path, Path(each.path.name)))
        for each in all_files
    ]
    return Here(listed, answers)


def _make_row(
    file: ModelFile, kept: dict[str, Speed], computed: dict[str, Speed], *, is_active: bool
) -> Listed:
    name = file.model.name if file.model else file.path.name
    row = Listed(name, file.path, file.n_bytes, is_active=is_active, is_ours=file.is_ours)
    if file.is_part:
        return row._replace(missing=file.model.n_bytes - file.n_bytes if file.model else 0)
    measured = kept.get(file.path.name)
    if (speed := measured or computed.get(name)) is None:
        return row
    return row._replace(
        ms_per_token=speed.decode_ms,
        first_look_s=table.WINDOW / speed.prefill_per_s,
        is_measured=measured is not None,
    )


def _answering(ours: BackendConfig) -> tuple[Path, str]:
    """Return the file of the model that answers, as far as it is known: its path, its name, or "."; and that in words."""
    if ours.endpoints or ours.url or ours.kind in {"llama-server", "openai"}:
        where = ", ".join(redact_url(each.url) for each in ours.endpoints) or redact_url(ours.url)
        return Path(), f"a server, {where or 'whose address is missing'}"
    settings = bridge.BackendSettings(model=ours.model, keys_dir=str(files.cache_folder()))
    if ours.kind == "auto" and (state := asyncio.run(bridge.find_running(settings))) is not None:
        return Path(state.model), f"the llama.cpp server at {state.url}, with {state.model}"
    path = _resolve_model(ours)
    if path.is_file():
        return path, f"{path.name}, run by the engine inside this package"
    missing = f"; {ours.model}, which the settings name, is not there" if ours.model else ""
    return Path(), f"the bundled model, a toy{missing}"


def _resolve_model(ours: BackendConfig) -> Path:
    """Return the file that the settings name, "." for none."""
    return Path.cwd() / Path(ours.model).expanduser() if ours.model.endswith(".gguf") else Path()


def _measure(here: Here, name: str | None, config: Config, open_backend: Open) -> int:
    """Measure the model called *name*, or all, and print the table."""
    screen = screen_on(sys.stdout)
    one = models.find_listed(here, name, screen) if name else None
    if name and one is None:
        return 1
    for each in [one] if one else here.listed:
        if each.missing:
            continue
        inside = replace(
            config.backend, kind="embedded", model=str(each.path), url="", endpoints=()
        )
        screen.line(f"Measuring {each.name} …")
        backend = open_backend(replace(config, backend=inside))
        try:
            speed = asyncio.run(_measure_backend(backend))
        except BackendError as error:
            screen.say(f"fim-lsp: {each.name}: {error}")
            return 1
        if speed is not None:
            speeds.keep(folder(), each.path.name, speed)
    return models.show(survey(config))


async def _measure_backend(backend: Backend) -> Speed | None:
    try:
        return await speeds.measure(backend)
    finally:
        await backend.aclose()


def _delete(ours: BackendConfig, listed: Listed) -> None:
    """Delete the file; settings that name it name none any more. Raises OSError."""
    if listed.path == _resolve_model(ours):
        try:
            setup.forget_model(files.user_file())
        except CannotEdit as error:
            raise OSError(str(error)) from error
    listed.path.unlink()
    speeds.keep(folder(), listed.path.name, None)
