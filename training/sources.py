"""
Names of packages into their files: fetched through pip, npm and apt as each is configured on this machine.

    python -m training.sources ~/fim-data                      everything packages.toml names
    python -m training.sources ~/fim-data apt:redis pip:rich   these

Each package becomes a folder ~/fim-data/REGISTRY/NAME with the archives as they came; what is there is
not fetched again. `opened` reads one: version, licence by file, and the source files.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
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
        for path, data in (member for archive in self.archives for member in _members(archive)):
            licence = self.licence(path)
            if licences.allowed(licence):
                text = data.decode("utf-8", "ignore")
                if text.encode() == data:
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
    apt = _apt(folder) if registry in _APT else ()
    command = [*apt, *{"pip": _PIP, "npm": _NPM, **_APT}[registry], name]
    subprocess.run(command, cwd=part, check=True, stdout=subprocess.DEVNULL)
    part.rename(into)


def opened(folder: Path, spec: str) -> Package:
    """Return a fetched package; one that does not state its licence has no files for us."""
    files = sorted(home(folder, spec).iterdir())
    registry = spec.partition(":")[0]
    if registry == "apt":
        return _debian(spec, files)
    (archive,) = files
    if registry == "deb":
        licence = licences.of_all(_text(archive, "/copyright"))
        return Package(spec, archive.name.split("_")[1], (archive,), lambda _: licence)
    stated = _text(archive, "METADATA" if registry == "pip" else "package/package.json")
    if registry == "pip":
        licence, version = licences.of_wheel(stated), archive.name.split("-")[1]
    else:
        licence, version = licences.of_npm(stated), str(json.loads(stated)["version"])
    return Package(spec, version, (archive,), lambda _: licence)


_PIP = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:")
_NPM = ("npm", "pack", "--silent")
_APT = {"apt": ("source", "--download-only"), "deb": ("download",)}


def _apt(folder: Path) -> tuple[str, ...]:
    """apt with the machine's mirrors and keys, for sources, too; the machine's own state stays as it is."""
    state = folder / "apt-state"
    options = [
        f"-oDir::Etc::SourceParts={state}/sources", "-oDir::Etc::SourceList=/dev/null",
        f"-oDir::State::Lists={state}/lists", f"-oDir::Cache={state}/cache",
    ]  # fmt: skip
    command = ("apt-get", "--quiet", *options)
    if not state.exists():
        for part in ("sources", "lists/partial", "cache/archives/partial"):
            (state / part).mkdir(parents=True)
        for path in Path("/etc/apt/sources.list.d").glob("*.sources"):
            text = re.sub(r"(?m)^Types:.*", "Types: deb deb-src", path.read_text("utf-8"))
            (state / "sources" / path.name).write_text(text, "utf-8")
        subprocess.run([*command, "update"], check=True, stdout=subprocess.DEVNULL)
    return command


def _debian(spec: str, files: list[Path]) -> Package:
    dsc = next(path for path in files if path.suffix == ".dsc").read_text("utf-8", "replace")
    version = re.search(r"(?m)^Version: (.*)$", dsc)
    packed = [path for path in files if ".tar." in path.name and not path.name.endswith(".asc")]
    debian = next((path for path in packed if ".debian.tar." in path.name), packed[0])
    licence = licences.of_debian(_text(debian, "debian/copyright"))
    archives = tuple(path for path in packed if ".orig.tar." in path.name) or (debian,)
    return Package(spec, version[1] if version else "", archives, licence or (lambda _: ""))


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the source files of an archive, without its outermost folder where it has one."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                if _wanted(info.filename, info.file_size):
                    yield info.filename, wheel.read(info)
        return
    with _tar(archive) as tar:
        for member in tar:
            if member.isfile() and _wanted(member.name, member.size):
                file = tar.extractfile(member) or io.BytesIO()
                yield member.name.removeprefix("./").partition("/")[2], file.read()


def _tar(archive: Path) -> tarfile.TarFile:
    """Return a tar archive, or the one inside a .deb."""
    if archive.suffix != ".deb":
        return tarfile.open(archive)
    inner = subprocess.run(["dpkg-deb", "--fsys-tarfile", archive], check=True, capture_output=True)
    return tarfile.open(fileobj=io.BytesIO(inner.stdout))


def _wanted(path: str, n_bytes: int) -> bool:
    return Path(path).suffix in LANGUAGES and n_bytes <= MOST_BYTES


def _text(archive: Path, ending: str) -> str:
    """Return the first file whose path ends like this, "" where there is none."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            name = next((n for n in wheel.namelist() if n.endswith(ending)), None)
            return wheel.read(name).decode("utf-8", "replace") if name else ""
    with _tar(archive) as tar:
        for member in tar:
            if member.name.endswith(ending):
                file = tar.extractfile(member) or io.BytesIO()
                return file.read().decode("utf-8", "replace")
    return ""


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
