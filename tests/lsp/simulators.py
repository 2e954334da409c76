"""
What clients do with an item of the menu, a few lines each: which field they insert, over what, and how they filter.

Each takes the item as it is on the wire, the line that the cursor stands in and its column, and returns what stands in
the place of the line afterwards, or None where the user is not shown the item. tests/editors does the same in the real
ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Item = dict[str, Any]
Simulator = Callable[[Item, str, int], str | None]

_SNIPPET = re.compile(r"\\([\\$}])|\$\d+|\$\{[^}]*\}")
_TOKEN = re.compile(r"\"[^\"]*\"?|\w+|[^\w\s]")


def lsp(item: Item, line: str, column: int) -> str | None:
    """Do as LSP says: Qt Creator, Geany, eglot, coc.nvim, Helix. All filter by the word before the cursor."""
    start, end = _range(item)
    word = re.search(r"\w*$", line[:column])
    if word and not item["filterText"].startswith(word[0]):
        return None
    return line[:start] + _inserted(item) + line[end:]


def kakoune(item: Item, line: str, column: int) -> str | None:
    """kakoune-lsp reads a plain text as a snippet where `filterText` is another one."""
    start, end = _range(item)
    text = item["textEdit"]["newText"]
    is_plain = item["filterText"] == text
    return line[:start] + (text if is_plain else _expand(text)) + line[end:]


def codemirror(item: Item, line: str, column: int) -> str | None:
    """@codemirror/lsp-client filters by all of the range; what is filtered is `filterText`, else `label`."""
    start, end = _range(item)
    letters = iter(item.get("filterText", item["label"]).lower())
    if not all(letter in letters for letter in line[start:end].lower()):
        return None
    return line[:start] + _inserted(item) + line[end:]


def kate(item: Item, line: str, column: int) -> str | None:
    """Kate filters by `label`, writes over the word at the cursor, and removes placeholders from any text."""
    start = column - len(re.search(r"\w*$", line[:column])[0])  # type: ignore[index]
    end = column + len(re.match(r"\w*", line[column:])[0])  # type: ignore[index]
    if not item["label"].lower().startswith(line[start:column].lower()):
        return None
    text = re.sub(r"\$\d+|\$\{[^}]*\}", "", item["textEdit"]["newText"])
    return line[:start] + text + line[end:]


def jupyterlab(item: Item, line: str, column: int) -> str | None:
    """jupyterlab-lsp writes `insertText`, else `label`, over the token at the cursor if it begins with that."""
    text = item.get("insertText") or item["label"]
    tokens = (token for token in _TOKEN.finditer(line) if token.start() <= column <= token.end())
    token = next(tokens, None)
    if token is None:
        return line[:column] + text + line[column:]
    before = line[token.start() : column]
    start = token.start() if text.lower().startswith(before.lower()) else token.end()
    return line[:start] + text + line[token.end() :]


def _range(item: Item) -> tuple[int, int]:
    where = item["textEdit"]["range"]
    return where["start"]["character"], where["end"]["character"]


def _inserted(item: Item) -> str:
    text = item["textEdit"]["newText"]
    return _expand(text) if item.get("insertTextFormat") == 2 else text


def _expand(snippet: str) -> str:
    return _SNIPPET.sub(lambda found: found[1] or "", snippet)
