"""`fim-lsp models`: what is on this machine, how fast, what answers; and one less."""

from __future__ import annotations

import hashlib
import sys
from functools import partial
from pathlib import Path

import pytest

from fim_lsp import model_files
from fim_lsp.__main__ import main
from fim_lsp.settings import files
from server_bridge.machine import addresses
from server_bridge.weights import on_disk, speeds
from server_bridge.weights.speeds import Speed
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
    path = model_files.folder() / SMALL.file
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)
    user_file = files.user_file()
    user_file.parent.mkdir(parents=True, exist_ok=True)
    user_file.write_text(f'[backend]\nkind = "embedded"\nmodel = "{path}"\n' if is_named else "")
    return path


def answer_no(questions: list[str], question: str) -> str:
    questions.append(question)
    return "n"


def row(capsys: pytest.CaptureFixture[str], name: str) -> str:
    """Return the row of the model called *name*."""
    return next(line for line in capsys.readouterr().out.splitlines() if line[2:].startswith(name))


def test_what_is_here_and_what_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """The one that the settings name has the arrow; a speed that nothing measured is a computed one."""
    path = downloaded()
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    [shown] = [line for line in out.splitlines() if line.startswith("→")]
    assert shown.split()[1] == SMALL.name
    assert "computed" in shown
    assert shown.endswith(str(path))
    assert f"suggestions from {path.name}, run by the engine inside" in out


def test_what_was_measured_is_shown_from_then_on(capsys: pytest.CaptureFixture[str]) -> None:
    """Measured on the real engine, once; the table has it afterwards."""
    downloaded(is_named=False)
    assert main(["models", "measure", SMALL.name]) == 0
    assert "measured" in row(capsys, SMALL.name)
    speeds.keep(model_files.folder(), SMALL.file, Speed(256.0, 77.0))
    assert main(["models"]) == 0
    shown = row(capsys, SMALL.name).split()
    assert shown[2:6] == ["77", "6", "s", "measured"]


def test_the_doctor_keeps_what_it_measures(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Of a file that the settings name, wherever it is: `fim-lsp setup` ends with the doctor."""
    path = tmp_path / "mine.gguf"
    path.write_bytes(DATA)
    user_file = files.user_file()
    user_file.parent.mkdir(parents=True, exist_ok=True)
    user_file.write_text(f'[backend]\nkind = "embedded"\nmodel = "{path}"\n')
    assert main(["doctor", "--json"]) == 0
    capsys.readouterr()
    assert main(["models"]) == 0
    assert " measured " in capsys.readouterr().out.splitlines()[1]


def test_a_download_that_was_interrupted_says_how_to_go_on(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With what is missing."""
    part = model_files.folder() / f"{LARGE.file}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(b"x" * 100_000_000)
    assert main(["models"]) == 0
    shown = row(capsys, LARGE.name)
    assert "1.5 GB are missing: fim-lsp setup --get qwen-1.5b" in shown


def test_a_model_in_use_is_removed_with_its_setting(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user is asked, and told what answers then; other settings stay."""
    path = downloaded()
    questions: list[str] = []
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", partial(answer_no, questions))
    assert main(["models", "remove", SMALL.name]) == 1
    assert path.exists()
    assert "bundled model" in questions[0].replace("\n", " ")

    monkeypatch.setattr("builtins.input", lambda _: "y")
    assert main(["models", "remove", SMALL.name]) == 0
    assert not path.exists()
    assert files.user_file().read_text() == '[backend]\nkind = "embedded"\n'
    assert main(["models"]) == 0
    assert "the bundled model, a toy." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["remove"], 2, "name a model"),
        (["remove", SMALL.name], 2, "allow it with --yes"),
        (["remove", "qwen-99b", "--yes"], 1, f"there are: {SMALL.name}"),
        (["measure", "qwen-99b"], 1, "no model 'qwen-99b'"),
    ],
)
def test_what_cannot_be_done_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], code: int, says: str,
) -> None:  # fmt: skip
    """Nothing is deleted without a word."""
    path = downloaded()
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert main(["models", *arguments]) == code
    assert says in capsys.readouterr().out
    assert path.exists()


def test_a_file_of_another_program_stays(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It may be in use there."""
    theirs = tmp_path / "home" / f"{SMALL.repo.replace('/', '_')}_{SMALL.file}"  # LLAMA_CACHE
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(DATA)
    assert main(["models", "remove", SMALL.name, "--yes"]) == 1
    assert "delete it yourself" in capsys.readouterr().out
    assert theirs.exists()


def test_a_server_that_is_named_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """And none of the files has the arrow."""
    downloaded(is_named=False)
    files.user_file().write_text('[backend]\nurl = "http://10.0.0.7:8012"\n')
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert "suggestions from a server, http://10.0.0.7:8012" in out
    assert "→" not in out


def test_the_usual_ports_are_those_of_llama_cpp_old_and_new() -> None:
    """A server at llama.cpp's announced default is found, too."""
    assert {8080, 9931} <= {*addresses.USUAL_PORTS}
