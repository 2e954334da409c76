"""docs/editors/*.md followed as they are written, in an empty home folder."""

from __future__ import annotations

import re
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import REST_OF_WORD, TYPED, shop_in
from tests.editors.neovim import Neovim
from tests.editors.terminal import Terminal
from tests.snippets import SNIPPETS

pytestmark = programs.needs("nvim")


def blocks(editor: str, language: str) -> list[str]:
    here = (s for s in SNIPPETS if s.is_block and s.page == f"docs/editors/{editor}.md")
    return [snippet.text for snippet in here if snippet.language == language]


def follow(home: Path, editor: str) -> None:
    """Run the page's commands, from the checkout that they ask for; the program is there already."""
    [commands] = blocks(editor, "sh")
    commands = "".join(line for line in commands.splitlines(True) if "pipx" not in line)
    subprocess.run(
        ["/bin/sh", "-euc", commands], env=programs.environment(home), cwd=programs.REPOSITORY,
        check=True,
    )  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file in a project, in an empty home with `fim-lsp` on the PATH."""
    return shop_in(tmp_path)


def test_neovim(file: Path, tmp_path: Path) -> None:
    """Two commands, two lines of settings: ghost text, and the key of the page accepts it."""
    follow(tmp_path, "neovim")
    _, settings, *_ = blocks("neovim", "lua")
    check_neovim(tmp_path, file, settings)


def test_neovim_with_lazy(file: Path, tmp_path: Path) -> None:
    """The specification for lazy.nvim, done as lazy.nvim does it after it has cloned this repository."""
    specification, *_ = blocks("neovim", "lua")
    steps = f"local plugin = {specification} plugin.init() plugin.config({{ dir = '{{}}' }})"
    check_neovim(tmp_path, file, steps.replace("{}", str(programs.REPOSITORY)))


def test_neovim_without_the_plugin(file: Path, tmp_path: Path) -> None:
    """Its own ghost text, of which the keys of the page take a word, a line, and all that is left."""
    [settings] = [block for block in blocks("neovim", "lua") if "on_accept" in block]
    plain = "vim.o.swapfile = false\nvim.o.autoindent = false\nvim.cmd('filetype indent off')"
    init = f"{settings}\n{plain}"
    with closing(Neovim(tmp_path, file.parent, init, has_plugin=False)) as neovim:
        neovim.edit(file)
        neovim.send("Go" + TYPED.replace("\n", "\r"))
        for key, is_taken in (
            ("\x1b[1;5C", "for weights"),
            ("\x1b[1;5B", "for weights in weights:"),
        ):
            neovim.wait_until(lambda: neovim.text.count("total +=") == 2, "ghost text")
            neovim.send(key)
            neovim.wait_for_buffer(is_taken)
        neovim.wait_until(lambda: neovim.text.count("total +=") == 2, "ghost text")
        neovim.send("\x05")
        neovim.wait_until(lambda: neovim.buffer.count("total +=") == 2, "the rest")


LAZY = programs.CACHE / "lazy.nvim"  # a checkout of it


@pytest.mark.skipif(not LAZY.exists(), reason=f"needs a checkout of lazy.nvim in {LAZY}")
def test_neovim_with_lazy_itself(file: Path, tmp_path: Path) -> None:
    """From an empty home lazy.nvim clones this repository, runs the specification's build there, and sets the plugin up."""
    specification, *_ = blocks("neovim", "lua")
    pipx = tmp_path / ".local/bin/pipx"  # the program is there already
    pipx.write_text('#!/bin/sh\necho "$PWD: $*" > "$HOME/pipx"\n')
    pipx.chmod(0o755)
    here = re.sub(r"url = '[^']+'", f"url = 'file://{programs.REPOSITORY}'", specification)
    steps = f"""
        vim.opt.runtimepath:prepend('{LAZY}')
        require('lazy').setup({{ {here.rstrip()} }})
    """
    config = tmp_path / ".config/nvim/init.lua"
    config.parent.mkdir(parents=True)
    config.write_text(steps)
    installed = subprocess.run(
        [str(programs.program("nvim")), "--headless", "+Lazy! install", "+qa"],
        env=programs.environment(tmp_path), cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    clone = tmp_path / ".local/share/nvim/lazy/fim-lsp"
    assert (clone / "editors/nvim/plugin/fim.lua").exists(), installed.stdout + installed.stderr
    assert (tmp_path / "pipx").read_text() == f"{clone}: install --force .\n"
    check_neovim(tmp_path, file, steps)


def check_neovim(home: Path, file: Path, settings: str) -> None:
    """With *settings* as init.lua there is ghost text, and Tab accepts it."""
    config = home / ".config/nvim/init.lua"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(settings)
    with closing(
        Terminal(
            [str(programs.program("nvim")), str(file)],
            env=programs.environment(home),
            cwd=file.parent,
        )
    ) as neovim:
        neovim.wait_for("A little shop")
        neovim.send(":set noautoindent indentexpr=\rGo" + TYPED.replace("\n", "\r"))

        def shown() -> bool:
            neovim.send("\x7fw")  # Neovim is not told when the server is ready: type again
            neovim.settle()
            return "for w" + REST_OF_WORD in neovim.text

        neovim.wait_until(shown, "ghost text")
        neovim.send("\t")
        neovim.settle()
        neovim.send("\x1b:write\r")
        neovim.wait_until(lambda: "for w" + REST_OF_WORD in file.read_text(), "the suggestion kept")


def test_helix(file: Path, tmp_path: Path) -> None:
    """Two commands: the suggestion is in the menu."""
    follow(tmp_path, "helix")
    with closing(
        Terminal(
            [str(programs.program("hx")), str(file)],
            env=programs.environment(tmp_path),
            cwd=file.parent,
            size=(90, 36),
        )
    ) as helix:
        helix.wait_for("A little shop")

        def offered() -> bool:
            helix.send("\x1b")
            helix.wait_for(" NOR ")
            helix.send(":reload\rgeototal = 0\rfor w")
            helix.settle()
            return " in weights:" in helix.text

        helix.wait_until(offered, "the suggestion in the menu")
