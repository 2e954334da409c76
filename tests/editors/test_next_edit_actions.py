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


def test_helix_in_a_file_that_is_not_open(home: Path, project: Path) -> None:
    """The action names it; Helix opens it, applies the edit and shows the place. Nothing is saved unasked."""
    folder = project / "helix"
    folder.mkdir()
    file, other = folder / "box.py", folder / "shelf.py"
    file.write_text("print(hight)\ncheck(hight)\n")
    other.write_text("board = 1\nlow(hight)\n")
    helix = Helix(home, file)
    title = "Apply the next edit, helix/shelf.py line 2: low(height)"
    try:
        helix.wait_for("print(hight)")
        helix.wait_until(lambda: offered(helix, title), "the action", timeout=120)
        helix.send(ENTER)
        helix.wait_for("shelf.py [+]")
        assert "low(height)" in helix.text
        helix.file = other
        assert helix.saved() == "board = 1\nlow(height)\n"
    finally:
        helix.close()


def rename_in_emacs(editor: Terminal) -> None:
    for line in (1, 2):
        editor.send(f"\x1bgg{line}{ENTER}")
        editor.settle()
        editor.send("\x06" * 7 + "e")
        editor.settle(1.5)  # what is typed at once is told as one edit


BOTH_CLIENTS = pytest.mark.parametrize(
    ("init", "ready", "command"),
    [
        (LSP_MODE, "initialized successfully", "lsp-execute-code-action"),
        (EGLOT, "Connected!", "eglot-code-actions"),
    ],
    ids=["lsp-mode", "eglot"],
)


def act(editor: Terminal, command: str) -> None:
    """Run the client's command; eglot asks which of one, and before it changes a file without a buffer."""
    editor.send(f"{META_X}{command}{ENTER}")
    editor.settle(1.0)
    for question, answer in (("Apply the next edit", ENTER), ("Proceed?", "y")):
        if question in editor.text:
            editor.send(answer)
            editor.settle(1.0)


@BOTH_CLIENTS
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


@BOTH_CLIENTS
def test_emacs_in_a_file_that_is_not_open(
    home: Path, project: Path, init: str, ready: str, command: str, request: pytest.FixtureRequest
) -> None:
    """The action changes the other file in Emacs, and shows it; nothing is saved unasked."""
    name = f"hight_{request.node.callspec.id.replace('-', '_')}"
    other = project / f"{name}.py"
    other.write_text(f"board = 1\nlow({name})\n")
    done = f"low({name.replace('hight', 'height')})"
    with emacs(home, project, init, f"print({name})\ncheck({name})\n") as editor:
        editor.wait_for(ready)
        rename_in_emacs(editor)

        def applied() -> bool:
            act(editor, command)
            return done in editor.text

        editor.wait_until(applied, "the text")
        assert "low(hight" in other.read_text()
        editor.send(SAVE)
        editor.wait_until(lambda: done in other.read_text(), "the other file, in front, saved")
