"""Qt Creator, set up as docs/editors/qt-creator.md says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tests.editors import programs
from tests.editors.display import USR
from tests.editors.menus import Desktop

IS_THERE = (USR / "bin/qtcreator").exists()
PAGE = programs.REPOSITORY / "docs/editors/qt-creator.md"
FIELD = re.compile(r"\*([^*\n]+)\* (?:`([^`]+)`|\*([^*\n]+)\*)")
STARTS = ("Always On", "Requires an Open File", "Start Server per Project")
# Of its plugins, those of Python files: it starts in seconds then.
PLUGINS = ["-noload", "all", "-load", "LanguageClient", "-load", "Python"]
AS_IT_IS = "[textStorageSettings]\ncleanWhitespace=false\n"
TYPE_INT, TYPE_MAP, TYPE_LIST, TYPE_STRING = 2, 8, 9, 10  # of a QVariant


@contextmanager
def opened(home: Path) -> Iterator[Desktop]:
    """Open the file, with the settings as the dialog writes them; tabs are no blanks when it is saved."""
    file = home / ".config/QtProject/QtCreator.ini"
    file.parent.mkdir()
    written = "".join(f"\\x{byte:x}" for byte in _number(TYPE_LIST, 1) + _server())
    file.write_text(f'[LanguageClient]\nclients="@Variant({written})"\n{AS_IT_IS}')
    with closing(Desktop(home, ["qtcreator", *PLUGINS], has_popups=True)) as editor:
        yield editor


def _server() -> bytes:
    """Return a map with what the page says, as QDataStream writes it."""
    said = {found[1]: found[2] or found[3] for found in FIELD.finditer(PAGE.read_text("utf-8"))}
    values = {
        "typeId": _text("LanguageClient::StdIOSettingsID"),
        "name": _text(said["Name"]),
        "filePattern": _text(said["File pattern"]),
        "startupBehavior": _number(TYPE_INT, STARTS.index(said["Startup behavior"])),
        "executable": _text(said["Executable"]),
        "arguments": _text(said["Arguments"]),
    }
    pairs = (_text(name)[4:] + value for name, value in values.items())
    return _number(TYPE_MAP, len(values)) + b"".join(pairs)


def _number(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "big") for value in values)


def _text(text: str) -> bytes:
    return _number(TYPE_STRING, 2 * len(text)) + text.encode("utf-16-be")
