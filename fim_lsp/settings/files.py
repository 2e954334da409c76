"""
All places where settings are, files included, into one `Config`.

The files are the user's `config.toml` and a project's `.fim-lsp.toml`; no file is no layer. The
settings of a place are *known*, *not known yet* (its disk, or the editor, has not answered), or
*wrong*; in the last two cases all files are private (`Layer.why_unknown`), and all other settings
stay as they were.
"""

from __future__ import annotations

import contextlib
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

import platformdirs

from fim_lsp.regular_files import Wrong, look, read_rules, stamp
from fim_lsp.settings.config import Config
from fim_lsp.settings.merge import UNTIL_MENDED, Layer, has_ours, merge_layers

PROJECT_FILE = ".fim-lsp.toml"
_MOST_BYTES = 16_384  # five times all settings with comments
# In a line: tomllib takes quadratic time for the parts of a dotted key, 0.6 s for a file full of
# them.
_MOST_DOTS = 500
LIMIT_S = 0.08  # for all files: the server does nothing else meanwhile
LATE = "no answer yet; no suggestions until there is one"
_READERS = ThreadPoolExecutor(64, "settings")  # each may hang with one file
_ASKED = "workspace/configuration"
_SHARED = "workspace/didChangeConfiguration"  # some clients send all servers the same
_EDITOR = ("initializationOptions", _ASKED, _SHARED)


class _Reading(NamedTuple):
    """The text of a file, and its *stamp* from before it was read."""

    layer: Layer
    stamp: tuple[int, ...]


class Sources:
    """
    The last settings of each source, from least to most important: files, the editor, the command
    line, a command.

    State: the files as last read, the reads under way, and the editor's answers.
    """

    def __init__(self, flags: Mapping[str, object]) -> None:
        self._roots: tuple[Path, ...] = ()
        self._known: dict[Path, _Reading] = {}
        self._reading: dict[Path, Future[_Reading]] = {}
        self._changed: set[Path] = set()  # since they are being read
        self._is_answered = True
        self._on_late: Callable[[], object] = lambda: None
        self._raw = {**dict.fromkeys(_EDITOR), "command line": flags, "fim.toggle": None}

    def say(self, source: str, raw: object) -> None:
        """Replace what one of the sources above said before."""
        self._raw[source] = raw if source != _SHARED or has_ours(raw) else None

    def expect_answer(self) -> None:
        """Note that the editor is asked: its settings are not known until `take_answer`."""
        self._is_answered = False

    def take_answer(self, answers: Sequence[object] | None) -> None:
        """Take the editor's answer to the newest question; None where it has none."""
        self._is_answered = True
        if answers is not None:
            self._raw[_ASKED] = answers[0] if answers else None

    def read(self, roots: tuple[Path, ...], on_late: Callable[[], object]) -> None:
        """
        Read the user's file and those of the workspace's *roots* again.

        A disk may not answer: a file that is not read after `LIMIT_S` is not known yet, and
        *on_late* is called, from another thread, once `take` has it. A read in progress may be
        older than the change: its result is ignored, and the file is read again.
        """
        self._roots = roots
        self._on_late = on_late
        self.take()
        self._known = {at: known for at, known in self._known.items() if at in _files(roots)}
        self._changed.update(self._reading)
        fresh = [self._begin(path) for path in _files(roots) if path not in self._reading]
        wait(fresh, LIMIT_S)
        self.take()

    def take(self) -> bool:
        """Take what was read since; returns whether there was anything."""
        done = [path for path, reading in self._reading.items() if reading.done()]
        for path in done:
            reading = self._reading.pop(path).result()
            if path in self._changed:
                self._changed.remove(path)
                self._begin(path)
            else:
                self._known[path] = _follow(self._known.get(path), reading)
        return bool(done)

    def is_stale(self) -> bool:
        """
        Return whether the user's file was written since it was read; `fim-lsp setup` does that.
        """
        known = self._known.get(user_file())
        return known is not None and _stamp(user_file()) != known.stamp

    def list_late(self) -> tuple[str, ...]:
        """Return the sentences on what is not known yet."""
        late = [f"{path}: {LATE}" for path in _files(self._roots) if self._is_late(path)]
        return (*late, *([] if self._is_answered else [f"the editor's settings: {LATE}"]))

    def config(self) -> tuple[Config, tuple[str, ...]]:
        """Return the merged settings, and what is wrong with them."""
        others = (self._layer_of(source, raw) for source, raw in self._raw.items())
        config, problems = merge_layers([*map(self._layer, _files(self._roots)), *others])
        late = self.list_late()
        return config, tuple(problem for problem in problems if problem not in late)

    def _begin(self, path: Path) -> Future[_Reading]:
        self._reading[path] = reading = _READERS.submit(_read, path)
        reading.add_done_callback(lambda _: self._on_late())
        return reading

    def _is_late(self, path: Path) -> bool:
        return path in self._reading or path not in self._known

    def _layer(self, path: Path) -> Layer:
        """Return what a file says; where that is late, what it said before."""
        layer = self._known[path].layer if path in self._known else _make_layer(path)
        late = f"{path}: {LATE}" if self._is_late(path) else ""
        return layer._replace(why_unknown=late or layer.why_unknown)

    def _layer_of(self, source: str, raw: object) -> Layer:
        if source not in _EDITOR:
            return Layer(source, raw)
        is_late = source == _ASKED and not self._is_answered
        late = f"the editor's settings: {LATE}" if is_late else ""
        return Layer(source, raw, place="editor", why_unknown=late)


PAGE = "context.txt"  # in the cache folder: the last prompt that `fim.showContext` showed
ANNOUNCED = "http"  # there, too: the ports that answer other programs, a file each
STACKS = "stacks.txt"  # there, too: where servers were that the watchdog ended


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
    """Return the settings that count in the first of *roots*, and what is wrong with all."""
    config, problems = merge_layers([_read(path).layer for path in _files(roots)])
    return config.of(roots[0]) if roots else config, problems


def list_stopping(problems: tuple[str, ...]) -> list[str]:
    """Return the names of the files because of which nothing is suggested, of what `read` found."""
    paths = (problem.partition(": ")[0] for problem in problems if problem.endswith(UNTIL_MENDED))
    return [*dict.fromkeys(Path(path).name for path in paths)]


def _files(roots: tuple[Path, ...]) -> list[Path]:
    return [user_file(), *dict.fromkeys(root / PROJECT_FILE for root in roots)]


def _follow(before: _Reading | None, now: _Reading) -> _Reading:
    """
    Return what is known of a file after it was read.

    The last valid content is kept while the file is wrong, or was just emptied by an editor that
    writes it.
    """
    layer = now.layer
    if layer.raw == {} and not layer.text and before and before.layer.raw:
        why = f"{layer.source}: is empty now: delete it, or write it again{UNTIL_MENDED}"
        layer = layer._replace(why_unknown=why)
    if layer.why_unknown and before:
        layer = layer._replace(raw=before.layer.raw, text=before.layer.text)
    return now._replace(layer=layer)


def _read(path: Path) -> _Reading:
    """Return what the file says, or why it is not known; None where there is none."""
    layer = _make_layer(path)
    stamp = _stamp(path)
    try:
        layer = layer._replace(folder=layer.folder and os.path.realpath(layer.folder))
        data = read_rules(path, _MOST_BYTES, follow=layer.trusted)
        if data is not None:
            layer = layer._replace(text=_decode(path, data))
            layer = layer._replace(raw=tomllib.loads(layer.text))
    except (OSError, ValueError, RecursionError) as error:
        why = f"{path}: {getattr(error, 'strerror', None) or error}{UNTIL_MENDED}"
        layer = layer._replace(why_unknown=why)
    return _Reading(layer, stamp)


def _make_layer(path: Path) -> Layer:
    is_project = path.name == PROJECT_FILE
    folder = str(path.parent) if is_project else ""
    return Layer(str(path), None, trusted=not is_project, ours=True, folder=folder)


def _decode(path: Path, data: bytes) -> str:
    """Return the text of a settings file. Raises Wrong."""
    for number, line in enumerate(data.splitlines(), 1):
        if line.count(b".") > _MOST_DOTS:
            raise Wrong(path, f"line {number}: has more than {_MOST_DOTS} dots", "use sections")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Wrong(path, "is no text in UTF-8", "save it as UTF-8") from error


def _stamp(path: Path) -> tuple[int, ...]:
    """Return what changes when *path*, or what it leads to, is written."""
    with contextlib.suppress(OSError, ValueError):
        found = filter(None, (look(path, follow=False), look(path)))
        return tuple(n for about in found for n in stamp(about))
    return ()
