"""
Installed packages into wheels again: what runs here, for a machine without a network.

A wheel is what its RECORD lists, in a zip file. What an installer added (scripts, compiled files, notes on where
it came from) is left out, and each file must still have the sum that RECORD says.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import re
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from urllib.request import url2pathname

OURS = "fim-lsp"
PACKAGES = ("fim_lsp", "server_bridge")
NAME = re.compile(r"[A-Za-z0-9._-]+")
ADDED = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json"}


FAST = 1  # of deflate: a better compression of the 100 MB of llama.cpp takes longest of all


class CannotPack(Exception):
    """A package cannot be packed as it is installed; the message says what to do."""


def find_needed(name: str = OURS) -> list[Distribution]:
    """Return the package called *name* and all that it needs here, it first. Raises CannotPack."""
    found: dict[str, Distribution] = {}
    names = [name]
    while names:
        each = names.pop()
        key = re.sub(r"[-_.]+", "-", each).lower()
        if key in found:
            continue
        try:
            found[key] = importlib.metadata.distribution(each)
        except PackageNotFoundError:
            if key == name:
                raise CannotPack(
                    f"{name} is not installed as a package: install it with pip, pipx or uv"
                ) from None
            continue  # for another system, or another Python
        wanted = (line for line in found[key].requires or () if "extra ==" not in line)
        names += [match[0] for line in wanted if (match := NAME.match(line))]
    return list(found.values())


def pack_wheel(package: Distribution, folder: Path) -> Path:
    """Return a wheel of *package* in *folder*. Raises CannotPack, OSError."""
    files = dict(_files(package))
    info = next(
        (PurePosixPath(name).parent for name in files if name.endswith(".dist-info/WHEEL")), None
    )
    if info is None:
        raise CannotPack(
            f"{package.name} was not installed from a wheel: install fim-lsp with pip, pipx or uv"
        )
    path = folder / f"{info.name.removesuffix('.dist-info')}-{_tag(package)}.whl"
    rows = []
    with zipfile.ZipFile(path, "w", compresslevel=FAST) as wheel:
        for name, file in files.items():
            data = file.read_bytes()
            wheel.writestr(zipfile.ZipInfo.from_file(file, name), data, zipfile.ZIP_DEFLATED)
            rows.append(f"{name},{_sum(data)},{len(data)}")
        record = f"{info}/RECORD"
        wheel.writestr(record, "\n".join([*rows, f"{record},,", ""]))
    return path


def _files(package: Distribution) -> Iterator[tuple[str, Path]]:
    """Yield the files of the wheel: names in it, and where they are. Raises CannotPack."""
    root = _checkout(package)
    for file in package.files or ():
        if file.parts[0] == ".." or file.name.endswith(".pyc") or file.name in ADDED:
            continue
        path = Path(str(package.locate_file(file)))
        in_info = file.parts[0].endswith(".dist-info")
        if root is not None and not in_info:
            continue  # a link to the checkout
        if file.hash is not None and file.hash.value != _sum(path.read_bytes()).partition("=")[2]:
            raise CannotPack(f"{path} is not as it was installed: install {package.name} again")
        yield file.as_posix(), path
    if root is not None:
        for name in PACKAGES:
            for path in sorted((root / name).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    yield path.relative_to(root).as_posix(), path


def _checkout(package: Distribution) -> Path | None:
    """Return the folder that an editable installation of ours runs from; None for all others."""
    origin = json.loads(package.read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        return None
    if package.name != OURS:
        raise CannotPack(f"{package.name} is an editable installation: install it as a package")
    return Path(url2pathname(urlsplit(origin["url"]).path))


def _tag(package: Distribution) -> str:
    """Return the end of the wheel's name: for which Pythons and systems it is."""
    tags = re.findall(r"^Tag: (\S+)-(\S+)-(\S+)$", package.read_text("WHEEL") or "", re.MULTILINE)
    if not tags:
        raise CannotPack(
            f"{package.name} was not installed from a wheel: install fim-lsp with pip, pipx or uv"
        )
    return "-".join(".".join(sorted(set(part))) for part in zip(*tags, strict=True))


def _sum(data: bytes) -> str:
    """Return a sum as RECORD has it."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
