"""
Names of packages into their files: fetched through pip, npm and apt as each is configured on this machine.

    python -m training.sources ~/fim-data                      everything packages.toml names
    python -m training.sources ~/fim-data apt:redis pip:rich   these

Each package becomes a folder ~/fim-data/REGISTRY/NAME with the archives as they came; what is there is
not fetched again. `opened` reads one: version, licence by file, and the source files.
"""

from __future__ import annotations

import functools
import io
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from training import licences

HERE = Path(__file__).parent
LANGUAGES = {
    ".py": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "javascriptreact",
    ".ts": "typescript", ".mts": "typescript", ".tsx": "typescriptreact", ".go": "go", ".rs": "rust", ".c": "c",
    ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp", ".hh": "cpp", ".hpp": "cpp", ".java": "java",
    ".lua": "lua", ".sh": "shellscript", ".bash": "shellscript", ".bats": "shellscript",
}  # fmt: skip
FETCH = {
    "pip": (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"),
    "npm": ("npm", "pack", "--silent"),
    "apt": ("apt-get", "--quiet", "source", "--download-only"),  # needs deb-src lines
}
MOST_BYTES = 150_000  # in a file: longer ones are data or were generated


@dataclass(frozen=True)
class File:
    """A source file; *path* is within its package, *language* as LSP names it, lines end with `\\n`."""

    path: str
    language: str
    licence: str
    text: str


@dataclass(frozen=True)
class Package:
    """An archive as it came. *spec* is REGISTRY:NAME."""

    spec: str
    version: str
    archives: tuple[Path, ...]
    licence: licences.Licence

    @property
    def name(self) -> str:
        """As its own repository would be called."""
        return name_of(self.spec)

    def files(self) -> Iterator[File]:
        """Yield its source files under a licence we may use, as they stand in the archive."""
        for archive in self.archives:
            for name, n_bytes, read in _members(archive):
                path = _inner(archive, name)
                licence = self.licence(path)
                if _wanted(path, n_bytes) and licences.allowed(licence):
                    text = read().decode("utf-8", "replace")
                    if "\ufffd" not in text:
                        text = text.replace("\r\n", "\n").replace("\r", "\n")
                        yield File(path, LANGUAGES[Path(path).suffix], licence, text)


def named() -> tuple[list[str], dict[str, list[str]]]:
    """Return what packages.toml names: to train on, and held out by language; as REGISTRY:NAME."""
    table = tomllib.loads((HERE / "packages.toml").read_text("utf-8"))
    held_out = table.pop("held_out")
    train = [f"{registry}:{name}" for registry, names in table.items() for name in names["train"]]
    return train, held_out


def name_of(spec: str) -> str:
    """Return a package as its own repository would be called."""
    return re.sub(r"^.*[:/]|==.*$", "", spec)


def home(folder: Path, spec: str) -> Path:
    """Return where the archives of a package lie."""
    registry, _, name = spec.partition(":")
    return folder / registry / name.replace("/", "+")


def fetch(folder: Path, spec: str) -> None:
    """Fetch one package unless it is there. Raises CalledProcessError where its registry has none."""
    registry, _, name = spec.partition(":")
    into = home(folder, spec)
    if into.exists():
        return
    part = into.with_name(into.name + ".part")
    part.mkdir(parents=True, exist_ok=True)
    subprocess.run([*FETCH[registry], name], cwd=part, check=True, stdout=subprocess.DEVNULL)
    part.rename(into)


def opened(folder: Path, spec: str) -> Package:
    """Return a fetched package; one that does not state its licence has no files for us."""
    files = sorted(home(folder, spec).iterdir())
    registry = spec.partition(":")[0]
    if registry == "apt":
        return _debian(spec, files)
    (archive,) = files
    stated = _text(archive, "METADATA" if registry == "pip" else "package/package.json")
    if registry == "pip":
        licence = licences.of_wheel(stated)
        version = archive.name.split("-")[1]
    else:
        licence = licences.of_npm(stated)
        version = str(json.loads(stated)["version"])
    return Package(spec, version, (archive,), lambda _: licence)


def _debian(spec: str, files: list[Path]) -> Package:
    dsc = next(path for path in files if path.suffix == ".dsc").read_text("utf-8", "replace")
    version = re.search(r"(?m)^Version: (.*)$", dsc)
    packed = [path for path in files if ".tar." in path.name and not path.name.endswith(".asc")]
    debian = next((path for path in packed if ".debian.tar." in path.name), packed[0])
    licence = licences.of_debian(_text(debian, "debian/copyright"))
    archives = tuple(path for path in packed if ".orig.tar." in path.name) or (debian,)
    return Package(spec, version[1] if version else "", archives, licence or (lambda _: ""))


def _members(archive: Path) -> Iterator[tuple[str, int, Callable[[], bytes]]]:
    """Yield the path of each file in an archive, its size, and what reads it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                yield info.filename, info.file_size, functools.partial(wheel.read, info)
        return
    with tarfile.open(archive) as tar:
        for member in filter(tarfile.TarInfo.isfile, tar):
            yield member.name, member.size, (tar.extractfile(member) or io.BytesIO()).read


def _inner(archive: Path, path: str) -> str:
    """Return a path without its outermost folder, which wheels do not have."""
    return path if archive.suffix == ".whl" else path.removeprefix("./").partition("/")[2]


def _wanted(path: str, n_bytes: int) -> bool:
    return Path(path).suffix in LANGUAGES and n_bytes <= MOST_BYTES


def _text(archive: Path, ending: str) -> str:
    """Return the first file whose path ends like this, "" where there is none."""
    texts = (read() for path, _, read in _members(archive) if path.endswith(ending))
    return next(texts, b"").decode("utf-8", "replace")


def main() -> None:
    """Fetch what is asked for; print what could not be fetched and go on."""
    folder, *specs = sys.argv[1:]
    train, held_out = named()
    for spec in specs or [*train, *(member for specs in held_out.values() for member in specs)]:
        try:
            fetch(Path(folder).absolute(), spec)
        except subprocess.CalledProcessError as error:
            print(f"{spec}: not available ({error.returncode})", flush=True)


if __name__ == "__main__":
    main()
