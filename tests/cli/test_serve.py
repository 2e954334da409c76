"""`fim-lsp serve` from a terminal: started, used by an editor, ended with Ctrl-C."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fim_lsp import __main__, models_command
from fim_lsp.__main__ import main
from fim_lsp.cli import models, options
from fim_lsp.cli.terminal import ERASE_LINE, Screen
from fim_lsp.settings import files
from fim_lsp.settings.files import user_file
from server_bridge.process import command_line, programs
from server_bridge.weights import choice, model_files
from server_bridge.weights.table import MODELS
from tests.llama_server import PROGRAM, free_port
from tests.models import BUNDLED
from tests.server_bridge.weights.hub import Hub, model, serving

ROOT = Path(__file__).resolve().parents[2]


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """Return the next line that has *words*; fails when the output ends before."""
    assert process.stdout is not None
    found = next((line for line in process.stdout if words in line), "")
    assert found, f"no line with {words!r}"
    return found


def homes(folder: Path) -> dict[str, str]:
    """Variables without which the user's own settings, keys and models would be found."""
    names = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "LLAMA_CACHE", "HF_HUB_CACHE")
    return dict.fromkeys(names, str(folder))


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No llama-server, no settings and no model of the user's."""
    for name, value in {**homes(tmp_path), "PATH": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no execve")
def test_it_becomes_the_server(tmp_path: Path) -> None:
    """With the best options, an own key in a file, and no key in its environment."""
    program = tmp_path / "llama-server"
    url = f"http://127.0.0.1:{free_port()}"
    options = "\n".join(f"{option} VALUE  text" for option in programs.NEEDED)
    program.write_text(
        f'#!/bin/sh\n[ "$1" = --help ] && echo "{options}" && exit\n'
        'echo "pid $$ in $PWD, ${LLAMA_API_KEY:-no key}, ${GOMP_SPINCOUNT}: $*"\n'
    )
    program.chmod(0o755)
    environ = {**os.environ, **homes(tmp_path), "PYTHONPATH": str(ROOT), "LLAMA_API_KEY": "secret"}
    command = [sys.executable, "-m", "fim_lsp", "serve", "--port", url.rpartition(":")[2]]
    with subprocess.Popen(
        [*command, "--program", program],
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
        cwd=tmp_path,
    ) as process:
        assert line_with(process, "config.toml").split('"')[1] == url
        line_with(process, "GB at most, with the model's file")
        line_with(process, "Ctrl-C ends it")
        said = line_with(process, f"pid {process.pid} in {Path.home()}, no key, 1000: ")
    key_file = tmp_path / f"fim-lsp/serve-{url.rpartition(':')[2]}.key"
    assert f"--api-key-file {key_file}" in said
    assert key_file.read_text() == "secret\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--program", "/nowhere/llama-server"], "there is no program /nowhere/llama-server"),
        (["--program", sys.executable], "does not read like llama-server's"),
        (["--dry-run"], "your editors share an engine without it"),
        ([], "llama-server is not installed"),
    ],
)
@pytest.mark.usefixtures("alone")
def test_a_server_that_cannot_start_is_one_sentence(arguments: list[str], says: str, capsys):
    """Nothing is started where the wanted model or program is missing."""
    assert main(["serve", *arguments]) == 1
    assert says in capsys.readouterr().out


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Return a hub on this machine, and a table whose smallest model is the bundled one."""
    published = model(BUNDLED.read_bytes())._replace(name="qwen-0.5b")
    for module in (choice, model_files):
        monkeypatch.setattr(module, "MODELS", (published, *MODELS[1:]))
    with serving(Hub(BUNDLED.read_bytes())) as hub:
        yield hub


@pytest.mark.promise("by-hash")
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize(
    ("flags", "answers", "is_got"),
    [
        (["--get", "qwen-0.5b", "--yes"], None, True),
        (["--get", "qwen-0.5b"], None, False),  # no terminal, no yes
        (["--get", "qwen-0.5b"], ["y"], True),
        (["--get", "qwen-0.5b"], [""], False),
        ([], ["1", "what", "qwen-0.5b"], True),
        ([], ["", "n"], False),
        ([], ["", "NO"], False),
    ],
)
def test_setup_gets_a_model_in_one_step(
    hub: Hub, flags: list[str], answers: list[str] | None, *, is_got: bool, monkeypatch, tmp_path
) -> None:
    """Downloaded after a clear yes only, checked, and named in the settings; then the doctor looks."""
    left = iter(answers or ())
    monkeypatch.setattr(sys.stdin, "isatty", lambda: answers is not None, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: next(left))
    monkeypatch.setattr(__main__, "_doctor", lambda _: 7)
    assert main(["setup", *flags, "--mirror", hub.url]) == (7 if is_got else 1)
    assert next(left, None) is None
    path = tmp_path / "fim-lsp/models/small.gguf"
    assert path.exists() == is_got
    assert bool(hub.paths) == is_got
    assert user_file().exists() == is_got
    if is_got:
        assert f'model = "{path}"' in user_file().read_text()


@pytest.mark.usefixtures("alone", "hub")
@pytest.mark.parametrize(
    ("name", "value"), [("ALL_PROXY", "socks5://127.0.0.1:1"), ("SSL_CERT_FILE", "/nowhere/ca.pem")]
)
def test_setup_names_the_variable_that_is_wrong(name: str, value: str, monkeypatch, capsys) -> None:
    """In one sentence, and neither the folder nor the network is blamed."""
    monkeypatch.delenv("HTTPS_PROXY", raising=False)
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.setenv(name, value)
    mirror = "https://mirror.example.test"
    assert main(["setup", "--get", "qwen-0.5b", "--yes", "--mirror", mirror]) == 1
    said = [line for line in capsys.readouterr().out.splitlines() if name in line]
    assert len(said) == 1
    assert "written" not in said[0]
    assert not user_file().exists()


def _served_model() -> str:
    given = options.parser().parse_args(["serve"])
    config, _ = files.read(())
    return models_command._model(given, config, programs.machine(None)) or str(BUNDLED)


@pytest.mark.usefixtures("alone")
def test_what_is_here_is_served_without_a_question(hub: Hub, monkeypatch, capsys) -> None:
    """What was downloaded last, unless the settings name another; nothing is asked or downloaded."""
    monkeypatch.setattr(__main__, "_doctor", lambda _: 0)
    assert _served_model() == str(BUNDLED)
    assert main(["setup", "--get", "qwen-0.5b", "--yes", "--mirror", hub.url]) == 0
    # Before the first byte: a host that does not answer takes half a minute.
    assert capsys.readouterr().out.startswith(f"Connecting to {hub.url}; without an answer")
    user_file().unlink()
    assert _served_model().endswith("models/small.gguf")
    assert len(hub.asked) == 1


@pytest.mark.usefixtures("alone", "hub")
def test_get_without_a_name_shows_the_table(monkeypatch, capsys) -> None:
    """With what its columns mean; no takes nothing."""
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert main(["setup", "--get"]) == 1
    out = capsys.readouterr().out
    assert "qwen-1.5b" in out
    assert all(head in out for head in ("first look", "across", "ms a token:", "as published"))


def test_progress_is_a_bar_or_ten_lines(capsys, monkeypatch) -> None:
    """In place on a terminal, never wider than it; a line for every tenth in a log."""
    monkeypatch.setattr(models, "EVERY_S", -1.0)
    for live in (True, False):
        show = models.progress(Screen(sys.stdout, 40, colour=False, live=live), "qwen-7b")
        for n in range(0, 8_000_000_001, 40_000_000):
            show(n, 8_000_000_000)
        out = capsys.readouterr().out
        pieces = out.split(ERASE_LINE)[1:] if live else out.splitlines()
        assert len(pieces) == (201 if live else 10)
        assert all(len(piece) < 40 for piece in pieces)
        assert "qwen-7b 8,000 of" in pieces[-1] or live


@pytest.mark.server
@pytest.mark.skipif(not PROGRAM, reason="needs llama-server: scripts/test-server")
def test_a_dry_run_prints_the_command_line(capsys, monkeypatch, tmp_path) -> None:
    """For a shell or a container; nothing is written for it, and it says what is missing."""
    for name, value in homes(tmp_path).items():
        monkeypatch.setenv(name, value)
    assert main(["serve", "--dry-run", "--program", PROGRAM]) == 0
    printed, missing = capsys.readouterr()
    key_file = f"{tmp_path}/fim-lsp/serve-8012.key"
    assert f" --api-key-file {key_file} " in printed
    assert key_file in missing
    assert [*tmp_path.rglob("*.key")] == []
    assert printed.startswith(
        f"{PROGRAM} --model {BUNDLED} --offline --host 127.0.0.1 --port 8012 "
    )
    assert "--no-kv-unified" in printed


@pytest.mark.parametrize(("gpu", "warns"), [(0, True), (8 << 30, False)])
def test_a_draft_model_on_a_processor_is_warned_of(gpu: int, *, warns: bool, monkeypatch, capsys):
    """There it costs more than it saves; with a GPU nothing is said."""
    machine = command_line.Machine(8 << 30, 4, gpu)
    build = command_line.Build(frozenset(programs.NEEDED), frozenset())
    monkeypatch.setattr(programs, "machine", lambda _: machine)
    monkeypatch.setattr(programs, "build", lambda _: build)
    named = ("--program", sys.executable, "--model", str(BUNDLED), "--draft", str(BUNDLED))
    models_command._choose_server(options.parser().parse_args(["serve", *named]))
    assert ("Leave --draft out" in capsys.readouterr().out.replace("\n", " ")) == warns
