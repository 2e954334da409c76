"""
A home folder with `fim-lsp` on the PATH and nothing set but the embedded backend; a small project.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.meant import CONFIG as CONFIG_MEANT
from tests.editors.meant import model_server

# The model needs its own typed text to copy from: here a second function like the first.
SHOP = '''\
"""A little shop."""


def total_price(prices):
    """The sum of all prices."""
    total = 0
    for price in prices:
        total += price
    return total


def total_weight(weights):
    """The sum of all weights."""
'''
# Typed at the end of SHOP. The bundled model completes it to `for weight in weights:` and a body.
TYPED = "    total = 0\n    for w"
REST_OF_LINE = "eight in weights:"
# A server that did not see it typed gets another prompt: then "weights in weights:" may come.
REST_OF_WORD = "eight"

# A person waits two seconds at most; a test machine that also runs other things may take longer. And several lines are
# to be drawn, of which so small a model is never sure.
CONFIG = """\
[backend]
kind = "embedded"
[completion]
deadlineMs = 20000
patienceMs = 20000
minConfidence = 0.001
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty home, but for the program and its two settings."""
    folder = tmp_path_factory.mktemp("home")
    furnish(folder)
    return folder


def furnish(home: Path, settings: str = CONFIG) -> None:
    """
    Put *settings* and the program `fim-lsp` into *home*: this repository, run by this Python.

    A real model was offered already: the question would take the keys of a test.
    """
    offered = home / ".local/state/fim-lsp/offered-a-model"
    offered.parent.mkdir(parents=True)
    offered.touch()
    config = home / ".config/fim-lsp/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(settings)
    program = home / ".local/bin/fim-lsp"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{programs.REPOSITORY}" exec "{sys.executable}" -m fim_lsp "$@"\n'
    )
    program.chmod(0o755)


# The server in place of which a test starts it: its loop hangs at the next event, once.
HANGS = """\
import os, sys
from fim_lsp.__main__ import main
from fim_lsp.lsp.editor import Editor
forward = Editor.forward
def hang(editor, *events):
    try:
        os.unlink({file!r})
    except FileNotFoundError:
        return forward(editor, *events)
    while True:
        pass
Editor.forward = hang
sys.exit(main())
"""


def hang_at(home: Path) -> Path:
    """Have the server of *home* hang at its next event once the file that is returned is there."""
    file = home / "hang"
    code = home / "hangs.py"
    code.write_text(HANGS.format(file=str(file)))
    program = home / ".local/bin/fim-lsp"
    program.write_text(program.read_text().replace("-m fim_lsp", str(code)))
    return file


def shop_in(home: Path, name: str = "shop.py", text: str = SHOP, settings: str = CONFIG) -> Path:
    """Furnish *home*; returns a file of a project there."""
    furnish(home, settings)
    (home / "shop/.git").mkdir(parents=True)
    (home / "shop" / name).write_text(text)
    return home / "shop" / name


@pytest.fixture(scope="session")
def meant_settings() -> Iterator[str]:
    """Return settings of a server whose model writes what is meant (`tests/editors/meant.py`)."""
    with model_server() as url:
        yield CONFIG_MEANT.format(url)


@pytest.fixture(scope="module")
def project(home: Path) -> Path:
    folder = home / "shop"
    (folder / ".git").mkdir(parents=True)
    (folder / "shop.py").write_text(SHOP)
    (folder / "till.py").write_text('"""The till."""\n\n\ndef open_till():\n    return "ring"\n')
    return folder
