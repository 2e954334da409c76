"""VS Code's extension has the keys and the settings that pages name, and the server takes these."""

from __future__ import annotations

import json
import re

from fim_lsp.settings.merge import SCHEMA, Layer, merge_layers
from server_bridge.machine.executables import python_command
from server_bridge.process.programs import CHILD
from tests.snippets import PAGES, ROOT

MANIFEST = json.loads((ROOT / "editors/vscode/package.json").read_text("utf-8"))
EXTENSION = {
    key: about
    for section in MANIFEST["contributes"]["configuration"]
    for key, about in section["properties"].items()
}


SYMBOLS = {"⌘": "cmd", "⌃": "ctrl", "⌥": "alt", "→": "right", "↓": "down", "Esc": "escape"}


def key_of(shown: str) -> str:
    """Return a key as the extension's manifest has it, like `ctrl+alt+i` for `⌃⌥I`."""
    for symbol, name in SYMBOLS.items():
        shown = shown.replace(symbol, name if len(symbol) > 1 else f"{name}+")
    return shown.lower().removesuffix("+")


def test_the_extension_maps_the_keys_that_its_page_calls_its_own() -> None:
    """On a Mac, too; `tests/editors` presses those of VS Code."""
    page = (ROOT / "docs/editors/vscode.md").read_text("utf-8")
    bindings = MANIFEST["contributes"]["keybindings"]
    rows = re.findall(r"^\| (`.*) \| [^|]* \| the extension's[^|]*\|$", page, re.MULTILINE)
    assert len(rows) >= 3
    for row in rows:
        mac = [key_of(key) for key in re.findall(r"\(`(.+?)`\)", row)]
        keys = [key_of(key) for key in re.findall(r"`(.+?)`", re.sub(r"\(.*?\)", "", row))]
        assert {*keys} <= {binding["key"] for binding in bindings}, row
        assert {*mac} <= {binding.get("mac") for binding in bindings}, row


def test_the_palette_finds_a_reason_by_why() -> None:
    """No other command has these letters in this order, with which it would be found first."""
    titles = [each["title"] for each in MANIFEST["contributes"]["commands"]]
    found = [title for title in titles if re.search("w.*h.*y", f"FIM: {title}", re.IGNORECASE)]
    assert found == ["Why This Edit?", "Why No Suggestion Here?"]
    assert min(found) == "Why No Suggestion Here?"  # of equals the palette sorts by the alphabet


def test_the_settings_that_the_extensions_pages_name_are_its_own() -> None:
    """Others exist in the server only."""
    texts = [page.read_text("utf-8") for page in PAGES if "vscode" in page.as_posix()]
    named = {name for text in texts for name in re.findall(r"`(fim\.\w[\w.]*\w)`", text)}
    commands = {each["command"] for each in MANIFEST["contributes"]["commands"]}
    assert named <= {*EXTENSION} | commands


def test_the_extensions_settings_are_the_servers() -> None:
    """Each by its name, with the same default, so that its type is one that the server takes."""
    for key, about in EXTENSION.items():
        name = key.removeprefix("fim.")
        if name in SCHEMA and about.get("default") is not None:
            assert merge_layers([Layer("editor", {key: about["default"]})])[1] == (), key


def test_vs_code_forwards_no_port_of_ours() -> None:
    """It looks at the command lines of what listens; other programs' ports are forwarded."""
    defaults = MANIFEST["contributes"]["configurationDefaults"]["remote.portsAttributes"]
    [(pattern, how)] = defaults.items()
    assert how["onAutoForward"] == "ignore"
    ours = [python_command(CHILD), ("/home/a/.local/bin/fim-lsp", "--stdio")]
    assert all(re.search(pattern, " ".join(argv)) for argv in ours)
    assert not re.search(pattern, "python3 -m http.server")
