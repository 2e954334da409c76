"""
From an empty home to the first ghost text: seconds and steps, as docs/editors says.

    python -m benchmarks.first_suggestion [--llama-vim DIR] [--model FILE]

The editors are there already (`scripts/install-editors`, `scripts/build-vscode`). *Installing* is
all that the steps fetch and unpack, from the package index that pip is set to; *first ghost text* is
from starting the editor to text on screen, while a line is typed again every second. llama.vim
(a checkout) has nothing to install but needs a model server: it gets llama.cpp from our package
with the bundled model, started in the same moment; installing llama.cpp is not counted.
With --model, Neovim starts on a home in which that file is the model: a real one, without its download.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks import serve
from tests.editors import programs
from tests.editors.conftest import SHOP, TYPED
from tests.editors.neovim import Neovim
from tests.editors.test_vscode import VSIX
from tests.editors.vscode import STATUS, Workbench

AGAIN_S = 1.0  # between two times that the last letter is typed
INSTALL_S = 600.0  # at most
GHOST = (
    "#vim.tbl_filter(function(m) return m[4].virt_text ~= nil end,"
    " vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })) > 0"
)
PLAIN = "vim.o.autoindent = false vim.cmd('filetype indent off')\n"
FIM_LSP = PLAIN + "vim.lsp.enable('fim')\n"
LLAMA_VIM = PLAIN + (
    "vim.opt.rtp:append('{llama_vim}')\n"
    "vim.g.llama_config = {{ endpoint_fim = '{url}/infill', show_info = 0 }}\n"
)


class Row(NamedTuple):
    """What it took; the steps are counted in docs/editors and in the peer's README."""

    client: str
    steps: int
    steps_to_a_good_one: int
    install_s: float
    ghost_s: float


def project(home: Path) -> Path:
    """Return the one file of a project."""
    (home / "shop/.git").mkdir(parents=True)
    file = home / "shop/shop.py"
    file.write_text(SHOP)
    return file


def install(home: Path) -> float:
    """Return the program as `pipx install .` puts it into *home*; returns the seconds."""
    began = time.monotonic()
    environment, program = home / ".local/share/fim", home / ".local/bin/fim-lsp"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    pip = [str(environment / "bin/python"), "-m", "pip", "install", "-qq"]
    subprocess.run([*pip, str(programs.REPOSITORY)], check=True)
    program.parent.mkdir(parents=True)
    program.symlink_to(environment / "bin/fim-lsp")
    return time.monotonic() - began


def neovim(home: Path, init: str) -> float:
    """Return seconds from starting Neovim to ghost text."""
    file = project(home)
    began = time.monotonic()
    editor = Neovim(home, file.parent, init)
    try:
        editor.send(f":edit {file}\rGo" + TYPED.replace("\n", "\r"))
        while not editor.lua(GHOST):
            editor.send("\x7f" + TYPED[-1])
            until = time.monotonic() + AGAIN_S
            while time.monotonic() < until and not editor.lua(GHOST):
                editor.pump(0.02)
        return time.monotonic() - began
    finally:
        editor.close()


def ours(home: Path, model: Path | None) -> Row:
    """fim-lsp in Neovim, with the bundled model or a file."""
    seconds = install(home)
    if model:
        config = home / ".config/fim-lsp/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[backend]\nmodel = "{model.resolve()}"\n')
    return Row("fim-lsp, Neovim", 1, 2, seconds, neovim(home, FIM_LSP))


def llama_vim(home: Path, checkout: str) -> Row:
    """llama.vim, with a server that starts as Neovim does."""
    began = time.monotonic()
    with serve.serving(serve.BUNDLED) as url:
        started = time.monotonic() - began
        ghost_s = neovim(home, LLAMA_VIM.format(llama_vim=checkout, url=url))
    return Row("llama.vim", 3, 3, 0.0, started + ghost_s)


def vscode(home: Path) -> Row:
    """Return the extension in VS Code, which installs the server; from its installation on."""
    file = project(home)
    began = time.monotonic()
    workbench = Workbench(home, file, {}, VSIX)
    try:
        ready = f"{STATUS} .codicon-sparkle"
        workbench.wait_until(lambda: workbench("exists", ready), "a model", INSTALL_S)
        installed = time.monotonic()
        workbench.open(file)
        workbench("type", TYPED)
        workbench.wait_for_ghost("eight")
        now = time.monotonic()
        return Row("fim-lsp, VS Code", 1, 2, installed - began, now - installed)
    finally:
        workbench.close()


def main() -> None:
    """Measure each client in a home of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llama-vim", default="", metavar="DIR")
    parser.add_argument("--model", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    measured = [lambda home: ours(home, arguments.model)]
    if not arguments.model and VSIX.exists() and (programs.VSCODE / "done").exists():
        measured.append(vscode)
    if arguments.llama_vim:
        measured.append(lambda home: llama_vim(home, arguments.llama_vim))
    print("| client | steps | steps to a good one | installing s | first ghost text s |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for measure in measured:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            row = measure(Path(folder))
        steps = f"{row.steps} | {row.steps_to_a_good_one}"
        print(f"| {row.client} | {steps} | {row.install_s:.0f} | {row.ghost_s:.1f} |", flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
