"""
`fim-lsp bundle DIR` and `fim-lsp setup --from DIR`: this installation and a model into a folder with sums, and back.

    DIR/wheels/…whl   fim-lsp and all it needs, llama.cpp among it
    DIR/models/…gguf  a model, where there is one
    DIR/README.txt    what to do on the other machine
    DIR/SHA256SUMS    of all of these, as sha256sum writes and checks them
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from fim_lsp import __version__
from fim_lsp.cli import wheels
from fim_lsp.cli.terminal import screen_on
from fim_lsp.cli.wheels import CannotPack
from server_bridge.weights.table import GIGABYTE

SUMS, README = "SHA256SUMS", "README.txt"
CHUNK = 1 << 20
MEGABYTE = 1e6
TEXT = """\
fim-lsp {version} for {system}, Python {python}{model}.

On a machine with that system and that Python, in this folder, without a network:

    sha256sum --check --quiet SHA256SUMS
    python{python} -m venv ~/.fim-lsp
    ~/.fim-lsp/bin/pip install --no-index --find-links wheels wheels/fim_lsp-*.whl
    ~/.fim-lsp/bin/fim-lsp setup --from .

On Windows, use py -{python} -m venv, and Scripts instead of bin; setup checks the sums there.
"""


class WrongBundle(Exception):
    """The folder does not have the files that were packed; the message says what."""


def pack(folder: Path, model: Path | None) -> int:
    """Pack this installation, and *model* if there is one, into *folder*; returns the exit code."""
    screen = screen_on(sys.stdout)
    try:
        _begin(folder)
        for package in wheels.find_needed():
            path = wheels.pack_wheel(package, folder / "wheels")
            screen.line(f"{path.name}  {path.stat().st_size / MEGABYTE:.1f} MB")
        if model is not None:
            (folder / "models").mkdir()
            shutil.copyfile(model, folder / "models" / model.name)
            screen.line(f"{model.name}  {model.stat().st_size / MEGABYTE:.1f} MB")
        (folder / README).write_text(_readme(model), "utf-8")
        sums = {name: _sum(folder / name) for name in _names(folder)}
        lines = "".join(f"{digest}  {name}\n" for name, digest in sums.items())
        (folder / SUMS).write_text(lines, "utf-8")
    except (CannotPack, OSError) as error:
        screen.say(f"fim-lsp: {error}")
        return 1
    n_bytes = sum((folder / name).stat().st_size for name in sums)
    screen.say(
        f"{folder} is ready, {n_bytes / GIGABYTE:.2f} GB. {folder / README} says what to do with it."
    )
    if model is None:
        screen.say("It contains only the bundled model, a toy: --model FILE packs another one.")
    return 0


def unpacker(source: Path, models: Path) -> Callable[[str], str]:
    """Return a function, as `setup` wants it, that puts the model of the bundle *source* into *models*; "" where it cannot."""

    def get(_: str) -> str:
        screen, folder = screen_on(sys.stdout), source.resolve()
        try:
            check(folder)
            screen.line(f"{folder} is complete: all checksums match.")
            model = next(iter(sorted((folder / "models").glob("*.gguf"))), None)
            if model is None:
                screen.say("It has no model. fim-lsp bundle DIR --model FILE packs one.")
                return ""
            return str(_copy(model, models))
        except (WrongBundle, OSError) as error:
            screen.say(f"fim-lsp: {error}")
            return ""

    return get


def check(folder: Path) -> None:
    """See that *folder* has the files of its sums, all of them and no others. Raises WrongBundle, OSError."""
    if not (folder / SUMS).is_file():
        raise WrongBundle(f"{folder} has no {SUMS}: name a folder that fim-lsp bundle made")
    lines = (folder / SUMS).read_text("utf-8").splitlines()
    parts = (line.partition("  ") for line in lines)
    sums = {name: digest for digest, _, name in parts if name}
    for name in sorted({*sums, *_names(folder)}):
        if name not in sums:
            raise WrongBundle(f"{folder / name} is not in {SUMS}: it was not packed with the rest")
        if not (folder / name).is_file():
            raise WrongBundle(f"{folder / name} is missing: copy the folder again")
        if _sum(folder / name) != sums[name]:
            raise WrongBundle(
                f"{folder / name} was changed after it was packed: copy the folder again"
            )


def _begin(folder: Path) -> None:
    """Make the folder. Raises CannotPack where there is something in it, OSError."""
    if folder.exists() and any(folder.iterdir()):
        raise CannotPack(f"{folder} is not empty: name another folder")
    (folder / "wheels").mkdir(parents=True)


def _copy(model: Path, models: Path) -> Path:
    """Return the file in our own folder, whole or not at all."""
    models.mkdir(parents=True, exist_ok=True)
    target = models / model.name
    beside = target.with_name(target.name + ".new")
    shutil.copyfile(model, beside)
    os.replace(beside, target)  # noqa: PTH105 (it replaces on Windows, too)
    return target


def _names(folder: Path) -> Iterator[str]:
    """Return the files in *folder* besides the sums."""
    found = (
        path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file()
    )
    return (name for name in found if name != SUMS)


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while piece := file.read(CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _readme(model: Path | None) -> str:
    python = ".".join(map(str, sys.version_info[:2]))
    system = f"{platform.system()} {platform.machine()}"
    return TEXT.format(
        version=__version__,
        system=system,
        python=python,
        model=f", with {model.name}" if model else "",
    )
