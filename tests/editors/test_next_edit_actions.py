"""The next edit as a code action: Helix, and Emacs with lsp-mode and with eglot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.helix import Helix
from tests.editors.terminal import Terminal
from tests.editors.test_emacs import EGLOT, LSP_MODE, emacs
from tests.editors.test_next_edit import BOX, RENAMED

pytestmark = programs.needs("hx", "emacs-nox")

APPLIED = RENAMED.replace("area = hight", "area = height")
ESCAPE, ENTER, SAVE, META_X = "\x1b", "\r", "\x18\x13", "\x1bx"


def offered(helix: Helix, title: str) -> bool:
    """
    Rename twice and open the menu; whether *title* is in it.

    Helix does not tell when the server has the file, or knows the others: begin again until it does.
    """
    helix.command("reload")
    helix.settle()
    for _ in range(2):
        for keys in ("gg", "/hight\r", "cheight"):
            helix.send(keys)
            helix.settle()
        for _ in range(3):  # the first may only close the menu
            if " NOR " not in helix.text:
                helix.send(ESCAPE)
                helix.settle()
    helix.settle(1.0)
    for keys in (" ", "a"):
        helix.send(keys)
        helix.settle(1.0)
    return title in helix.text


def test_helix(home: Path, project: Path) -> None:
    """`space a` offers it, Enter applies it."""
    file = project / "box_helix.py"
    file.write_text(BOX)
    helix = Helix(home, file)
    title = "Apply the next edit, line 3: area = height"
    try:
        helix.wait_for("print(hight)")
        helix.wait_until(lambda: offered(helix, title), "the action", timeout=120)
        helix.send(ENTER)
        helix.wait_until(lambda: "area = height * width" in helix.text, "the text")
        helix.settle()
        assert helix.saved() == APPLIED
    finally:
        helix.close()


def rename_in_emacs(editor: Terminal) -> None:
    for line in (1, 2):
        editor.send(f"\x1bgg{line}{ENTER}")
        editor.settle()
        editor.send("\x06" * 7 + "e")
        editor.settle(1.5)  # what is typed at once is told as one edit


def act(editor: Terminal, command: str) -> None:
    """Run the client's command; eglot asks which of one."""
    editor.send(f"{META_X}{command}{ENTER}")
    editor.settle(1.0)
    if "Apply the next edit" in editor.text:
        editor.send(ENTER)
        editor.settle(1.0)


@pytest.mark.parametrize(
    ("init", "ready", "command"),
    [
        (LSP_MODE, "initialized successfully", "lsp-execute-code-action"),
        (EGLOT, "Connected!", "eglot-code-actions"),
    ],
    ids=["lsp-mode", "eglot"],
)
def test_emacs(home: Path, project: Path, init: str, ready: str, command: str) -> None:
    """The command of either client applies the one action that there is."""
    file = project / "shop.py"
    with emacs(home, project, init, BOX) as editor:
        editor.wait_for(ready)
        rename_in_emacs(editor)

        def applied() -> bool:
            act(editor, command)
            return "area = height * width" in editor.text

        editor.wait_until(applied, "the text")
        editor.send(SAVE)
        editor.wait_until(lambda: file.read_text() == APPLIED, "the file saved")
