"""Helix with the snippets of editors/helix, the real server and model: suggestions in its menu."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.editors import programs
from tests.editors.conftest import SHOP
from tests.editors.helix import Helix

pytestmark = programs.needs("hx")

SNIPPET = programs.REPOSITORY / "editors/helix/languages.toml"
TYPED = "total = 0\rfor w"  # Helix indents by itself
ENTRY = " in weights:"  # whichever plural the small model says before it
WORDS = ("weight", "weights")
OTHER_ENTRY = "weight_of_the_other_server"
CANCELLED = "-32800"  # the answer to a request that Helix itself cancelled
# Stands in for the language's own server, under the name of one that the snippet keeps.
OTHER = """\
#!{python}
from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("other", "1")

@server.feature(types.TEXT_DOCUMENT_COMPLETION)
def complete(params):
    return [types.CompletionItem(label="{entry}")]

server.start_io()
"""


@pytest.fixture
def editor(home: Path, project: Path) -> Iterator[Helix]:
    """Return a Helix with the suggestion in its menu, next to another server's."""
    other = home / ".local/bin/jedi-language-server"
    other.write_text(OTHER.format(python=sys.executable, entry=OTHER_ENTRY))
    other.chmod(0o755)
    file = project / "menu.py"
    file.write_text(SHOP)
    helix = Helix(home, file)
    helix.wait_for("A little shop")
    _type_until_offered(helix)
    yield helix
    helix.close()


def _type_until_offered(helix: Helix) -> None:
    """The model may still be loading, and Helix is not told when it is ready: type again."""

    def offered() -> bool:
        helix.type_again(TYPED)
        return ENTRY in helix.text and OTHER_ENTRY in helix.text

    helix.wait_until(offered, f"{ENTRY!r} and {OTHER_ENTRY!r} in the menu")


def _preview(helix: Helix) -> None:
    """Move in the menu until our entry is shown in the text."""

    def is_in_the_text() -> bool:
        helix.send("\t")
        helix.settle()
        return any(f"for {word}{ENTRY}" in helix.text for word in WORDS)

    helix.wait_until(is_in_the_text, f"{ENTRY!r} in the text", timeout=12)


def test_accepting_from_the_menu(editor: Helix) -> None:
    """Beside the other server's entry; moving to ours shows it in the text, Enter keeps all of its lines."""
    _preview(editor)
    editor.send("\r")
    text = editor.saved()
    assert any(f"    total = 0\n    for {word}{ENTRY}\n        " in text for word in WORDS)


def test_a_preview_is_taken_back(editor: Helix) -> None:
    """By the page's key, which leaves what was typed."""
    _preview(editor)
    editor.send("\x03")
    editor.wait_until(lambda: ENTRY not in editor.text, "the text as it was")
    assert editor.saved() == SHOP + "    total = 0\n    for w\n"


ENDING = 'end="")'
PRINTED = '''\
def show_price(price):
    """Show it."""
    print(str(price), "euros", end="")


def show_weight(weight):
    """Show it."""
'''


def test_the_cursor_stands_behind_what_was_accepted(home: Path, project: Path) -> None:
    """Also where that replaces brackets that Helix had closed: what is typed follows it."""
    file = project / "pairs.py"
    file.write_text(PRINTED)
    helix = Helix(home, file)
    try:
        helix.wait_for("def show_weight")

        def offered() -> bool:
            helix.type_again("print(str(w")
            return ENDING in helix.text.partition("show_weight")[2]

        helix.wait_until(offered, "the suggestion in the menu")
        helix.send("\t")
        helix.settle()
        helix.send("\r")
        helix.settle()
        helix.send("  # typed")
        last = helix.saved().splitlines()[-1]
    finally:
        helix.close()
    assert last.endswith(f"{ENDING}  # typed")


@pytest.mark.parametrize("key", ["\x18", "\0"], ids=["C-x", "C-space"])
def test_a_key_asks_by_hand(editor: Helix, key: str) -> None:
    """The menu that was sent away comes again."""
    editor.send("\x03")
    editor.wait_until(lambda: ENTRY not in editor.text, "no menu")
    editor.send(key)
    editor.wait_for(ENTRY)


def test_nothing_is_logged_as_an_error(editor: Helix) -> None:
    """Helix logs messages that it does not know; the server sends none."""
    editor.command("write")
    editor.settle()
    errors = [line for line in editor.log.read_text().splitlines() if "[ERROR]" in line]
    assert not [line for line in errors if "fim-lsp" in line and CANCELLED not in line]


@pytest.mark.parametrize(
    "language", [row["name"] for row in tomllib.loads(SNIPPET.read_text())["language"]]
)
def test_the_snippet_keeps_the_servers_a_language_had(language: str, tmp_path: Path) -> None:
    """Naming servers replaces Helix's own list, so it must be repeated whole."""
    rows = tomllib.loads(SNIPPET.read_text())["language"]
    named = next(row["language-servers"] for row in rows if row["name"] == language)
    argv = [str(programs.program("hx")), "--health", language]
    said = subprocess.run(
        argv, env=programs.environment(tmp_path), capture_output=True, text=True, check=True
    )
    section = said.stdout.partition("language servers:")[2].partition("debug adapter")[0]
    own = re.findall(r"[✓✘]\S* ([\w-]+):", section)
    assert [server for server in named if isinstance(server, str)] == own
    assert [server["name"] for server in named if isinstance(server, dict)] == ["fim-lsp"]
