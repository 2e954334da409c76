"""
What clients do with an item of the menu, a few lines each: which field they insert, over what, and how they filter.

Each takes the item as it is on the wire, the line that the cursor stood in and its column when the
client asked, and what was typed there since; it returns what stands in the place of the line
afterwards, or None where the user is not shown the item. tests/editors/test_menus.py compares them
with the real clients.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Item = dict[str, Any]
Simulator = Callable[[Item, str, int, str], str | None]

_SNIPPET = re.compile(r"\\([\\$}])|\$\d+|\$\{[^}]*\}")
_TOKEN = re.compile(r"\"[^\"]*\"?|\w+|[^\w\s]")


def lsp(item: Item, line: str, column: int, typed: str) -> str | None:
    """Do as LSP says: Geany, eglot, lsp-mode, coc.nvim, Helix, pages. All filter by the word before the cursor."""
    start, end = _range(item)
    if not item["filterText"].startswith(_word(line[:column] + typed)):
        return None
    return line[:start] + _inserted(item) + line[end:]


def qt_creator(item: Item, line: str, column: int, typed: str) -> str | None:
    """Qt Creator and Spyder write over the range as it was when they asked, without one over the word."""
    before = line[:column] + typed
    word = _word(before)
    if not item["filterText"].startswith(word):
        return None
    if "textEdit" not in item:
        return before[: len(before) - len(word)] + item["insertText"] + line[column:]
    start, end = _range(item)
    now = before + line[column:]
    return now[:start] + _inserted(item) + now[end:]


def kakoune(item: Item, line: str, column: int, typed: str) -> str | None:
    """kakoune-lsp reads a plain text as a snippet where `filterText` is another one."""
    start, end = _range(item)
    text = item["textEdit"]["newText"]
    is_plain = item["filterText"] == text
    return line[:start] + (text if is_plain else _expand(text)) + line[end:]


def codemirror(item: Item, line: str, column: int, typed: str) -> str | None:
    """@codemirror/lsp-client filters by all of the range; what is filtered is `filterText`, else `label`."""
    start, end = _range(item)
    letters = iter(item.get("filterText", item["label"]).lower())
    pattern = line[start:column] + typed + line[column:end]
    if not all(letter in letters for letter in pattern.lower()):
        return None
    return line[:start] + _inserted(item) + line[end:]


def kate(item: Item, line: str, column: int, typed: str) -> str | None:
    """Kate filters by `label`, writes over the word at the cursor, and removes placeholders from any text."""
    before = line[:column] + typed
    word = _word(before)
    if not item["label"].lower().startswith(word.lower()):
        return None
    text = re.sub(r"\$\d+|\$\{[^}]*\}", "", item["textEdit"]["newText"])
    return before[: len(before) - len(word)] + text + re.sub(r"^\w*", "", line[column:])


def jupyterlab(item: Item, line: str, column: int, typed: str) -> str | None:
    """jupyterlab-lsp writes `insertText`, else `label`, over the token at the cursor if it begins with that."""
    text = item.get("insertText") or item["label"]
    line = line[:column] + typed + line[column:]
    column += len(typed)
    tokens = (token for token in _TOKEN.finditer(line) if token.start() <= column <= token.end())
    token = next(tokens, None)
    if token is None:
        return line[:column] + text + line[column:]
    before = line[token.start() : column]
    start = token.start() if text.lower().startswith(before.lower()) else token.end()
    return line[:start] + text + line[token.end() :]


def ycmd(item: Item, line: str, column: int, typed: str) -> str | None:
    """ycmd drops a text of several lines, and writes from where the range begins up to the cursor."""
    start, _ = _range(item)
    text = item["textEdit"]["newText"]
    return None if "\n" in text else line[:start] + text + line[column:]


def yegappan(item: Item, line: str, column: int, typed: str) -> str | None:
    """yegappan/lsp has Vim write over the keyword before the cursor, in CSS with -, what stands there of the text; a line's end is NUL."""
    before = line[:column] + typed
    keyword = re.search(r"[\w-]*$", before)[0]  # type: ignore[index]
    start, _ = _range(item)
    text = item["textEdit"]["newText"][len(before) - len(keyword) - start :]
    return before[: len(before) - len(keyword)] + text.replace("\n", "\0") + line[column:]


def vim_lsp(item: Item, line: str, column: int, typed: str) -> str | None:
    """vim-lsp does as LSP says, but for a line's end, which Vim writes as NUL."""
    written = lsp(item, line, column, typed)
    return written and written.replace("\n", "\0")


def vim_lsc(item: Item, line: str, column: int, typed: str) -> str | None:
    """vim-lsc has Vim write from where the range begins up to the cursor, if that did not move since it asked."""
    start, _ = _range(item)
    text = item["textEdit"]["newText"]
    if typed or not text.lower().startswith(line[start:column].lower()):
        return None
    return line[:start] + text.replace("\n", "\0") + line[column:]


def _word(text: str) -> str:
    return re.search(r"\w*$", text)[0]  # type: ignore[index]


def _range(item: Item) -> tuple[int, int]:
    where = item["textEdit"]["range"]
    return where["start"]["character"], where["end"]["character"]


def _inserted(item: Item) -> str:
    text = item["textEdit"]["newText"]
    return _expand(text) if item.get("insertTextFormat") == 2 else text


def _expand(snippet: str) -> str:
    return _SNIPPET.sub(lambda found: found[1] or "", snippet)
