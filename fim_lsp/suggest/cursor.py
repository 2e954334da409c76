"""
The cursor and what stands around it, and candidates for a suggestion: the data of this folder.

A `Cursor` holds what filters and boundaries look at, a bounded window without line ends, so that no
cost grows with the file. A `Candidate` is what the model said so far and what has been done to it.
Text has `\n` line ends; the engine gives it the document's own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from fim_lsp.documents import LINE_CHARS, Document, Position, body

# -- lines -------------------------------------------------------------------------------------
# The layout of a line of code: indentation, brackets, comments, whether it opens a block.
#
# A cheap reading that works on half-typed code in any language; where it is unsure it errs towards
# "plain code". Tree-sitter knows better, but only of text that is in the file already. Every
# pattern takes time linear in the text (`tests/test_patterns.py`).


TAB_COLUMNS = 4  # only compared with other widths of the same file, so any value does

CLOSER = {"(": ")", "[": "]", "{": "}"}
CLOSERS = frozenset(CLOSER.values())

COMMENT_MARKS = {
    "#": "python ruby shellscript bash sh zsh fish yaml toml makefile perl r elixir dockerfile "
    "julia nix cmake powershell coffeescript gdscript properties just",
    "--": "lua sql haskell elm ada vhdl",
    "%": "latex tex matlab erlang prolog bibtex",
    ";": "lisp clojure scheme commonlisp emacs-lisp ini asm",
    '"': "vim",
    "": "plaintext markdown html xml json css text restructuredtext git-commit",
}
MARK_OF = {language: mark for mark, names in COMMENT_MARKS.items() for language in names.split()}
DEFAULT_MARK = "//"  # C and its many descendants

# A lone ' is a lifetime, a tick or an apostrophe here; only whole character literals are strings.
TICK_LANGUAGES = frozenset(
    {"rust", "ocaml", "haskell", "ada", "vhdl", "lisp", "clojure", "plaintext", "markdown", "latex"}
)

# How a line ends, or looks, that opens a block.
BRACE = re.compile(r"\{$")
COLON = re.compile(r":$")
OPENING = {  # by language; a `{` where it is not named here
    "lua": re.compile(r"\b(?:then|do|else|repeat)$|\bfunction\b[^()]{0,100}\([^()]{0,300}\)$"),
    "ruby": re.compile(
        r"^\s*(?:def|class|module|if|unless|while|until|case|begin)\b(?!.*\bend$)"
        r"|\b(?:do|then|else)(?:\s*\|[^|]*\|)?$"
    ),
    "elixir": re.compile(r"\b(?:do|else)$|->$"),
    "shellscript": re.compile(r"\b(?:then|do|else|in)$|\{$"),
    **dict.fromkeys(("python", "gdscript", "yaml"), COLON),
}
# Words that a block goes on or ends with, at its header's own depth.
CONTINUING = frozenset(
    {"else", "elif", "elsif", "elseif", "except", "finally", "catch", "rescue", "ensure"}
    | {"end", "fi", "done", "esac", "until"}
)
WORD = re.compile(r"\w+")


class Bracket(NamedTuple):
    """A bracket outside strings and comments, and its offset."""

    at: int
    sign: str


def indent(line: str) -> str:
    """Return the white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


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
    sign, visible = mark(language), line.lstrip()
    return bool(sign) and visible.startswith((sign, "/*", "* ") if sign == DEFAULT_MARK else sign)


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
    block = r"|/\*[\s\S]*?(?:\*/|\Z)" if mark(language) == DEFAULT_MARK else ""
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


# Enough to see what a block belongs to and the file's style; llama.vim compares with far fewer.
ABOVE_LINES = 60
BELOW_LINES = 40

DEFAULT_INDENT = "    "  # the most common style of the languages we know


@dataclass(frozen=True, slots=True)
class Cursor:
    """
    A cursor: *before* and *after* are its line's two halves, *above* and *below* the lines around
    it, nearest last and first. *unit* is one level of indentation in this file. *by_hand* says that
    the user asked, and did not just type.
    """

    language: str = ""
    path: str = ""
    above: tuple[str, ...] = ()
    before: str = ""
    after: str = ""
    below: tuple[str, ...] = ()
    unit: str = DEFAULT_INDENT
    by_hand: bool = False


class FilterCut(NamedTuple):
    """The action of a filter: its name, and why in a few words."""

    filter: str
    why: str


class Odds(NamedTuple):
    """
    The end of a token in a text, in characters, and its log-probability; None where that is not
    known.
    """

    end: int
    logprob: float | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """
    Text to insert at the cursor in place of the next *replaces* characters of its line.

    *whole* says that the text ends where it should; false while a budget or deadline ended it.
    *odds* are those of the model's own text, token by token, until a filter changes it; none of a
    line in sight. An empty text means nothing is to be shown, and the last of *cuts* says why.
    """

    text: str
    whole: bool = True
    odds: tuple[Odds, ...] = ()
    replaces: int = 0
    cuts: tuple[FilterCut, ...] = ()
    why: str = ""

    def cut(self, end: int, why: str) -> Candidate:
        """Return the candidate up to *end*: a chosen place, so what is left is whole."""
        return replace(self, text=self.text[:end], whole=True, why=why)

    def cut_lines(self, n_lines: int, why: str) -> Candidate:
        """Return the first *n_lines* of the candidate, without the last one's end."""
        return self.cut(len("\n".join(self.text.split("\n")[:n_lines])), why)

    def change(self, text: str, why: str, replaces: int = 0) -> Candidate:
        """Return the candidate with another text; as it is where that is the same."""
        if text == self.text and not replaces:
            return self
        return replace(self, text=text, why=why, replaces=self.replaces + replaces)


def cursor_at(
    document: Document, position: Position, path: str = "", *, by_hand: bool = False
) -> Cursor:
    """
    Return the place of *position*; *path* is how comments in the workspace would name the file.
    """
    lines, (line, column) = document.lines, position
    above = tuple(map(_beginning, lines[max(0, line - ABOVE_LINES) : line]))
    below = tuple(map(_beginning, lines[line + 1 : line + 1 + BELOW_LINES]))
    here = body(lines[line])
    unit = indent_unit((*above, *below)) or indent_unit((here,)) or DEFAULT_INDENT
    return Cursor(
        document.language, path, above, here[:column], here[column:], below, unit, by_hand
    )


def _beginning(line: str) -> str:
    """Return as much of a line as is looked at."""
    return body(line) if len(line) <= LINE_CHARS else line[:LINE_CHARS]


@lru_cache(maxsize=16)  # the lines around stay while a line is typed
def indent_unit(lines: tuple[str, ...]) -> str:
    """
    Return one level of indentation: a tab, or the step by which lines most often go deeper; "" if
    none does.
    """
    indents = [indent(line) for line in lines if line.strip()]
    n_tabs = sum(white.startswith("\t") for white in indents)
    n_spaces = sum(white.startswith(" ") for white in indents)
    if n_tabs > n_spaces:
        return "\t"
    steps = Counter(len(b) - len(a) for a, b in pairwise(indents) if len(b) - len(a) > 1)
    return " " * steps.most_common(1)[0][0] if steps else ""
