"""
Suggestions into items: ghost text, and entries of the completion menu as each client takes them. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fim_lsp.display import printable
from fim_lsp.documents import Document, Position
from fim_lsp.lsp.convert import client_range
from fim_lsp.lsp.structure import types
from fim_lsp.suggest.request import PLAIN_MENU, MenuClient, Suggestion

ACCEPTED = "fim.didAcceptCompletionItem"  # the command that clients run after inserting an item
_BACKTICKS = re.compile(r"`{3,}")
_LABEL_CHARS = 60  # what completion menus show of a line before they cut it themselves
_WORD_CHARS = 200  # longer "words" are data, and each candidate repeats the word


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
    client: MenuClient = PLAIN_MENU,
) -> types.CompletionItem:
    """
    Return a suggestion as a menu item, for clients without ghost text.

    Menus filter by the word before the cursor, so the item begins with it. The text has the
    document's line ends: Helix inserts it as it is. A *client* that is literal (kakoune-lsp) filters
    by the whole text; one that misplaces the cursor gets a snippet.
    """
    start = min(_word_start(document, cursor), suggestion.start)
    text = document.between(start, suggestion.start) + suggestion.text
    new_text = text.replace("\n", document.eol)
    is_misplaced = client.misplaces and suggestion.end != cursor
    snippet = _snippet(new_text, document.lines[cursor.line]) if is_misplaced else ""
    form = types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText
    place = client_range(document, start, suggestion.end, encoding)
    return types.CompletionItem(
        label=_label(text),
        kind=types.CompletionItemKind.Text,
        detail="fim-lsp",
        documentation=types.MarkupContent(
            types.MarkupKind.Markdown, _fence(text, document.language)
        ),
        filter_text=new_text if client.literal else text.partition("\n")[0],
        insert_text_format=form,
        insert_text_mode=types.InsertTextMode.AsIs if client.indents and "\n" in text else None,
        text_edit=types.TextEdit(place, snippet or new_text),
        command=_make_accept_command(suggestion),
    )


def _word_start(document: Document, cursor: Position) -> Position:
    """Return the start of the word that ends at the cursor."""
    line, start = document.lines[cursor.line], cursor.column
    while start and (line[start - 1].isalnum() or line[start - 1] == "_"):
        start -= 1
        if start < cursor.column - _WORD_CHARS:
            return cursor
    return Position(cursor.line, start)


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
