"""
Nothing of a repository is run: each side starts processes in one module, and a hostile folder stays unheard.

A new way to start a process belongs into that module: there its program is absolute and its folder is ours.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from server_bridge.machine import executables
from tests.fuzz import FUZZ
from tests.test_tidy import PATHS, ROOT, name_of, parsed

pytestmark = pytest.mark.promise("no-code-of-a-repository-runs")

PYTHON = "server_bridge.machine.executables"
MODULES = {"subprocess", "multiprocessing", "pty", "webbrowser", "concurrent.futures.process"}
CALLS = re.compile(
    r"(os|posix|nt)\.(system|popen|startfile|v?fork|forkpty|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?)"
    r"|(.*\.)?(create_subprocess_\w+|subprocess_exec|subprocess_shell|Popen|ProcessPoolExecutor|start_io)"
)
# What may be named elsewhere: pygls starts its server itself, with our command and our folder.
ALLOWED = {"fim_lsp.cli.client": {"start_io(*python_command('fim_lsp', '--stdio'), cwd=PACKAGES)"}}


def starts(tree: ast.AST) -> set[str]:
    """Return every import and every name that could start a process."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and MODULES & {alias.name for alias in node.names}:
            found.add(ast.unparse(node))
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            if node.module in MODULES or any(map(CALLS.fullmatch, names)):
                found.add(ast.unparse(node))
        elif isinstance(node, ast.Attribute) and CALLS.fullmatch(ast.unparse(node)):
            found.add(node.attr)
    return found


def test_python_starts_processes_in_one_module() -> None:
    """No other module of the packages can; those that are listed cannot pass on another program or folder."""
    found = {name_of(path): starts(parsed(path)) for path in PATHS}
    assert found.pop(PYTHON)
    for module, texts in ALLOWED.items():
        plain = ast.unparse(next(parsed(path) for path in PATHS if name_of(path) == module))
        for text in texts:
            assert plain.count(text) == plain.count(text.partition("(")[0]) == 1
        found[module] -= {text.partition("(")[0] for text in texts}
    assert {module: names for module, names in found.items() if names} == {}


def test_every_start_has_an_absolute_program_and_folder() -> None:
    """A name or a relative path is refused before anything runs."""
    here = Path(sys.executable)
    for argv, cwd in (
        ((here.name,), here.parent),
        (("./python3",), here.parent),
        ((sys.executable,), Path()),
    ):
        with pytest.raises(FileNotFoundError, match="not an absolute path"):
            executables.start(argv, cwd)
        with pytest.raises(FileNotFoundError, match="not an absolute path"):
            executables.start_async(argv, cwd).send(None)
    source = ast.parse((ROOT / "server_bridge/machine/executables.py").read_text("utf-8"))
    for node in source.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and starts(node) - {"fork"}:
            assert "_refuse_relative(argv, cwd)" in ast.unparse(node), node.name


# By language: its sources, the module that starts processes, what could start one, and what is always beside it.
OTHERS = {
    "typescript": (
        [*(ROOT / "editors/vscode/src").glob("*.ts")],
        "processes.ts",
        (
            r"child_process|\bspawn|\bexec(File|Sync)?\(|\bfork\(|(Process|Shell|"
            r"Custom)Execution\(|createTerminal|new Worker|process\.dlopen"
        ),
        (
            r"^import { spawn } from|spawn\(absolute\(program\), args, { cwd "
            r"}\)|ProcessExecution\(absolute\(program\), args, { cwd }\)"
        ),
    ),
    "lua": (
        [*(ROOT / "editors/nvim").rglob("*.lua")],
        "process.lua",
        (
            r"vim\.system|jobstart|fn\.system|termopen|popen|os\.execute|spawn|vim\.ui\.open|"
            r"rpc\.start|cmd\.terminal|:terminal|cmd.*['\"]:?!"
        ),
        (
            r"vim\.system\(argv, { cwd = M\.folder\(\)|jobstart\(argv, { cwd = "
            r"M\.folder\(\)|`vim\.ui\.open`"
        ),
    ),
}


@pytest.mark.parametrize("language", OTHERS)
def test_the_plugins_start_processes_in_one_module(language: str) -> None:
    """There, every start has an absolute program and a folder of ours; no other source has a way to."""
    sources, home, pattern, careful = OTHERS[language]
    assert any(path.name == home for path in sources)
    for path in sources:
        for line in path.read_text("utf-8").splitlines():
            if re.search(pattern, line):
                assert path.name == home, (path.name, line)
                assert re.search(careful, line), line


def test_what_editors_start_themselves_has_our_command_and_folder() -> None:
    """VS Code's client, Neovim's and Emacs's start the server: with what is given to them here."""
    editors = ROOT / "editors"
    extension = (editors / "vscode/src/extension.ts").read_text("utf-8")
    assert (
        extension.count("makeClient(serverProcess(command, await ownFolder(context)), output,") == 1
    )
    assert extension.count('new LanguageClient("fim", "fim-lsp", server, {') == 1
    neovim = (editors / "nvim/lsp/fim.lua").read_text("utf-8")
    assert (
        "cmd = { process.path('fim-lsp') or 'fim-lsp', '--stdio' },\n  cmd_cwd = process.folder(),"
        in neovim
    )
    emacs = (editors / "emacs/fim-lsp.el").read_text("utf-8")
    assert emacs.count(":new-connection (fim-lsp--connection)") == emacs.count(":new-connection")
    assert emacs.count("lsp-stdio-connection") == 1
    assert not re.search(r"call-process|start-process|make-process|shell-command", emacs)


def test_scripts_run_python_isolated() -> None:
    """Without -I or -P, `-m` takes modules from the current folder."""
    unsafe = re.compile(r"python[^\n#]* -m (venv|pip|build)\b", re.IGNORECASE)
    scripts = [*ROOT.glob("scripts/*"), *ROOT.glob("scripts/tools/*"), ROOT / ".ci/run"]
    for path in filter(Path.is_file, scripts):
        text = re.sub(r"(-I|-P)( -\w+)* -m", "", path.read_text("utf-8"))
        assert not unsafe.search(text), path


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a cloned one: every module and program that we might ask for leaves a file when it runs."""
    folder = tmp_path / "repository"
    (folder / ".git").mkdir(parents=True)
    ran = f"open({str(folder)!r} + '/ran-' + __name__, 'w').close()\n"
    packages = ("fim_lsp", "server_bridge", "pygls", "httpx", "msgspec", "xxhash", "xllamacpp")
    for name in {*sys.stdlib_module_names, *packages, "sitecustomize", "usercustomize"}:
        (folder / f"{name}.py").write_text(ran)
    for name in ("python", "python3", "llama-server", "fim-lsp", "git", "nvidia-smi"):
        (folder / name).write_text(f"#!/bin/sh\ntouch '{folder}/ran-{name}'\n")
        (folder / name).chmod(0o755)
    (folder / "shop.py").write_text("def total_price(prices):\n    total = 0\n    for price in pr")
    return folder


@pytest.mark.parametrize(
    "command",
    [("complete", "shop.py:3"), ("doctor",), ("serve", "--dry-run")][: 1 if FUZZ == 1 else 3],
)
@pytest.mark.skipif(sys.platform == "win32", reason="scripts with a mode")
def test_the_server_runs_nothing_of_the_folder_it_is_in(command: tuple[str, ...], repository: Path):
    """Not its modules, for itself or its children, and not its programs, with any relative PATH."""
    program = Path(sys.executable).with_name("fim-lsp")
    if not program.exists():
        pytest.skip("the package is not installed beside this Python")
    path = os.pathsep.join((".", "", "./", os.environ["PATH"]))
    env = {**os.environ, "PATH": path, "FIM_LSP_TOKEN": ""}
    done = subprocess.run(
        [program, *command], cwd=repository, env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout, done.stderr
    assert not [*repository.glob("ran-*")]
