"""`fim-lsp bundle`: this installation as a folder, checked by its sums, installed where no network is."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fim_lsp import __main__, __version__
from fim_lsp.__main__ import main
from fim_lsp.cli import bundle, wheels
from fim_lsp.settings import files
from tests.cli.test_serve import homes
from tests.models import BUNDLED

NO_NETWORK = ["unshare", "--net", "--map-root-user"]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a bundle of what runs these tests, with the bundled model under another name."""
    folder = tmp_path_factory.mktemp("bundle")
    model = folder / "mine.gguf"
    shutil.copy(BUNDLED, model)
    assert bundle.pack(folder / "packed", model) == 0
    return folder / "packed"


@pytest.fixture
def copy(packed: Path, tmp_path: Path) -> Path:
    """Return a copy to spoil, without the large wheel of the engine."""
    folder = tmp_path / "copy"
    shutil.copytree(packed, folder, ignore=shutil.ignore_patterns("xllamacpp*"))
    sums = folder / bundle.SUMS
    lines = [line for line in sums.read_text().splitlines(keepends=True) if "xllamacpp" not in line]
    sums.write_text("".join(lines))
    return folder


def test_it_has_all_that_is_needed(packed: Path) -> None:
    """The package, its model inside, the engine, what these need; and sums as sha256sum writes them."""
    names = [path.name for path in (packed / "wheels").iterdir()]
    for name in (
        "fim_lsp-",
        "xllamacpp-",
        "pygls-",
        "lsprotocol-",
        "tree_sitter_python-",
        "attrs-",
    ):
        assert any(each.startswith(name) for each in names), name
    [ours] = (packed / "wheels").glob("fim_lsp-*.whl")
    inside = zipfile.ZipFile(ours).namelist()
    assert f"server_bridge/models/{BUNDLED.name}" in inside
    assert "fim_lsp/cli/sample/larder/store.py" in inside
    assert not [name for name in inside if name.endswith(".pyc") or name.startswith("tests/")]
    lines = dict(line.split("  ")[::-1] for line in (packed / bundle.SUMS).read_text().splitlines())
    model = packed / "models/mine.gguf"
    assert lines["models/mine.gguf"] == hashlib.sha256(model.read_bytes()).hexdigest()
    assert "with mine.gguf" in (packed / bundle.README).read_text()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="network namespaces are Linux's")
def test_a_machine_without_a_network_installs_it(packed: Path, tmp_path: Path) -> None:
    """In a network namespace without a route: a fresh environment, the two lines of README.txt, a real completion."""
    if (
        shutil.which("unshare") is None
        or subprocess.run([*NO_NETWORK, "true"], check=False).returncode
    ):
        pytest.skip("needs unshare --net, which is not allowed here")
    file = tmp_path / "shop.py"
    file.write_text(
        "class Store:\n    def __init__(self, owner, capacity):\n        self.owner = owner\n        self.ca"
    )
    script = f"""
        set -eu
        ! {sys.executable} -c 'import socket; socket.create_connection(("192.0.2.1", 443), 3)' 2>/dev/null
        ip link set lo up 2>/dev/null || {sys.executable} -c '{LOOPBACK_UP}'
        {sys.executable} -I -m venv {tmp_path}/venv
        cd {packed}
        sha256sum --check --quiet SHA256SUMS
        {tmp_path}/venv/bin/pip install --no-index --find-links wheels wheels/fim_lsp-*.whl
        {tmp_path}/venv/bin/fim-lsp setup --from .
        cd {tmp_path}
        {tmp_path}/venv/bin/fim-lsp complete {file}:4
    """
    environ = {**homes(tmp_path / "home"), "PATH": "/usr/sbin:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        [*NO_NETWORK, "sh", "-c", script], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is complete" in done.stdout
    assert "Completions work." in done.stdout
    assert done.stdout.rstrip().endswith("\npacity = capacity"), done.stdout


# In a namespace of its own the loopback device is down; `ip` may not be installed. SIOCSIFFLAGS, IFF_UP.
LOOPBACK_UP = (
    "import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, "
    'struct.pack("16sh14x", b"lo", 1))'
)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings and a cache of its own; the doctor is not called."""
    for name, value in homes(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    monkeypatch.setattr(__main__, "_doctor", lambda _: 7)
    return files.user_file()


def test_its_model_is_the_one_that_answers(copy: Path, config: Path) -> None:
    """It is copied into our own folder, whole, and the settings name it."""
    assert main(["setup", "--from", str(copy)]) == 7
    model = files.cache_folder() / "models/mine.gguf"
    assert model.read_bytes() == BUNDLED.read_bytes()
    assert config.read_text() == f'[backend]\nmodel = "{model}"\n'


@pytest.mark.parametrize(
    ("spoiled", "says"),
    [
        ("changed", "was changed after it was packed"),
        ("missing", "is missing"),
        ("added", "was not packed with the rest"),
        ("unsummed", "has no SHA256SUMS"),
    ],
)
def test_a_bundle_that_is_not_whole_is_refused(
    copy: Path, config: Path, capsys: pytest.CaptureFixture[str], spoiled: str, says: str
) -> None:
    """A file with another sum, one less, one more, or no sums: nothing is copied and no setting written."""
    [wheel] = (copy / "wheels").glob("pygls-*.whl")
    if spoiled == "changed":
        data = bytearray(wheel.read_bytes())
        data[100] ^= 1
        wheel.write_bytes(data)
    elif spoiled == "missing":
        wheel.unlink()
    elif spoiled == "added":
        shutil.copy(wheel, copy / "wheels/pygls-9.9-py3-none-any.whl")
    else:
        (copy / bundle.SUMS).unlink()
    assert main(["setup", "--from", str(copy)]) == 1
    assert says in capsys.readouterr().out
    assert not config.exists()
    assert not (files.cache_folder() / "models").exists()


def test_what_was_changed_after_its_installation_is_not_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums of RECORD decide: a package that was patched, or half deleted, is to be installed again."""
    info = tmp_path / "some-1.0.dist-info"
    info.mkdir()
    (tmp_path / "some.py").write_text("x = 2\n")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1.0\n")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nTag: py3-none-any\n")
    digest = wheels._sum(b"x = 1\n")
    (info / "RECORD").write_text(
        f"some.py,{digest},6\nsome-1.0.dist-info/METADATA,,\nsome-1.0.dist-info/WHEEL,,\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    [package] = wheels.find_needed("some")
    with pytest.raises(wheels.CannotPack, match="not as it was installed"):
        wheels.pack_wheel(package, tmp_path)
    (tmp_path / "some.py").write_text("x = 1\n")
    assert wheels.pack_wheel(package, tmp_path).name == "some-1.0-py3-none-any.whl"


def test_a_folder_with_files_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing in it is overwritten, and nothing of it is packed."""
    (tmp_path / "letter.txt").write_text("dear")
    assert main(["bundle", str(tmp_path), "--no-model"]) == 1
    assert "is not empty" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_the_readme_names_this_version(packed: Path) -> None:
    """And the Python that it is for."""
    text = (packed / bundle.README).read_text()
    assert text.startswith(f"fim-lsp {__version__} for ")
    assert f"python{sys.version_info[0]}.{sys.version_info[1]} -m venv" in text
