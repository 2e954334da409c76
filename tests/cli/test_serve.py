"""`fim-lsp serve` from a terminal: started, used by an editor, ended with Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from fim_lsp.__main__ import main
from fim_lsp.cli import serve
from fim_lsp.cli.options import QWEN_SIZES
from server_bridge.process.command_line import PRESETS
from tests.llama_server import PROGRAM, free_port

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "fim_lsp" / "cli" / "sample" / "larder" / "store.py"
OUTSIDE = pytest.param(PROGRAM, marks=pytest.mark.server, id="llama-server")


def fim_lsp(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fim_lsp", *arguments]


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """The next line that has *words*; fails when the output ends before."""
    assert process.stdout is not None
    found = next((line for line in process.stdout if words in line), "")
    assert found, f"no line with {words!r}"
    return found


def obey_ctrl_c() -> None:
    """Where tests run in the background, Ctrl-C is ignored, and all they start inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")
@pytest.mark.parametrize("program", ["", *([OUTSIDE] if PROGRAM else [])])
def test_it_serves_restarts_and_ends(program: str, tmp_path: Path) -> None:
    """It answers a completion; killed, it starts again; after Ctrl-C no process is left."""
    url = f"http://127.0.0.1:{free_port()}"
    named = ["--program", program] if program else []
    # Without one on the PATH the engine of the package serves.
    environ = {**os.environ, "PATH": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = fim_lsp("serve", "--port", url.rpartition(":")[2], *named)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
        cwd=tmp_path,
        preexec_fn=obey_ctrl_c,  # noqa: PLW1509 (no threads here)
    ) as process:
        try:
            assert url in line_with(process, "is ready")
            assert line_with(process, "config.toml").split('"')[1] == url
            line_with(process, "Ctrl-C ends it")
            (server,) = psutil.Process(process.pid).children()
            server.kill()
            line_with(process, "ended by SIGKILL; it is started again")
            line_with(process, "is ready")
            done = subprocess.run(
                fim_lsp("complete", f"{STORE}:30", "--url", url, "--json"),
                capture_output=True, text=True, env=environ, cwd=tmp_path, check=False,
            )  # fmt: skip
            assert f'"url": "{url}"' in done.stdout, done.stdout + done.stderr
            (server,) = psutil.Process(process.pid).children()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
            assert not server.is_running()
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--program", "/nowhere/llama-server"], "there is no program /nowhere/llama-server"),
        (["--program", sys.executable], "does not read like llama-server's"),
        (["--qwen", "--yes"], "llama-server is not installed"),
        (["--draft", "small.gguf"], "llama-server is not installed"),
    ],
)
def test_a_server_that_cannot_start_is_one_sentence(
    arguments: list[str], says: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path,
) -> None:  # fmt: skip
    """Nothing is started where the wanted model or program is missing."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["serve", *arguments]) == 1
    assert says in capsys.readouterr().out


@pytest.mark.parametrize(
    ("agreed", "terminal", "answer", "may"),
    [
        (True, False, "", True),
        (False, False, "", False),
        (False, True, "y", True),
        (False, True, "Yes ", True),
        (False, True, "", False),
        (False, True, "what?", False),
    ],
)
def test_nothing_is_downloaded_without_a_yes(
    *, agreed: bool, terminal: bool, answer: str, may: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a clear yes is one, and without a terminal only --yes."""
    monkeypatch.setattr(sys.stdin, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: answer)
    assert serve.may_download("7b", 8_100_000_000, agreed=agreed) == may


def test_the_sizes_of_the_command_line_are_those_of_the_bridge() -> None:
    """The command line cannot import them: it has to be quick."""
    assert {preset.name for preset in PRESETS} == set(QWEN_SIZES)


@pytest.mark.server
@pytest.mark.skipif(not PROGRAM, reason="needs llama-server: scripts/test-server")
def test_a_dry_run_prints_the_command_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For a shell or a service; nothing is downloaded or written for it, and it says what is missing."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main(["serve", "--dry-run", "--program", PROGRAM, "--qwen", "1.5b"]) == 0
    printed, missing = capsys.readouterr()
    key_file = f"{tmp_path}/fim-lsp/serve-8012.key"
    assert f" --api-key-file {key_file} " in printed
    assert key_file in missing
    assert [*tmp_path.rglob("*.key")] == []
    assert printed.startswith(f"{PROGRAM} --fim-qwen-1.5b-default --host 127.0.0.1 --port 8012 ")
    assert "--no-kv-unified" in printed
