"""
All places where settings are, files included, into one `Config`.

The files are the user's `config.toml` and a project's `.fim-lsp.toml`. No file is no layer, and one
that cannot be read is a problem in words, never an exception.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path

import platformdirs

from fim_lsp.settings.config import Config
from fim_lsp.settings.merge import Layer, merge_layers

Read = Layer | str | None  # a file as a layer, or what is wrong with it

PROJECT_FILE = ".fim-lsp.toml"
_MOST_BYTES = 16_384  # five times all settings with comments
# In a line: tomllib takes quadratic time for the parts of a dotted key, 0.6 s for a file full of
# them.
_MOST_DOTS = 500
NOTHING_YET = "no suggestions until that file can be read: it may say what is private"
LIMIT_S = 0.2  # for all files: the server does nothing else meanwhile
_READERS = ThreadPoolExecutor(64, "settings")  # each may hang with one file
_ALL_PRIVATE = Layer("settings that cannot be read", {"privacy": {"exclude": ["*"]}}, trusted=False)


_EDITOR = ("initializationOptions", "workspace/configuration", "workspace/didChangeConfiguration")


class Sources:
    """
    The last settings of each source, from least to most important: files, the editor, the command
    line, a command.

    State: the files as last read and when the user's was written, and the editor's answers. A file
    that is wrong now, half written or not, counts as it was before: it may say what is private. So
    all is private where one never was right. An editor *over_tcp* may not set what names files and
    commands.
    """

    def __init__(self, flags: Mapping[str, object], *, over_tcp: bool = False) -> None:
        self._over_tcp = over_tcp
        self._roots: tuple[Path, ...] = ()
        self._read: dict[Path, Read] = {}
        self._good: dict[Path, Layer] = {}  # the last of those that are wrong now
        self._reading: dict[Path, Future[Read]] = {}
        self._written = 0
        self._raw = {**dict.fromkeys(_EDITOR), "command line": flags, "fim.toggle": None}

    def say(self, source: str, raw: object) -> None:
        """Replace what one of the sources above said before."""
        self._raw[source] = raw

    def read(self, roots: tuple[Path, ...], on_late: Callable[[], object]) -> None:
        """
        Read the user's file and those of the workspace's *roots* again.

        A disk may not answer: what is not there after `LIMIT_S` counts as it was read last, and
        *on_late* is called, from another thread, once it is there.
        """
        self._roots = roots
        fresh = [path for path in _files(roots) if path not in self._reading]
        self._reading |= {path: _READERS.submit(_layer, path) for path in fresh}
        _, late = wait([self._reading[path] for path in fresh], LIMIT_S)
        for reading in late:
            reading.add_done_callback(lambda _: on_late())
        for path in [path for path, reading in self._reading.items() if reading.done()]:
            before, self._read[path] = self._read.get(path), self._reading.pop(path).result()
            if isinstance(before, Layer):
                self._good[path] = before
            if not isinstance(self._read[path], str):
                self._good.pop(path, None)
        if user_file() not in self._reading:
            self._written = _read_mtime(user_file())

    def is_stale(self) -> bool:
        """
        Return whether the user's file was written since it was read; `fim-lsp setup` does that.
        """
        return _read_mtime(user_file()) != self._written

    def config(self) -> tuple[Config, tuple[str, ...]]:
        """Return the merged settings, and what is wrong with them."""
        others = (
            Layer(source, raw, over_tcp=self._over_tcp and source in _EDITOR)
            for source, raw in self._raw.items()
        )
        files = _files(self._roots)
        read = [layer for path in files for layer in (self._good.get(path), self._read.get(path))]
        layers, wrong = _split(read, [self._read.get(at) for at in files if at not in self._good])
        config, problems = merge_layers([*layers, *others])
        return config, wrong + problems


def cache_folder() -> Path:
    """Return our folder in the user's cache: saved state, servers' logs, pages to read."""
    return platformdirs.user_cache_path("fim-lsp", appauthor=False)


def client_key_file() -> Path:
    """Return the path of the key for clients of the local port."""
    return platformdirs.user_state_path("fim-lsp", appauthor=False) / "client-key"


def user_file() -> Path:
    """Return the path of the user's own settings, whether they exist or not."""
    return platformdirs.user_config_path("fim-lsp", appauthor=False) / "config.toml"


def read(roots: tuple[Path, ...]) -> tuple[Config, tuple[str, ...]]:
    """Return the settings of all files, merged, and what is wrong with them."""
    results = [*map(_layer, _files(roots))]
    layers, problems = _split(results, results)
    config, more = merge_layers(layers)
    return config, (*problems, *more)


def _files(roots: tuple[Path, ...]) -> list[Path]:
    return [user_file(), *(root / PROJECT_FILE for root in roots)]


def _split(read: list[Read], only: list[Read]) -> tuple[tuple[Layer, ...], tuple[str, ...]]:
    """
    Return the layers in *read*, and what is wrong with the other files; all is private where that
    is one of *only*, which are all that is known of their files.
    """
    layers = tuple(result for result in read if isinstance(result, Layer))
    problems = tuple(result for result in read if isinstance(result, str))
    hides = any(isinstance(result, str) for result in only)
    return layers + (_ALL_PRIVATE,) * hides, problems + (NOTHING_YET,) * hides


def _read_mtime(path: Path) -> int:
    """Return the time *path* was written last, 0 without such a file."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _layer(path: Path) -> Read:
    """Return the file as a layer, or what is wrong with it."""
    is_project = path.name == PROJECT_FILE
    try:
        if is_project and path.is_symlink():
            return f"{path}: is a link; write a project's settings into the file itself"
        data = _bytes(path, getattr(os, "O_NOFOLLOW", 0) if is_project else 0)
        return None if data is None else Layer(str(path), _parse(data), trusted=not is_project)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        return f"{path}: {getattr(error, 'strerror', None) or error}"


def _bytes(path: Path, flags: int) -> bytes | None:
    """
    Return the beginning of a file; None for a pipe or a device, which might never end.

    A project's file must be no link: git carries links, and the server can read what others cannot.
    """
    flags |= os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        return file.read(_MOST_BYTES + 1) if is_file else None


def _parse(data: bytes) -> dict[str, object]:
    """Return the settings of a file; all of it is ours, with `fim` before a key or without."""
    if len(data) > _MOST_BYTES:
        raise ValueError(f"is larger than {_MOST_BYTES} bytes")
    if any(line.count(b".") > _MOST_DOTS for line in data.splitlines()):
        raise ValueError(f"has a line with more than {_MOST_DOTS} dots")
    raw = tomllib.loads(data.decode("utf-8-sig"))
    return {key if key == "fim" else f"fim.{key.removeprefix('fim.')}": raw[key] for key in raw}
