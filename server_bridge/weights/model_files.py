"""
The files of models: those on this disk, and a new one from the hub, or a mirror of it: resumed,
checked, whole or not at all.

The part that came is in FILE.part beside the target until all is there and its SHA-256 is right;
then it gets its name. So a file with its name is complete, an attempt that ended (Ctrl-C, no
network, no room) costs nothing of what came before, and where the bytes came from does not matter.

llama.cpp and the hub's own tools download the same files; a file there with the right name, commit
and size is used where it is.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import httpx
import platformdirs

from server_bridge.http.transport import RoutedTransport
from server_bridge.machine.addresses import redact_url
from server_bridge.protocol import BackendUnusable
from server_bridge.weights.table import GIGABYTE, HUB, MODELS, OfferedModel

Progress = Callable[[int, int], None]  # bytes that are here, bytes in all

PART = ".part"
CHUNK = 1 << 20
TIMES = httpx.Timeout(10.0, read=30.0)  # a mirror may have to fetch the beginning itself
WAITS_S = (1.0, 2.0, 4.0, 8.0)  # after attempts that brought too little; then it is given up
ENOUGH = 1 << 16  # new bytes of an attempt: the login page of a network has fewer


class CannotDownload(Exception):
    """The message says what is wrong and what to do."""


def fetch(model: OfferedModel, folder: Path, progress: Progress, hub: str = HUB) -> Path:
    """
    Return the file of *model* in *folder*, downloaded from *hub* unless it is there. Raises
    CannotDownload.
    """
    target = folder / model.file
    if is_whole(target, model):
        return target
    begun = target.with_name(target.name + PART)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(begun) as file:
            try:
                _check_room(file, folder, model)
                part = _Part(file, lambda n_bytes: progress(n_bytes, model.n_bytes))
                _complete(part, model, hub)
            finally:
                if not os.fstat(file.fileno()).st_size and sys.platform != "win32":
                    begun.unlink(missing_ok=True)  # nothing came
        begun.replace(target)
    except OSError as error:
        raise CannotDownload(_local_trouble(error, folder, model)) from error
    except BackendUnusable as error:  # what the environment says of proxies or certificates
        raise CannotDownload(str(error)) from error
    return target


class _Part:
    """
    The beginning of a file: what is on disk, and its running checksum; *on_length* gets its length.
    """

    def __init__(self, file: BinaryIO, on_length: Callable[[int], None]) -> None:
        self._file = file
        self._on_length = on_length
        self.n_bytes = 0
        self.sum = hashlib.sha256()
        while piece := file.read(CHUNK):
            self._count(piece)

    def add(self, piece: bytes) -> None:
        """Append *piece*."""
        self._file.write(piece)
        self._count(piece)

    def clear(self) -> None:
        """Begin again."""
        self._file.seek(0)
        self._file.truncate()
        self.n_bytes = 0
        self.sum = hashlib.sha256()

    def _count(self, piece: bytes) -> None:
        self.n_bytes += len(piece)
        self.sum.update(piece)
        self._on_length(self.n_bytes)


class _Wrong(Exception):
    """The server sent another file than the one requested."""


def _complete(part: _Part, model: OfferedModel, hub: str) -> None:
    """Bring *part* to its end; begin again where an earlier attempt was of another file."""
    for is_last in (False, True) if part.n_bytes else (True,):
        try:
            _append_all(part, model, hub)
        except _Wrong:
            part.clear()
            if is_last:
                raise CannotDownload(_not_the_file(model, hub)) from None
        else:
            return


def _append_all(part: _Part, model: OfferedModel, hub: str) -> None:
    """
    Ask for what is missing until nothing is, with a pause after each attempt that brought little.
    """
    waits = iter(WAITS_S)
    most = part.n_bytes
    routed = RoutedTransport()
    with httpx.Client(
        timeout=TIMES, follow_redirects=True, transport=routed, trust_env=False
    ) as client:
        while part.n_bytes < model.n_bytes:
            cause: httpx.HTTPError | None = None
            try:
                _append(client, part, model, hub)
            except (httpx.HTTPStatusError, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
                raise CannotDownload(_unreachable(error, part.n_bytes, model, hub)) from error
            except httpx.HTTPError as error:
                cause = error
            if part.n_bytes >= min(most + ENOUGH, model.n_bytes):
                waits = iter(WAITS_S)
                most = part.n_bytes
            elif (wait := next(waits, None)) is not None:
                time.sleep(wait)
            else:
                raise CannotDownload(_unreachable(cause, part.n_bytes, model, hub)) from cause
    if part.sum.hexdigest() != model.sha256:
        raise _Wrong


def _append(client: httpx.Client, part: _Part, model: OfferedModel, hub: str) -> None:
    """Send one request for what is missing."""
    wanted = {"Range": f"bytes={part.n_bytes}-", "Accept-Encoding": "identity"}
    with client.stream("GET", model.url(hub), headers=wanted) as answer:
        if answer.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise _Wrong
        answer.raise_for_status()
        if answer.status_code != httpx.codes.PARTIAL_CONTENT:
            part.clear()  # a server that knows no ranges sends all of it
        length = answer.headers.get("content-length", "")
        if length and int(length) != model.n_bytes - part.n_bytes:
            raise _Wrong
        for piece in answer.iter_raw():
            if part.n_bytes + len(piece) > model.n_bytes:
                raise _Wrong
            part.add(piece)


@contextmanager
def _alone(path: Path) -> Iterator[BinaryIO]:
    """Open *path*, to be read and appended to by this process alone."""
    with path.open("a+b") as file:
        if sys.platform != "win32":
            import fcntl  # noqa: PLC0415 (Windows has none)

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.seek(0)
        yield file


def _check_room(file: BinaryIO, folder: Path, model: OfferedModel) -> None:
    """Raise OSError where the disk cannot hold what is missing."""
    missing = model.n_bytes - os.fstat(file.fileno()).st_size
    if shutil.disk_usage(folder).free < missing:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _local_trouble(error: OSError, folder: Path, model: OfferedModel) -> str:
    if isinstance(error, BlockingIOError):
        return f"another process downloads {model.name} already: wait for it"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        needed = f"{model.n_bytes / GIGABYTE:.1f} GB in {folder}"
        return f"{model.name} needs {needed}: make room, then repeat"
    return f"{folder} cannot be written to: {error.strerror or error}"


def _unreachable(error: Exception | None, n_here: int, model: OfferedModel, hub: str) -> str:
    """Say why nothing more came of *model*; *n_here* bytes are here."""
    where = redact_url(hub)
    if isinstance(error, httpx.HTTPStatusError):
        trouble = f"{where} answers {error.response.status_code} {error.response.reason_phrase}"
    elif error:
        trouble = f"{where} cannot be reached ({str(error) or type(error).__name__})"
    else:
        trouble = f"{where} ends its answers too early, as the login page of a network does"
    kept = "What came so far is kept: repeat the command to go on. " if n_here else ""
    return f"{trouble}. {kept}{_otherwise(model)}"


def _not_the_file(model: OfferedModel, hub: str) -> str:
    what = f"what {redact_url(hub)} sends is not {model.file}"
    return f"{what} (its size or SHA-256 is another). {_otherwise(model)}"


def _otherwise(model: OfferedModel) -> str:
    return (
        "Behind a proxy set HTTPS_PROXY; --mirror URL asks another host; or download "
        f"{model.url()} elsewhere and name the file with --model FILE"
    )


def is_whole(path: Path, model: OfferedModel) -> bool:
    """
    Return whether *path* is the file of *model*, by its size: files of that name were checked
    before.
    """
    try:
        return path.stat().st_size == model.n_bytes
    except OSError:
        return False


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
            if path.is_file() and path.stat().st_size  # a download that never began is no part
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
