"""`fim-lsp models`: what is on this machine, how fast, what answers."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from fim_lsp import models_command
from fim_lsp.__main__ import main
from fim_lsp.cli import models
from fim_lsp.cli.terminal import Screen
from fim_lsp.settings import files
from server_bridge import bridge
from server_bridge.machine import addresses
from server_bridge.process import command_line, programs
from server_bridge.protocol import Health, State
from server_bridge.weights import choice, on_disk
from server_bridge.weights.table import MODELS
from tests.cli.test_serve import homes
from tests.models import BUNDLED

DATA = BUNDLED.read_bytes()
SMALL = MODELS[0]._replace(n_bytes=len(DATA), sha256=hashlib.sha256(DATA).hexdigest())
LARGE = MODELS[1]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the user's; the smallest model of the table is the bundled one under another name."""
    for name, value in homes(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(on_disk, "MODELS", (SMALL, LARGE))
    monkeypatch.chdir(tmp_path)


def downloaded(*, is_named: bool = True) -> Path:
    """Return the small model where `fim-lsp setup` puts it; the settings may name it."""
    path = models_command.folder() / SMALL.file
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)
    user_file = files.user_file()
    user_file.parent.mkdir(parents=True, exist_ok=True)
    user_file.write_text(f'[backend]\nkind = "embedded"\nmodel = "{path}"\n' if is_named else "")
    return path


def row(capsys: pytest.CaptureFixture[str], name: str) -> str:
    """Return the row of the model called *name*."""
    return next(line for line in capsys.readouterr().out.splitlines() if line[2:].startswith(name))


def test_what_is_here_and_what_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """The one that the settings name has the arrow."""
    path = downloaded()
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    [shown] = [line for line in out.splitlines() if line.startswith("→")]
    assert shown.split()[1] == SMALL.name
    assert shown.endswith(str(path))
    assert f"suggestions from {path.name}, run by the embedded engine" in out


def test_a_download_that_was_interrupted_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With what is missing."""
    part = models_command.folder() / f"{LARGE.file}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 100_000_000)
    assert main(["models"]) == 0
    shown = row(capsys, LARGE.name)
    assert "1.6   incomplete, 1.5 GB are missing: fim-lsp setup --get qwen-1.5b" in shown


def test_a_download_that_never_began_is_not_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """The hub could not be reached: the empty file that waits for it is no model."""
    part = models_command.folder() / f"{LARGE.file}.part"
    part.parent.mkdir(parents=True)
    part.touch()
    assert main(["models"]) == 0
    assert LARGE.name not in capsys.readouterr().out


def test_a_file_of_ones_own_has_the_time_that_its_size_makes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes are read for each token; how many weights it has, its size does not say."""
    monkeypatch.setattr(programs, "usable_cores", lambda: 4)
    path = tmp_path / "mine.gguf"
    path.write_bytes(DATA)
    os.truncate(path, 400_000_000)
    files.user_file().parent.mkdir(parents=True, exist_ok=True)
    files.user_file().write_text(f'[backend]\nkind = "embedded"\nmodel = "{path}"\n')
    assert main(["models"]) == 0
    assert row(capsys, path.name).split()[2:] == ["0.4", "10", "-", str(path)]


def test_a_server_that_is_named_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """And none of the files has the arrow."""
    downloaded(is_named=False)
    files.user_file().write_text('[backend]\nurl = "http://10.0.0.7:8012"\n')
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert "suggestions from a server, http://10.0.0.7:8012" in out
    assert "→" not in out


@pytest.mark.parametrize(("named", "listed"), [(True, True), (False, False)])
def test_beside_a_running_server(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    named: bool,
    listed: bool,
) -> None:
    """The file of the settings has the arrow; where a real model answers, none is advised."""
    path = tmp_path / "mine.gguf"
    path.write_bytes(DATA)
    files.user_file().parent.mkdir(parents=True, exist_ok=True)
    files.user_file().write_text(f'[backend]\nmodel = "{path}"\n' if named else "")
    state = State(Health.READY, "llama-server", "http://127.0.0.1:8012", path.name)

    async def find_running(_: bridge.BackendSettings) -> State:
        return state

    monkeypatch.setattr(bridge, "find_running", find_running)
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert (f"→ {path.name}" in out) is listed
    assert f"the llama.cpp server at {state.url}, with {path.name}" in out
    assert "setup" not in out


def test_the_bundled_model_says_how_to_get_a_real_one(capsys: pytest.CaptureFixture[str]) -> None:
    """In the sentence that names it as the one that answers."""
    files.user_file().parent.mkdir(parents=True, exist_ok=True)
    files.user_file().write_text('[backend]\nkind = "embedded"\n')
    assert main(["models"]) == 0
    assert "the bundled model, a toy; fim-lsp setup gets a real one." in " ".join(
        capsys.readouterr().out.split()
    )


def test_the_usual_ports_are_those_of_llama_cpp_old_and_new() -> None:
    """A server at llama.cpp's announced default is found, too."""
    assert {8080, 9931} <= {*addresses.USUAL_PORTS}


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_table_of_models_fits_the_screen(width: int) -> None:
    """In three lines a model where the table is too wide."""
    found = choice.offers(programs.machine(None), {})
    lines = models.list_offers(found, width)
    assert max(map(len, lines)) <= width
    assert all(any(offer.model.name in line for line in lines) for offer in found)


def test_an_answer_that_is_no_model_is_told_what_is_one() -> None:
    """The question is repeated with the names that may be typed."""
    offers = choice.offers(command_line.Machine(16 << 30, 4), {})
    asked, answers = list[str](), iter(["1", ""])

    def ask(question: str) -> str:
        asked.append(question)
        return next(answers)

    screen = Screen(sys.stdout, 80, colour=False, live=False)
    assert models.choose_offer(screen, offers, offers[0], ask) is offers[0]
    assert asked[1].startswith(f"1 is none of {offers[0].model.name}, ")
