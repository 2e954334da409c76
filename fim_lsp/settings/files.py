"""
All places where settings are, files included, into one `Config`.

The files are the user's `config.toml` and a project's `.fim-lsp.toml`. No file is no layer, and one
that cannot be read is a problem in words, never an exception.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import platformdirs

from fim_lsp.config import Config
from fim_lsp.settings import Layer, configured

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PROJECT_FILE = ".fim-lsp.toml"
# Five times all settings with comments. tomllib takes quadratic time for deep keys, and a project's
# file may be anything: this many bytes are a second at worst.
_MOST_BYTES = 16_384


class Sources:
    """
    What each place said last, from least to most important: files, the editor, the command line, a command.

    State: the files' layers as last read, and the editor's answers.
    """

    def __init__(self, flags: Mapping[str, object]) -> None:
        self._found = Found((), ())
        self._said: dict[str, object] = {
            "initializationOptions": None,
            "workspace/configuration": None,
            "workspace/didChangeConfiguration": None,
            "command line": flags,
            "fim.toggle": None,
        }

    def say(self, source: str, raw: object) -> None:
        """Replace what one of the sources above said before."""
        self._said[source] = raw

    def read(self, roots: tuple[Path, ...]) -> None:
        """Read the user's file and those of the workspace's *roots* again."""
        self._found = found(roots)

    def config(self) -> tuple[Config, tuple[str, ...]]:
        """What it all adds up to, and what is wrong with it."""
        said = (Layer(source, raw) for source, raw in self._said.items())
        config, problems = configured([*self._found.layers, *said])
        return config, self._found.problems + problems


class Found(NamedTuple):
    """The layers of all files that are there, least important first, and what is wrong with them."""

    layers: tuple[Layer, ...]
    problems: tuple[str, ...]


def user_file() -> Path:
    """Where the user's own settings are, whether they exist or not."""
    return platformdirs.user_config_path("fim-lsp", appauthor=False) / "config.toml"


def found(roots: tuple[Path, ...]) -> Found:
    """The user's layer, then one per root of the workspace that has a file."""
    results = [_layer(path) for path in (user_file(), *(root / PROJECT_FILE for root in roots))]
    return Found(
        tuple(result for result in results if isinstance(result, Layer)),
        tuple(result for result in results if isinstance(result, str)),
    )


def _layer(path: Path) -> Layer | str | None:
    """The file as a layer, or what is wrong with it."""
    try:
        if not path.is_file():  # a project could make us wait for a pipe or a device
            return None
        return Layer(str(path), _read(path), trusted=path.name != PROJECT_FILE)
    except (OSError, ValueError, RecursionError) as error:
        return f"{path}: {error}"


def _read(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"is larger than {_MOST_BYTES} bytes")
    return tomllib.loads(data.decode())
