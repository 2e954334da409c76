"""
Suggestions into items: ghost text, and entries of the completion menu as each client takes them.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from fim_lsp.display import printable
from fim_lsp.documents import Document, Position
from fim_lsp.lsp.convert import client_range
from fim_lsp.lsp.structure import types
from fim_lsp.suggest.request import Suggestion

ACCEPTED = "fim.didAcceptCompletionItem"  # the command that clients run after inserting an item
_BACKTICKS = re.compile(r"`{3,}")
_LABEL_CHARS = 60  # what completion menus show of a line before they cut it themselves
_WORD_CHARS = 200  # longer "words" are data, and each candidate repeats the word
_PLACEHOLDER = re.compile(r"\$\d|\$\{")  # of a snippet


class Menu(NamedTuple):
    """
    The way in which a client inserts an item of its menu (`clients.toml`).

    It filters by what *filters_by* says: the "word" before the cursor, all of the "range", or the
    whole "text". It *takes* a part of the text, which it writes the item over: the "range", the
    "word" at the cursor, or the range as it was when it "asked". It *eats* placeholders of snippets
    in plain texts, or *drops* items of several lines. It *misplaces* the cursor of an item that
    replaces what follows it, and *cuts* off what of an item stands before the word, which is its
    own. It *indents* the lines once more, unless told not to.
    """

    filters_by: str = "word"
    takes: str = "range"
    eats: bool = False
    drops: bool = False
    misplaces: bool = False
    cuts: bool = False
    indents: bool = False
    reads_markdown: bool = False


PLAIN_MENU = Menu()


def inline_list(
    document: Document, suggestions: Iterable[Suggestion], encoding: str
) -> types.InlineCompletionList:
    """Return suggestions as ghost text, the best first."""
    return types.InlineCompletionList([inline_item(document, s, encoding) for s in suggestions])


def inline_item(
    document: Document, suggestion: Suggestion, encoding: str
) -> types.InlineCompletionItem:
    r"""
    Return a suggestion as ghost text.

    The range is always said: without one VS Code takes the word at the cursor and Neovim wherever
    the cursor is by then. The text keeps `\n` in documents of any line ends: VS Code makes it
    theirs, and the buffers of Neovim, Emacs and IntelliJ hold nothing else.
    """
    return types.InlineCompletionItem(
        insert_text=suggestion.text,
        range=client_range(document, suggestion.start, suggestion.end, encoding),
        command=_make_accept_command(suggestion),
    )


def completion_item(
    document: Document,
    suggestion: Suggestion,
    cursor: Position,
    encoding: str,
    menu: Menu = PLAIN_MENU,
) -> types.CompletionItem | None:
    """
    Return a suggestion as an item of a client's *menu*, for clients without ghost text; None where
    the client would insert something else.

    Menus filter by the word before the cursor, so the item begins with it. The text has the
    document's line ends: Helix inserts it as it is. `insertText` is for clients that read no
    `textEdit`, or would write over another place than it says by then.
    """
    word = min(_word_start(document, cursor), suggestion.start)
    start = min(_word_start(document, cursor, _is_ink), word) if menu.cuts else word
    n_cut = len(document.between(start, word))
    text = document.between(start, suggestion.start) + suggestion.text
    end = suggestion.end
    if menu.eats:
        text = _before_placeholders(text)
    text = text.partition("\n")[0] if menu.drops else text
    if menu.takes != "range":
        text = _cut_for_word(document, text, start, cursor, end)
        end = cursor
    if text in ("", document.between(start, cursor)):
        return None
    new_text = text.replace("\n", document.eol)
    is_misplaced = menu.misplaces and end != cursor
    snippet = _snippet(new_text, document.lines[cursor.line]) if is_misplaced else ""
    form = types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText
    edit = types.TextEdit(client_range(document, start, end, encoding), snippet or new_text)
    preview = types.MarkupContent(types.MarkupKind.Markdown, _fence(text, document.language))
    said = text[n_cut:]
    filters = {"word": said.partition("\n")[0], "range": document.between(start, end) or None}
    return types.CompletionItem(
        label=_label(said),
        kind=types.CompletionItemKind.Text,
        detail="fim-lsp",
        documentation=preview if menu.reads_markdown else text,
        filter_text=filters.get(menu.filters_by, new_text),
        insert_text=snippet or new_text,
        insert_text_format=form,
        insert_text_mode=types.InsertTextMode.AsIs if menu.indents and "\n" in text else None,
        text_edit=None if menu.takes == "asked" else edit,
        command=_make_accept_command(suggestion),
    )


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_ink(character: str) -> bool:
    return not character.isspace()


def _word_start(
    document: Document, cursor: Position, is_of: Callable[[str], bool] = _is_of_word
) -> Position:
    """Return the start of the word that ends at the cursor."""
    line = document.lines[cursor.line]
    start = cursor.column
    while start and is_of(line[start - 1]):
        start -= 1
        if start < cursor.column - _WORD_CHARS:
            return cursor
    return Position(cursor.line, start)


def _before_placeholders(text: str) -> str:
    """Return the whole lines before the first placeholder of a snippet."""
    found = _PLACEHOLDER.search(text)
    return text[: found.start()].rpartition("\n")[0] if found else text


def _cut_for_word(
    document: Document, text: str, start: Position, cursor: Position, end: Position
) -> str:
    """
    Return *text* for a client that writes it over the word at the cursor, whatever the range is:
    without what stands behind the cursor up to *end*; "" where the word is another one.
    """
    line = document.lines[cursor.line]
    before = line[: start.column][-1:]
    behind = line[cursor.column : cursor.column + 1]
    is_part = start == cursor and _is_of_word(before)
    if is_part or _is_of_word(behind):
        return ""
    beyond = document.between(cursor, end)
    return text[: text.rfind(beyond)] if beyond in text else ""


def _snippet(text: str, line: str) -> str:
    """
    Return *text* as a snippet behind which the cursor stands; "" if a line of it is indented less
    than *line*, where it begins: clients indent the lines of a snippet as the first one.
    """
    start = "\n" + line[: len(line) - len(line.lstrip())]
    if text.count(start) < text.count("\n"):
        return ""
    return re.sub(r"[\\$}]", r"\\\g<0>", text.replace(start, "\n")) + "$0"


def _make_accept_command(suggestion: Suggestion) -> types.Command:
    return types.Command(title="Accept completion", command=ACCEPTED, arguments=[suggestion.id])


def _label(text: str) -> str:
    """Return one line for the menu: the first that says something, marked where more follows."""
    line, _, rest = printable(text.strip(), "\n").partition("\n")
    return line[:_LABEL_CHARS] + ("…" if rest or len(line) > _LABEL_CHARS else "")


def _fence(text: str, language: str) -> str:
    """Return the text as a Markdown code block, in a fence longer than any in it."""
    fence = max(["```", *(run + "`" for run in _BACKTICKS.findall(text))], key=len)
    return f"{fence}{language}\n{text}\n{fence}"
