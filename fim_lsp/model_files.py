"""`fim-lsp models`: files of models and the settings, joined with `server_bridge`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from fim_lsp.cli import models
from fim_lsp.cli.models import Here, Listed
from fim_lsp.settings import files, merge
from fim_lsp.settings.backend import BackendConfig
from fim_lsp.settings.config import Config
from server_bridge import bridge
from server_bridge.machine.addresses import redact_url
from server_bridge.process import programs
from server_bridge.process.command_line import Machine
from server_bridge.weights import on_disk, table
from server_bridge.weights.on_disk import ModelFile


def run() -> int:
    """List the models; returns the exit code."""
    config, _problems = merge.merge_layers(files.find_layers((Path.cwd(),)).layers)
    return models.show(survey(config))


def folder() -> Path:
    """Return the folder of downloaded models."""
    return files.cache_folder() / "models"


def survey(config: Config) -> Here:
    """Return the models on this machine, and those that the settings use."""
    active, answers = _answering(config.backend)
    all_files = on_disk.files(folder())
    if active.is_absolute() and not any(each.path == active for each in all_files):
        all_files.append(ModelFile(active, active.stat().st_size))
    machine = programs.machine(None)
    return Here([_make_row(each, active, machine) for each in all_files], answers)


def _make_row(file: ModelFile, active: Path, machine: Machine) -> Listed:
    is_active = active in (file.path, Path(file.path.name))
    if (model := file.model) is None:
        ms_per_token = table.estimate_ms(file.n_bytes, file.n_bytes, machine)
        return Listed(file.path.name, file.path, file.n_bytes, ms_per_token, is_active=is_active)
    offer = table.find_offer(table.offers(machine, {}), model.name)
    assert offer is not None
    missing = model.n_bytes - file.n_bytes if file.is_part else 0
    return Listed(
        model.name,
        file.path,
        model.n_bytes,
        offer.ms_per_token,
        offer.first_look_s,
        is_active,
        missing,
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
