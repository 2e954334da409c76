"""The command line as users and scripts use it: a process, its output, its exit code."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fim_lsp import __version__
from fim_lsp.__main__ import main
from fim_lsp.cli import client, demo, doctor, options
from fim_lsp.cli.client import EditorError
from fim_lsp.cli.terminal import Screen
from tests.fault_proxy import fault_proxy
from tests.llama_server import free_port, llama_server
from tests.models import BUNDLED
from tests.server_bridge.waiting import until

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "fim_lsp" / "cli" / "sample" / "larder" / "store.py"
# No llama-server that happens to run on this machine may answer: only the embedded one does.
EMBEDDED = 'backend.kind = "embedded"\n'


def obey_ctrl_c() -> None:
    """Where tests run in the background, Ctrl-C is ignored, and all they start inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(folder: Path, *arguments: str, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of this checkout as a user does whose settings are in *folder*, also the current one."""
    configure(folder, EMBEDDED)
    home = {"XDG_CONFIG_HOME": str(folder), "HOME": str(folder), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "fim_lsp", *arguments], cwd=folder, env={**os.environ, **home},
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how), encoding="utf-8",
        timeout=120, check=False,
    )  # fmt: skip


def configure(folder: Path, settings: str) -> None:
    (folder / "fim-lsp").mkdir(exist_ok=True)
    (folder / "fim-lsp" / "config.toml").write_text(settings)


class Said(NamedTuple):
    """What a command ended with, and printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Said]:
    """Runs a command in this process, for a user with these settings."""

    def run(*arguments: str, settings: str = EMBEDDED) -> Said:
        configure(tmp_path, settings)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        monkeypatch.chdir(tmp_path)
        return Said(main(arguments), *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--version"], [f"fim-lsp {__version__}"]),
        (["--help"], ["--stdio", "demo", "doctor", "complete", "fim-lsp setup"]),
        (["--stdio", "--help"], ["--stdio", "demo", "fim-lsp setup"]),
        (["serve", "--help"], ["LLAMA_API_KEY", "--dry-run", "this machine only"]),
        (["complete", "--help"], ["count from 1", "Exit code", "--json"]),
    ],
)
def test_help_names_every_command(capsys, arguments: list[str], says: list[str]) -> None:
    """Every command is named with its purpose, and `complete` with its exit codes."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    printed = capsys.readouterr().out
    assert exit_.value.code == 0
    assert all(word in " ".join(printed.split()) for word in says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "usage:"),
        (["complete", "a.py"], "write FILE:LINE"),
        (["complete", "none.py:1"], "none.py cannot be read: No such file"),
        (["complete", ".:1"], ". cannot be read: "),
        (["complete", "empty.py:1"], "is empty, so there is no context"),
        (["complete", "text.py:1", "--open", "none.py"], "none.py cannot be read: No such file"),
        (["doctor", "--root", "none"], "there is no folder none"),
        (["http", "--root", "text.py"], "there is no folder text.py"),
        (["http", "--token-file", "text.py"], "is open to other users: chmod 600 text.py"),
        (["http", "--token-file", "empty.key"], "is empty: write a secret into it"),
        (["http", "--token-file", "."], "cannot be read"),
    ],
)
def test_a_wrong_command_line_is_one_sentence(
    tmp_path, monkeypatch, capsys, arguments: list[str], says: str
) -> None:
    """No traceback, exit code 2, and the fix is named."""
    (tmp_path / "empty.py").write_text("\n")
    (tmp_path / "text.py").write_text("x = 1\n")
    (tmp_path / "empty.key").touch(0o600)
    monkeypatch.chdir(tmp_path)
    code: object
    try:
        code = main(arguments)
    except SystemExit as exit_:
        code = exit_.code
    printed = capsys.readouterr()
    assert code == 2
    assert says in printed.out + printed.err


def test_the_commands_are_listed_once(capsys: pytest.CaptureFixture[str]) -> None:
    """Without arguments, as with --help."""
    assert main([]) == 2
    printed = capsys.readouterr().out
    for name in options.load_texts()["commands"]:
        assert len(re.findall(rf"^ +{name} ", printed, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    ("arguments", "usage", "says"),
    [
        (["setup", "--modl", "x"], "fim-lsp setup", "--modl x (did you mean --model?)"),
        (["serve", "--prot=1"], "fim-lsp serve", "--prot=1 (did you mean --port?)"),
        (["setp"], "fim-lsp", "there is no command 'setp' (did you mean setup?)"),
        (["forget", "--xyzzy"], "fim-lsp forget", "unrecognized arguments: --xyzzy\n"),
        (["demo", "--stdio"], "fim-lsp demo", "unrecognized arguments: --stdio\n"),
    ],
)
def test_a_slip_is_answered_with_what_may_be_meant(
    capsys: pytest.CaptureFixture[str], arguments: list[str], usage: str, says: str
) -> None:
    """By the command that it was given to."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    printed = capsys.readouterr().err
    assert printed.startswith(f"usage: {usage} [-h]")
    assert says in printed


async def test_ctrl_c_is_answered_with_no_traceback(tmp_path: Path) -> None:
    """While a request waits for the model; the server that it was sent to is interrupted, too."""
    with llama_server(BUNDLED) as url:
        async with fault_proxy(url) as proxy:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "fim_lsp", "complete", f"{STORE}:15", "--url", proxy.url),
                cwd=tmp_path,
                env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                preexec_fn=obey_ctrl_c,
            )  # fmt: skip
            await until(lambda: any(b"POST /completion" in heard for heard in proxy.heard))
            proxy.fault = "hang"
            await asyncio.sleep(1)
            os.killpg(process.pid, signal.SIGINT)
            printed = await process.communicate()
    assert (printed, process.returncode) == ((b"", b""), 130)


@pytest.mark.parametrize("is_toy", [True, False])
def test_the_demo_calls_a_toy_what_is_one(*, is_toy: bool) -> None:
    """At its end, where the model that answered is the bundled one."""
    stream = io.StringIO()
    screen = Screen(stream, 100, colour=False, live=False)
    demo.summarize(screen, [demo.KeyCost(1, 1, 1, 1.0)], [], is_toy=is_toy)
    assert ("is a toy" in stream.getvalue()) == is_toy


def test_complete_prints_the_suggestion_and_nothing_else(tmp_path: Path) -> None:
    """Outside any repository the file's folder is the workspace; stdout is the text to insert."""
    shop = tmp_path / "shop.py"
    text = STORE.read_text("utf-8").replace(
        "self.owner = owner\n", "self.owner = owner\n        self.ca\n"
    )
    shop.write_text(text)
    line = text[: text.index("self.ca\n")].count("\n") + 1
    done = started(tmp_path, "complete", f"shop.py:{line}")
    assert (done.stdout, done.returncode) == ("pacity = capacity\n", 0)
    assert done.stderr == ""


def test_a_suggestion_has_a_source_and_a_toy_is_called_one(run: Callable[..., Said], tmp_path):
    """With --why: the model that made it, and where it runs."""
    text = STORE.read_text("utf-8")
    line = text[: text.index("self.owner = owner\n")].count("\n") + 1
    (tmp_path / "shop.py").write_text(text.replace("self.owner = owner\n", "self.owner = \n"))
    code, out, _ = run("complete", f"shop.py:{line}", "--why")
    assert re.search(
        r"^  by hand .* by fim-tiny-q8_0.gguf \(inside this package\)", out, re.MULTILINE
    )
    assert re.search(r"^  the model .*fim-lsp setup", out, re.MULTILINE)
    assert code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_disk_that_is_full_causes_no_traceback(tmp_path: Path) -> None:
    """One sentence, and an exit code that says that nothing could be written."""
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = started(tmp_path, "models", stdout=full)
    assert done.returncode == 74
    assert done.stderr == "fim-lsp: nothing more can be written: No space left on device\n"


def test_complete_for_scripts(run: Callable[..., Said]) -> None:
    """With --json a script reads positions, texts, costs, and with --why the reasons."""
    done = run("complete", f"{STORE}:15:20", "--why", "--json")
    found = json.loads(done.out)
    assert (found["line"], found["column"]) == (15, 20)
    assert found["backend"]["state"] == "ready"
    assert found["tokens"]["evaluated"] > 0
    assert done.code == (0 if found["items"] else 1)
    assert found["why"].keys() >= {"while typing", "by hand"}
    assert "fim-lsp setup" in found["why"]["the model"]


async def test_a_server_whose_client_fails_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told to end, and does; it need not be killed."""
    monkeypatch.setattr(client, "EXIT_SECONDS", 60.0)
    kill = Process.kill
    killed = list[int]()

    def noting(process: Process) -> None:
        killed.append(process.pid)
        kill(process)

    monkeypatch.setattr(Process, "kill", noting)
    with pytest.raises(EditorError, match="on purpose"):
        async with client.editor(ROOT, {"backend": {"kind": "embedded"}}):
            raise EditorError("on purpose")
    assert not killed


def test_complete_says_when_the_named_server_is_not_there(run: Callable[..., Said]) -> None:
    """A server named on the command line is not replaced by another one."""
    done = run("complete", f"{STORE}:15", "--url", "http://127.0.0.1:9")
    assert (done.code, done.out) == (2, "")
    assert "127.0.0.1:9" in done.err
    assert "Traceback" not in done.err


def test_complete_says_what_is_wrong(run: Callable[..., Said], tmp_path: Path) -> None:
    """
    On stderr: settings, with their file; that their server is not there, before another model's text; why none comes.
    """
    (tmp_path / ".env").write_text("KEY=\n")
    url = f"http://127.0.0.1:{free_port()}"
    endpoints = f'[[backend.endpoints]]\nurl = "{url}"\n[[backend.endpoints]]\nkind = "embedded"\n'
    settings = f'ring.chunks = "many"\n{endpoints}'
    code, out, err = run("complete", f"{tmp_path}/.env:1", settings=settings)
    assert (code, out, "config.toml" in err) == (1, "", True)
    assert 'fim.ring.chunks must be a whole number from 0 to 256, not "many"' in err
    assert f"cannot connect to {url}" in err
    assert "is used meanwhile" in err
    assert "the file is private" in err


def test_a_port_that_is_taken_is_named_with_the_fix(tmp_path, monkeypatch, capsys) -> None:
    """In one line, by `fim-lsp http`."""
    for name in ("CONFIG", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["http", "--port", str(port), "--root", str(tmp_path)]) == 1
    [said] = capsys.readouterr().out.splitlines()
    assert said.startswith(f"fim-lsp cannot listen on port {port}: ")
    assert said.endswith("in use; --port names another")


@pytest.mark.slow
def test_the_demo_shows_ghost_text_and_costs(tmp_path: Path) -> None:
    """A row per suggestion, several lines at once, a summary; plain text in a pipe, exit code 0."""
    done = started(tmp_path, "demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "\x1b" not in done.stdout
    rows = re.findall(r"^ .*│.* +(\d+) +\d+ +\d+\.\d$", done.stdout, re.MULTILINE)
    assert len(rows) > 5
    assert all(int(evaluated) <= 1 for evaluated in rows)
    assert re.search(r"(\d+) more characters taken from \d+ suggestions", done.stdout)
    assert "             return len(self.items)" in done.stdout
    assert all(len(line) <= 100 for line in done.stdout.splitlines()[:-9])


@pytest.mark.slow
def test_doctor_finds_nothing_wrong_with_an_installation_that_works(run: Callable[..., Said]):
    """Everything is in order here, and a script can read it."""
    done = run("doctor", "--json")
    found = json.loads(done.out)
    levels = {finding["check"]: finding["level"] for finding in found["findings"]}
    assert found["works"]
    assert done.code == 0
    checks = "version machine packages settings privacy server model speed cache"
    assert {*levels} >= {*checks.split()}
    assert "bad" not in levels.values()


def test_the_doctor_says_what_to_change(run: Callable[..., Said], tmp_path: Path) -> None:
    """A wrong setting, an unencrypted server and no model: named with their fixes, exit code 1."""
    (tmp_path / ".fim-lsp.toml").write_text("[ring]\nchunkz = 3\n")
    server = 'kind = "llama-server"\nurl = "http://192.0.2.1:1"\napiKeyEnv = "NO_SUCH_KEY"\n'
    done = run("doctor", settings=f"[backend]\n{server}")
    assert done.code == 1
    for says in (
        "chunkz",
        "unencrypted",
        "export NO_SUCH_KEY",
        "Completions cannot work as set up",
    ):
        assert says in done.out
    assert not re.search(r"^\w+ +(access|context|speed|cache) ", done.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("ours", "project", "stops"),
    [
        ("[completion\n", "", "config.toml"),
        ("", "[completion\n", ".fim-lsp.toml"),
        ("[completion\n", "[completion\n", "config.toml, .fim-lsp.toml"),
        ('ring.chunks = "x"\n', "[ring]\nchunkz = 3\n", ""),
    ],
)
def test_a_file_that_stops_all_suggestions_fails(
    run: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    ours: str, project: str, stops: str,
) -> None:  # fmt: skip
    """Doctor's exit code and last line say so, and so does `models`."""
    monkeypatch.setattr(doctor, "CHECKS", (doctor.settings,))  # the others start servers
    (tmp_path / ".fim-lsp.toml").write_text(project)
    done = run("doctor", settings=ours or EMBEDDED)
    until = f"No suggestions until {stops} is corrected."
    assert (done.code, done.out.splitlines()[-1]) == (
        (1, until) if stops else (0, "Completions work.")
    )
    hint = "nothing is suggested" if stops else "the default is used"
    assert re.search(rf"^{'bad ' if stops else 'warn'} +settings ", done.out, re.MULTILINE)
    assert f"→ correct it; until then {hint}" in done.out
    told = " ".join(run("models", settings=ours or EMBEDDED).out.split())
    assert (f"no suggestions until {stops} is corrected" in told) is bool(stops)


def test_ctrl_c_at_a_question_ends_its_line(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """So that the prompt of the shell stands on a line of its own; a pipe gets nothing."""

    def interrupt(_: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupt)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    for is_terminal, printed in ((True, "\n"), (False, "")):
        monkeypatch.setattr(sys.stdout, "isatty", lambda is_terminal=is_terminal: is_terminal)
        assert main(["setup"]) == 130
        assert capsys.readouterr().out == printed
