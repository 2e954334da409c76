"""
Models into where their files are on this machine: our own folder, and where other programs keep
theirs.

llama.cpp and the hub's own tools download the same files; a file there with the right name,
commit and size is used where it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import platformdirs

from server_bridge.weights.download import PART, is_whole
from server_bridge.weights.table import MODELS, OfferedModel


class ModelFile(NamedTuple):
    """
    A file of weights, *n_bytes* long: of a *model* of the table, or of another one.

    *is_part*: its download has not ended.
    """

    path: Path
    n_bytes: int
    model: OfferedModel | None = None
    is_part: bool = False


def find_paths(folder: Path) -> dict[str, str]:
    """Return the files that are here, ours in *folder*, by the names of their models."""
    return {model.name: path for model in MODELS if (path := _path(model, folder))}


def list_all(folder: Path) -> list[ModelFile]:
    """
    Return all files of models: those of the table, small ones first, then others in *folder*, then
    parts of downloads.
    """
    places = find_paths(folder)
    named = [(Path(places[model.name]), model) for model in MODELS if model.name in places]
    others = sorted({*folder.glob("*.gguf")} - {path for path, _ in named})
    parts = [(folder / (model.file + PART), model) for model in MODELS]
    return [
        *(ModelFile(path, path.stat().st_size, model) for path, model in named),
        *(ModelFile(path, path.stat().st_size) for path in others),
        *(
            ModelFile(path, path.stat().st_size, model, is_part=True)
            for path, model in parts
            if path.is_file() and path.stat().st_size  # one that never began is no part
        ),
    ]


def find_last_used(folder: Path) -> str:
    """Return the file in *folder* that was downloaded or wanted last, "" without any."""
    files = [folder / model.file for model in MODELS if is_whole(folder / model.file, model)]
    return str(max(files, key=lambda path: path.stat().st_mtime)) if files else ""


def _path(model: OfferedModel, folder: Path) -> str:
    return next((str(path) for path in _places(model, folder) if is_whole(path, model)), "")


def _places(model: OfferedModel, folder: Path) -> Iterator[Path]:
    yield folder / model.file
    # llama.cpp, common/download.cpp: LLAMA_CACHE or the system's cache folder, slashes as
    # underscores
    cache = os.environ.get("LLAMA_CACHE") or platformdirs.user_cache_path(
        "llama.cpp", appauthor=False
    )
    yield Path(cache) / f"{model.repo.replace('/', '_')}_{model.file}"
    # huggingface_hub's cache, which newer builds of llama.cpp use, too
    home = os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser()
    hub = os.environ.get("HF_HUB_CACHE") or Path(home) / "hub"
    yield (
        Path(hub) / f"models--{model.repo.replace('/', '--')}/snapshots" / model.commit / model.file
    )
