"""`fim-lsp models`: what is on this machine, how fast, what answers."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fim_lsp import models_command
from fim_lsp.__main__ import main
from fim_lsp.cli import models
from fim_lsp.cli.terminal import Screen
from fim_lsp.settings import files
from server_bridge import bridge
from server_bridge.process import command_line, programs
from server_bridge.protocol import Health, State
from server_bridge.weights import choice, model_files
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
    monkeypatch.setattr(model_files, "MODELS", (SMALL, LARGE))
    monkeypatch.chdir(tmp_path)


def configure(settings: str) -> None:
    files.user_file().parent.mkdir(parents=True, exist_ok=True)
    files.user_file().write_text(settings)


@pytest.fixture
def listed(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    def run() -> str:
        assert main(["models"]) == 0
        return capsys.readouterr().out

    return run


def row(out: str, name: str) -> str:
    return next(line for line in out.splitlines() if line[2:].startswith(name))


def downloaded() -> Path:
    """Return the small model where `fim-lsp setup` puts it."""
    path = models_command.folder() / SMALL.file
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)
    return path


def test_what_is_here_and_what_answers(listed: Callable[[], str]) -> None:
    """The one that the settings name has the arrow; beside a server that they name, none has."""
    path = downloaded()
    configure(f'[backend]\nkind = "embedded"\nmodel = "{path}"\n')
    out = listed()
    assert out.count("→") == 1
    assert row(out, SMALL.name).startswith("→")
    assert row(out, SMALL.name).endswith(str(path))
    assert f"suggestions from {path.name}, run by the embedded engine" in out
    configure('[backend]\nurl = "http://10.0.0.7:8012"\n')
    out = listed()
    assert "suggestions from a server, http://10.0.0.7:8012" in out
    assert "→" not in out


def test_a_download_that_was_interrupted_says_how_to_go_on(listed: Callable[[], str]) -> None:
    """With what is missing; one that never began left an empty file, which is no model."""
    part = models_command.folder() / f"{LARGE.file}.part"
    part.parent.mkdir(parents=True)
    part.touch()
    assert LARGE.name not in listed()
    part.write_bytes(b"x" * 100_000_000)
    wanted = "1.6   incomplete, 1.5 GB are missing: fim-lsp setup --get qwen-1.5b"
    assert wanted in row(listed(), LARGE.name)


def test_a_file_of_ones_own_has_the_time_that_its_size_makes(
    listed: Callable[[], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes are read for each token; how many weights it has, its size does not say."""
    monkeypatch.setattr(programs, "usable_cores", lambda: 4)
    path = tmp_path / "mine.gguf"
    path.write_bytes(DATA)
    os.truncate(path, 400_000_000)
    configure(f'[backend]\nkind = "embedded"\nmodel = "{path}"\n')
    assert row(listed(), path.name).split()[2:] == ["0.4", "10", "-", str(path)]


@pytest.mark.parametrize("named", [True, False])
def test_beside_a_running_server(listed: Callable[[], str], tmp_path, monkeypatch, *, named: bool):
    """The file of the settings has the arrow; where a real model answers, none is advised."""
    path = tmp_path / "mine.gguf"
    path.write_bytes(DATA)
    configure(f'[backend]\nmodel = "{path}"\n' if named else "")
    state = State(Health.READY, "llama-server", "http://127.0.0.1:8012", path.name)

    async def find_running(_: bridge.BackendSettings) -> State:
        return state

    monkeypatch.setattr(bridge, "find_running", find_running)
    out = listed()
    assert (f"→ {path.name}" in out) is named
    assert f"the llama.cpp server at {state.url}, with {path.name}" in out
    assert "setup" not in out


def test_the_bundled_model_says_how_to_get_a_real_one(listed: Callable[[], str]) -> None:
    """In the sentence that names it as the one that answers."""
    configure('[backend]\nkind = "embedded"\n')
    said = "the bundled model, a toy; fim-lsp setup gets a real one."
    assert said in " ".join(listed().split())


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
