"""
Where a grammar cannot tell what is right: templates, macros and conditions of a preprocessor,
words that it is too old for, and what begins out of sight. Pure.
"""

from __future__ import annotations

import re
from functools import lru_cache

from fim_lsp.suggest.cursor import ABOVE_LINES, Cursor
from fim_lsp.suggest.lines import CLOSER, CLOSERS, HEADS, NARROW, find_unclosed, walk_brackets
from fim_lsp.suggest.open_ends import CONDITION, JSX, TAGS, WITH_CONDITIONS

TEMPLATE = re.compile(r"<[%?]|\{[%{]")  # ERB, EJS, PHP, Jinja

# Macros that stand where C has no word: alone, before a type or in place of a declaration.
WITH_MACROS = ("c", "cpp")
_VALUE = r"(?:\w++|\"[^\"\n]*+\")"
_ARGUMENTS = rf"\({_VALUE}?(?:,[ ]*{_VALUE})*+\)"
MACRO = re.compile(
    rf"^[ \t]*(?:[A-Z][A-Z0-9]*_[A-Z0-9_]*+(?:{_ARGUMENTS})?|[A-Z][A-Z0-9]++{_ARGUMENTS})[ \t]*$"
    r"|\b(?!(?:return|new|delete|throw|operator|co_return|co_yield|sizeof)\b)[A-Za-z_]\w*+[ \t]++"
    r"(?=(?:void|bool|char|short|int|long|float|double|size_t|unsigned|signed|static|inline)\b)"
)

OPENER = {closer: opener for opener, closer in CLOSER.items()}

Lines = tuple[str, ...]


def is_out_of_grammar(cursor: Cursor, above: Lines) -> bool:
    """
    Return whether no grammar can tell what is right at *cursor*, below the lines *above* that are
    seen: none are, a preprocessor knows better, or it is a template.
    """
    language = cursor.language
    is_blind = language != "json" and bool(cursor.above) and not above
    is_inside = _is_in_condition(language, above) or _is_in_element(language, above)
    return is_blind or is_inside or _is_template(cursor)


def is_narrow(language: str, here: str) -> bool:
    """Return whether a line is one that the grammar knows too little of."""
    return language in NARROW and bool(NARROW[language].search(here))


@lru_cache(maxsize=16)
def drop_macros(language: str, lines: Lines) -> Lines:
    """Return *lines* of C or C++ without the macros that are no part of its grammar."""
    if language not in WITH_MACROS:
        return lines
    return tuple(line if "#" in line else MACRO.sub("", line) for line in lines)


def list_heads(language: str, above: Lines, below: Lines) -> Lines:
    """
    Return lines that the block may begin with in which the lines *above* do; of JSON, one that
    opens what the lines *below* close.
    """
    heads = HEADS.get(language, ())
    if language != "json":
        return heads
    stray = [
        sign
        for (_, sign), opened in walk_brackets("\n".join((*above, *below)), language)
        if sign in CLOSERS and not opened
    ]
    head = "".join(OPENER[sign] for sign in reversed(stray))
    head = head.replace("{[", '{"x": [').replace("{{", '{"x": {')
    return (head, *heads) if head else heads


def _is_in_condition(language: str, above: Lines) -> bool:
    """
    Return whether a preprocessor's condition is open that began within a block: each of its
    branches may open and close what it likes.
    """
    if language not in WITH_CONDITIONS:
        return False
    text = "\n".join(above)
    starts: list[int] = []
    for match in CONDITION.finditer(text):
        if match[1] == "if":
            starts.append(match.start())
        elif starts:
            starts.pop()
    return bool(starts) and bool(find_unclosed(text[: starts[-1]], language))


def _is_in_element(language: str, above: Lines) -> bool:
    """Return whether the lines *above* begin within an element of JSX that ends there."""
    if TAGS.get(language) is not JSX:
        return False
    depth = 0
    for match in JSX.finditer("\n".join(above)):
        if match["closes"]:
            depth -= 1
        elif not match[0].endswith("/>"):
            depth += 1
        if depth < 0:
            return True
    return False


def _is_template(cursor: Cursor) -> bool:
    """Return whether the cursor stands in HTML that code is mixed with: no grammar knows both."""
    above = "\n".join(cursor.above)
    if cursor.language == "php":
        return len(cursor.above) < ABOVE_LINES and "<?" not in above
    around = "\n".join((above, cursor.before, *cursor.below))
    return cursor.language == "html" and bool(TEMPLATE.search(around))
