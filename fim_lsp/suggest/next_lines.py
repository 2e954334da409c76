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
# A body, the end of a statement, of an expression and of a choice.
ENDS = ("{}", ";", "x;", "x", ": x;", "? x : x;", "x : x;")
BRACES = (*ENDS, "`;")  # … and of a long string
# Code that an annotation may stand before, besides.
NEXT = {
    "c": (*ENDS, "#endif"),
    "cpp": (*ENDS, "#endif", ')";', "X> {};"),
    "csharp": (*ENDS, "int x;", "void x() {}", "#endif", '";'),
    "css": ("x {}",),
    "go": ("X()", "{}", "`"),
    "html": (">",),
    "java": (*ENDS, "int x;", "{} finally {}"),
    "javascript": BRACES,
    "javascriptreact": (*BRACES, "/>"),
    "lua": ("or x", "x", "}"),
    "php": (*BRACES, "function x() {}", "';", '";'),
    "python": ("def x(): pass",),
    "ruby": ("x",),
    "rust": ("{}", ";", "x: X,", "X,", "fn x() {}"),
    "shellscript": ("x", "then x; fi", "do x; done", "{ x; }", 'x"', "x'", 'x)"'),
    "typescript": (*BRACES, "class X {}", "X>"),
    "typescriptreact": (*BRACES, "class X {}", "X>", "/>"),
}


def add_next_lines(cursor: Cursor, text: str, rest: str) -> Iterator[str]:
    """
    Yield the cursor's line with *text*, each line that may follow, and *rest*, the text on the
    right, behind the closers of the brackets and blocks that *text* opens.
    """
    begun = cursor.before + text
    white = indent(begun.rpartition("\n")[2])
    inner = _close(cursor, begun, rest)
    following = first_visible(cursor.below).lstrip()
    is_last = following[:1] in CLOSERS or not following
    if inner and (rest.strip() or (is_last and ")" not in inner)):  # a list, not a call
        yield f"{begun}\n{white}{inner}{rest}"
    if cursor.language in HEREDOCS and (opened := HEREDOC.search(begun)):
        yield f"{begun}{rest}\n{white}{opened[1]}"
    if is_last:
        for line in NEXT.get(cursor.language, ()):
            yield f"{begun}\n{white}{line}{inner}{rest}"


def _close(cursor: Cursor, begun: str, rest: str) -> str:
    """
    Return the closers of the brackets and blocks that *begun* opens behind the cursor, but for
    those that *rest* closes.
    """
    unclosed = find_unclosed(begun, cursor.language)
    while unclosed and rest.startswith(CLOSER[unclosed[0].sign]):
        rest = rest[1:]
        unclosed = unclosed[1:]
    closers = {at: CLOSER[sign] for at, sign in unclosed}
    if cursor.language in WITH_END:
        closers |= {end: "end " for end, _ in ends_of_heads(begun, cursor.language)}
    n_before = len(cursor.before)
    return "".join(closers[at] for at in sorted(closers, reverse=True) if at >= n_before)
