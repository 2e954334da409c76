"""
Lines that may follow a suggestion which is right, and no error only once they are there. Pure.

A user writes from the top: below `@Override`, `int main()` or `x =` stands nothing yet, and the
editor has closed the brackets around the cursor already, as in `run(function () {▮)`. A grammar
calls the first line an error, whatever comes next. So a text that has errors is looked at with a
line that often follows, too, where no code stands below that would have to fit behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from fim_lsp.suggest.cursor import Cursor
from fim_lsp.suggest.lines import (
    CLOSER,
    CLOSERS,
    ends_of_heads,
    find_unclosed,
    first_visible,
    indent,
)

WITH_END = ("lua", "ruby")
HEREDOC = re.compile(r"<<<?[-~]?['\"]?([A-Za-z_]\w*)['\"]?")
HEREDOCS = ("php", "ruby", "shellscript")
# A body, the end of an expression, the other half of a choice, the end of a long string.
BRACES = ("{}", "x;", ": x;", "`;")
# Code that an annotation may stand before, besides.
NEXT = {
    "c": ("x;", "{}", "#endif", ": x;"),
    "cpp": ("x;", "{}", "#endif", ": x;"),
    "csharp": ("{}", "int x;", "x;", "#endif", '";'),
    "css": ("x {}",),
    "go": ("X()", "{}", "`"),
    "html": (">",),
    "java": ("int x;", "{}", "x;", "{} finally {}"),
    "javascript": BRACES,
    "javascriptreact": BRACES,
    "lua": ("or x", "}"),
    "php": BRACES,
    "python": ("def x(): pass",),
    "rust": ("{}", "x: X,", "fn x() {}"),
    "shellscript": ("x", "then x; fi"),
    "typescript": (*BRACES, "class X {}"),
    "typescriptreact": (*BRACES, "class X {}"),
}


def add_next_lines(cursor: Cursor, text: str, rest: str) -> Iterator[str]:
    """
    Yield the cursor's line with *text*, each line that may follow, and *rest*, the text on the
    right, behind the closers of the brackets and blocks that *text* opens.
    """
    begun = cursor.before + text
    white = indent(begun.rpartition("\n")[2])
    inner = _close(cursor, begun)
    if rest.strip() and inner:
        yield f"{begun}\n{white}{inner}{rest}"
    if cursor.language in HEREDOCS and (opened := HEREDOC.search(begun)):
        yield f"{begun}{rest}\n{white}{opened[1]}"
    following = first_visible(cursor.below).lstrip()
    if following[:1] in CLOSERS or not following:
        for line in NEXT.get(cursor.language, ()):
            yield f"{begun}\n{white}{line}{inner}{rest}"


def _close(cursor: Cursor, begun: str) -> str:
    """Return the closers of the brackets and blocks that *begun* opens behind the cursor."""
    closers = {at: CLOSER[sign] for at, sign in find_unclosed(begun, cursor.language)}
    if cursor.language in WITH_END:
        closers |= {end: "end " for end, _ in ends_of_heads(begun, cursor.language)}
    n_before = len(cursor.before)
    return "".join(closers[at] for at in sorted(closers, reverse=True) if at >= n_before)
