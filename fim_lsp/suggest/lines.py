"""
The layout of a line of code: indentation, brackets, comments, whether it opens a block. Pure.

A cheap reading that works on half-typed code in any language; where it is unsure it errs towards
"plain code". Tree-sitter knows better, but only of text that is in the file already. Every pattern
takes time linear in the text (`tests/test_patterns.py`).
"""

from __future__ import annotations

import pkgutil
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

TAB_COLUMNS = 8  # where tabs and spaces are mixed, it is most often that

CLOSER = {"(": ")", "[": "]", "{": "}"}
CLOSERS = frozenset(CLOSER.values())

_ROWS: dict[str, dict[str, Any]] = tomllib.loads(
    (pkgutil.get_data(__package__ or "", "languages.toml") or b"").decode()
)
MARK_OF = {name: sign for sign, names in _ROWS["comments"].items() for name in names.split()}
DEFAULT_MARK = "//"  # C and its many descendants
BLOCKS = {name: pair.split() for pair, names in _ROWS["blocks"].items() for name in names.split()}
DEFAULT_BLOCK = ["/*", "*/"]
BRACE = re.compile(r"\{$")
OPENING = {  # by language; a `{` where it is not named here
    name: re.compile(how) for names, how in _ROWS["openings"].items() for name in names.split()
}
HEADS: dict[str, tuple[str, ...]] = {  # by language: lines that blocks begin with
    name: tuple(heads) for names, heads in _ROWS["heads"].items() for name in names.split()
}
NARROW = {  # by language: what its grammar knows too little of
    name: re.compile(how) for names, how in _ROWS["narrow"].items() for name in names.split()
}
STATEMENT_ENDS = {
    name: ends for ends, names in _ROWS["statements"].items() for name in names.split()
}
TICK_LANGUAGES, SHELLS, CONTINUING, WITHOUT_END = (
    frozenset(row.split()) for row in _ROWS["words"].values()
)
WORD = re.compile(r"\w+")
BRANCH = re.compile(r"[ \t]*(?:when|elsif|rescue|ensure)\b")  # of a block of Ruby


class Bracket(NamedTuple):
    """A bracket outside strings and comments, and its offset."""

    at: int
    sign: str


def indent(line: str) -> str:
    """Return the white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def margin(lines: Iterable[str]) -> str:
    """Return the indentation that all *lines* share, blank ones aside."""
    indents = [indent(line) for line in lines if line.strip()]
    shared = min(indents, key=len, default="")
    while not all(own.startswith(shared) for own in indents):
        shared = shared[:-1]
    return shared


def is_word_sign(sign: str) -> bool:
    """Return whether the character may stand in a name."""
    return sign.isalnum() or sign == "_"


def width(line: str) -> int:
    """Return the column of a line's first visible character."""
    return len(indent(line).expandtabs(TAB_COLUMNS))


def first_visible(lines: tuple[str, ...]) -> str:
    """Return the first line that is not blank, or ""."""
    return next((line for line in lines if line.strip()), "")


def mark(language: str) -> str:
    """Return the mark that begins a comment, "" where lines have no comments."""
    return MARK_OF.get(language, DEFAULT_MARK)


def is_comment(line: str, language: str) -> bool:
    """Return whether the line is nothing but a comment, or inside a block of them."""
    sign = mark(language)
    visible = line.lstrip()
    return bool(sign) and visible.startswith((sign, "/*", "* ") if sign == DEFAULT_MARK else sign)


def block_marks(language: str) -> tuple[str, str]:
    """Return what opens and closes a comment of several lines; "" twice where there are none."""
    default = DEFAULT_BLOCK if mark(language) == DEFAULT_MARK else ["", ""]
    opening, closing = BLOCKS.get(language, default)
    return opening, closing


@cache
def scanner(language: str) -> re.Pattern[str]:
    """
    Return strings, comments and brackets of a language, in one pattern; a closed string is one
    match.

    An escaped quote outside of strings begins none: behind an open one, each would be tried in
    vain.
    """
    any_length = r"\\[\\']|'(?:\\.|[^'\\\n])*'"
    single = r"'(?:\\.|[^'\\\n])'" if language in TICK_LANGUAGES else any_length
    comment = rf"|{re.escape(mark(language))}[^\n]*" if mark(language) else ""
    opening, closing = map(re.escape, block_marks(language))
    block = rf"|{opening}[\s\S]*?(?:{closing}|\Z)" if opening else ""
    return re.compile(
        r'(?P<skip>"""[\s\S]*?(?:"""|\Z)|' + r"'''[\s\S]*?(?:'''|\Z)|"
        rf'"(?:\\.|[^"\\\n])*"|{single}|`[^`]*`{block}{comment})'
        r'|(?P<open>["`][^\n]*)|(?P<bracket>[()\[\]{}])'
    )


def brackets(text: str, language: str) -> Iterator[Bracket]:
    """Yield the brackets of *text* in order, but none in strings and comments."""
    for match in scanner(language).finditer(text):
        if match["bracket"]:
            yield Bracket(match.start(), match[0])


def open_quote(line: str, language: str) -> str:
    """Return the quote sign of the string that *line* ends within, or ""."""
    for match in scanner(language).finditer(line):
        if match["open"]:
            return match[0][0]
        if match["skip"] and match[0].startswith(('"""', "'''")) and not is_closed_triple(match[0]):
            return match[0][:3]
    tick = language not in TICK_LANGUAGES and "'" in scanner(language).sub("", line)
    return "'" if tick else ""


def open_comment(text: str, language: str) -> str:
    """Return what closes the comment of several lines that *text* ends within, or ""."""
    opening, closing = block_marks(language)
    if not opening or opening not in text:
        return ""
    last = ""
    for match in scanner(language).finditer(text):
        last = match[0] if match.end() == len(text) else ""
    if not last.startswith(opening):
        return ""
    is_closed = last[len(opening) :].endswith(closing)
    return "" if is_closed else closing


def is_closed_triple(text: str) -> bool:
    """Return whether a triple-quoted string has its end."""
    return len(text) >= 2 * 3 and text.endswith(text[:3])


def walk_brackets(text: str, language: str) -> Iterator[tuple[Bracket, list[Bracket]]]:
    """
    Yield the brackets of *text* in order, each with those that are open before it, outermost first.

    A closing bracket without a partner closes nothing. The list is the same one each time.
    """
    opened: list[Bracket] = []
    for bracket in brackets(text, language):
        yield bracket, opened
        if bracket.sign in CLOSER:
            opened.append(bracket)
        elif opened and CLOSER[opened[-1].sign] == bracket.sign:
            opened.pop()


def find_unclosed(text: str, language: str) -> list[Bracket]:
    """Return the brackets that *text* leaves open, outermost first."""
    steps = [*walk_brackets(text, language)]
    return steps[-1][1] if steps else []


def opens_block(line: str, language: str) -> bool:
    """Return whether what follows *line* stands one level deeper."""
    code = scanner(language).sub(
        lambda match: "" if is_comment(match[0], language) else match[0], line
    )
    return bool(OPENING.get(language, BRACE).search(code.rstrip()))


def goes_on(line: str) -> bool:
    """
    Return whether a line at a header's own level still belongs to its block: `else`, `}`, `end`.
    """
    visible = line.lstrip()
    word = WORD.match(visible)
    return visible[:1] in CLOSERS or bool(word and word[0] in CONTINUING)


def may_go_on(part: str) -> bool:
    """The same of a line of which only the beginning *part* is there."""
    visible = part.strip()
    return not visible or goes_on(part) or any(word.startswith(visible) for word in CONTINUING)


def without_last_comma(text: str, language: str) -> str:
    """Return *text* without the comma that its code ends with, if it does."""
    end = len(text.rstrip())
    for match in scanner(language).finditer(text):
        if match.end() == end and is_comment(match[0], language):
            end = match.start()
    code = text[:end].rstrip()
    return code[:-1] + text[end:] if code.endswith(",") else text


def ends_of_heads(text: str, language: str) -> Iterator[tuple[int, str]]:
    """
    Yield where the lines end that open a block in which *text* ends, by their indentation, and
    their last words.
    """
    end = len(text)
    inner = len(text)
    for line in reversed(text.split("\n")):
        if line.strip() and width(line) < inner:
            inner = width(line)
            if opens_block(line, language):
                yield end, line.split()[-1]
            elif BRANCH.match(line):
                inner += 1  # its head stands at the same depth
        end -= len(line) + 1
