"""`fim-lsp models`: what is on this machine, how fast, what answers."""

from __future__ import annotations

import hashlib
import json
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
from server_bridge.process import command_line, programs, sizing
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


def test_what_is_here_and_what_answers(listed: Callable[[], str], capsys) -> None:
    """The one that the settings name has the arrow; beside a server that they name, none has."""
    path = downloaded()
    configure(f'[backend]\nkind = "embedded"\nmodel = "{path}"\n')
    out = listed()
    assert out.count("→") == 1
    assert row(out, SMALL.name).startswith("→")
    assert row(out, SMALL.name).endswith(str(path))
    assert f"suggestions from {path.name}, run by the embedded engine" in out
    main(["models", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["answers"] == f"{path.name}, run by the embedded engine"
    assert [(it["name"], it["path"], it["is_active"]) for it in told["models"]] == [
        (SMALL.name, str(path), True)
    ]
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
    """Its bytes are read for each token, and its header says what it keeps; not how many weights it has."""
    monkeypatch.setattr(programs, "usable_cores", lambda: 4)
    monkeypatch.setattr(sizing, "physical", lambda: 16 << 30)
    path = tmp_path / "mine.gguf"
    path.write_bytes(DATA)
    os.truncate(path, 400_000_000)
    configure(f'[backend]\nkind = "embedded"\nmodel = "{path}"\n')
    assert row(listed(), path.name).split()[2:] == ["0.4", "0.8", "10", "-", str(path)]


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


GB = 10**9
SMALL_MACHINE = command_line.Machine(25 * GB, 4)


def ask_from(answers: list[str], asked: list[str]) -> Callable[[str], str]:
    left = iter(answers)

    def ask(question: str) -> str:
        asked.append(question)
        return next(left)

    return ask


def test_the_table_and_the_question_fit_a_small_terminal(capsys) -> None:
    """80 by 12, as in VS Code, whichever models are here: the recommended one is in sight."""
    offers = choice.offers(SMALL_MACHINE, {})
    here = [offer._replace(path="/models/it.gguf") for offer in offers]
    for shown in (offers, here):
        asked: list[str] = []
        best = next(offer for offer in shown if offer.is_best)
        screen = Screen(sys.stdout, 80, colour=False, live=True)
        models.choose_offer(screen, shown, best, ask_from(["n"], asked))
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, [*lines, *asked])) <= 80
        assert len(lines) + len(asked) <= 12
        assert any(line.startswith("→") for line in lines)


def test_a_model_that_does_not_fit_is_marked_and_asked_about_again(
    capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what it needs and what there is, also where it was named with --get and --yes."""
    offers = choice.offers(SMALL_MACHINE, {})
    large = offers[-1]
    lack = "takes 37.4 GB of memory; this machine has 25.0"
    assert [offer.memory for offer in offers] == [0, 0, 0, 0, 25 * GB]
    assert f"qwen-30b  32.5   {lack}" in models.list_offers(offers, 80)[-1]
    screen = Screen(sys.stdout, 80, colour=False, live=False)
    asked = list[str]()
    for answer, chosen in (("y", large), ("", None)):
        ask = ask_from([large.model.name, answer], asked)
        assert models.choose_offer(screen, offers, offers[0], ask) is chosen
        assert asked[-1] == f"qwen-30b {lack}. Get it all the same? [y/N] "

    def refuse(question: str) -> str:
        asked.append(question)
        return "n"

    monkeypatch.setattr("builtins.input", refuse)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert not models.agrees(large, is_sure=True)
    assert lack in " ".join(asked[-1].split())
    assert models.agrees(offers[0], is_sure=True)  # without a question
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    capsys.readouterr()
    assert models.agrees(large, is_sure=True)  # for another machine, from a script
    assert lack in capsys.readouterr().out


@pytest.mark.parametrize(
    ("machine", "fits"),
    [
        (command_line.Machine(8 * GB, 4), 3),
        (command_line.Machine(16 * GB, 8, gpu=24 * GB), 4),
        (command_line.Machine(64 * GB, 8), 5),
        (command_line.Machine(36 * GB, 8, gpu=27 * GB, chip="Apple M4 Max"), 4),
    ],
)
def test_what_fits_is_told_by_memory(machine: command_line.Machine, fits: int) -> None:
    """That of the GPU counts, too, but on Apple's chips, where it is the same."""
    assert sum(not offer.memory for offer in choice.offers(machine, {})) == fits


def test_an_answer_that_is_no_model_is_told_what_is_one() -> None:
    """The question is repeated with the names that may be typed."""
    offers = choice.offers(command_line.Machine(16 << 30, 4), {})
    asked = list[str]()
    answers = iter(["1", ""])

    def ask(question: str) -> str:
        asked.append(question)
        return next(answers)

    screen = Screen(sys.stdout, 80, colour=False, live=False)
    assert models.choose_offer(screen, offers, offers[0], ask) is offers[0]
    assert asked[1].startswith(f"1 is none of {offers[0].model.name}, ")
