"""
The number of syntax errors around a cursor, with one text or another at the cursor. Pure.

It runs on the event loop, so it must be quick for any text. Tree-sitter's error recovery takes time
quadratic in the tokens that are open where a text ends (see `context.grammars`), and time per
operation that grows with the text. So the text is short, its operations are limited, and it is
parsed in stages: what is deeply nested, or full of errors, is not parsed any further, and nothing
is known of it. Fuzzing sixteen grammars (repeated tokens around and at the cursor, in strings and
comments that the cursor's line opens or closes) on a core that was shared with other work, the
worst texts took 60 to 120 ms; without these limits they took up to 3 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, takewhile
from typing import NamedTuple

from tree_sitter import Tree

from fim_lsp.context.grammars import Parse, count_errors, grammar_of, parse_bytes, parser_of
from fim_lsp.suggest.cursor import ABOVE_LINES, BELOW_LINES, Cursor
from fim_lsp.suggest.lines import (
    CLOSER,
    CLOSERS,
    SHELLS,
    block_marks,
    ends_of_heads,
    find_unclosed,
    first_visible,
    goes_on,
    open_comment,
    open_quote,
    opens_block,
    scanner,
    width,
    without_last_comma,
)

# Characters around the cursor, in whole lines: about half of the 60 lines above, a third of the 40
# below. Text further below changes hardly a verdict, and is parsed again for each text.
ABOVE_CHARS = 2000
BELOW_CHARS = 700

# Characters of the cursor's line with the suggestion: 128 tokens are some 450.
HERE_CHARS = 500

STAGE = 1000  # bytes more that are parsed at a time: 50 ms at most

# Of the parser, for one text and for all texts that are parsed for one candidate: nearly all take
# less, and the others stand in C headers. In a bad text 1,000 take 2 ms, and in Ruby 14 ms. In
# Python the last one takes most: 143 ms behind 4,400 for `/*`, and 73 behind 2,250, at load 9.
OPERATIONS = 4_500
ALL_OPERATIONS = 15_000
WEIGHT = {"ruby": 2, "python": 2}

# Bytes from one error to the next, after the first 20: code that is only half-typed has more.
SOME_ERRORS = 20
ERROR_BYTES = 25

# Nodes within nodes: code has half as many, and the texts that are slow where they end have more.
DEPTH = 60
DEPTH_BYTES = 30  # a shorter node is not looked into: it takes no time, however deep it is

# The words that close a block of a shell, by the last word of its head; Lua and Ruby have `end`.
END_WORDS = {"then": "fi", "else": "fi", "do": "done", "in": "esac"}
NO_START = frozenset(")]}\"'`#*/")  # closers, strings and comments: the inside of something

Lines = tuple[str, ...]


class Around(NamedTuple):
    """
    The lines around an empty one, parsed: only that line is parsed again, in a third of the time.

    *parse* is that of *before* and *after*, without a tree where that takes too long.
    """

    before: bytes
    after: bytes
    parse: Parse


class SyntaxErrors:
    """The errors around a cursor; not *is_known* from the first text on that takes too long."""

    def __init__(self, cursor: Cursor) -> None:
        self.is_known = True
        above = tuple(_within(cursor.above[::-1], ABOVE_CHARS))
        below = tuple(_within(cursor.below, BELOW_CHARS))
        self._lines = cursor.language, above[::-1], below
        self._depth_above = _least_depth(above, len(cursor.above), ABOVE_LINES)
        self._depth_below = _least_depth(below, len(cursor.below), BELOW_LINES)
        self._weight = WEIGHT.get(cursor.language, 1)
        self._operations = 0

    def n_begun(self, begun: str, rest: str) -> int:
        """
        Return how many with *begun* and *rest* as the cursor's line, as `n` does, but that a comma
        at the end of *begun* is no error before a closing bracket: more items are to come.
        """
        language, _, below = self._lines
        shorter = without_last_comma(begun, language)
        if shorter != begun:
            closers = _closing_blocks(*self._lines, begun + rest)
            following = rest.strip() or closers.strip() or first_visible(below).strip()
            begun = shorter if following[:1] in CLOSERS else begun
        return self.n(begun + rest)

    def n(self, here: str) -> int:
        """
        Return how many with *here* as the cursor's line; 0 where there is no grammar or they are
        not known.
        """
        if not self.is_known or grammar_of(self._lines[0]) is None:
            return 0
        if len(here) > HERE_CHARS or self._leaves_sight(here):
            self.is_known = False
            return 0
        here += _closing_comment(*self._lines, here)
        closers = _closing_blocks(*self._lines, here)
        n_found = self._n(here + closers)
        if n_found and closers.startswith("\n}"):  # of `if (x)`, the body comes in the next line
            n_found = min(n_found, self._n(f"{here}\n;{closers}"))
        return n_found

    def _leaves_sight(self, here: str) -> bool:
        """
        Return whether *here* closes a block that begins above what is seen, or opens one that ends
        below it: the other end would be missing.
        """
        *_, last = lines = here.split("\n")
        opens = width(last) < self._depth_below and opens_block(last, self._lines[0])
        return opens or any(
            line.lstrip()[:1] in CLOSERS and width(line) < self._depth_above for line in lines
        )

    def _n(self, here: str) -> int:
        closing = _closing_quote(*self._lines, here)
        around = _around(*self._lines, closing)
        n_found, operations = _n_errors(*self._lines, closing, here)
        self._operations = self._operations or around.parse.operations
        self._operations += operations
        self.is_known &= n_found >= 0 and self._operations * self._weight <= ALL_OPERATIONS
        return max(0, n_found)


def _least_depth(seen: Lines, n_lines: int, most: int) -> int:
    """
    Return the least depth of the lines *seen*, of *n_lines*; 0 where those are all that there are,
    fewer than *most*.
    """
    is_cut = len(seen) < n_lines or n_lines == most
    return min((width(line) for line in seen if line.strip()), default=0) if is_cut else 0


def _within(lines: Lines, n_chars: int) -> Iterator[str]:
    sizes = accumulate(len(line) + 1 for line in lines)
    fitting = takewhile(lambda pair: pair[1] <= n_chars, zip(lines, sizes, strict=True))
    return (line for line, _ in fitting)


@lru_cache(maxsize=64)
def _n_errors(
    language: str, above: Lines, below: Lines, closing: str, here: str
) -> tuple[int, int]:
    """
    Return the errors, -1 where that takes too long, and the operations.

    Remembered, because typing through a suggestion asks the same text of every key.
    """
    around = _around(language, above, below, closing)
    text = here.encode("utf-8", "replace")
    if around.parse.tree is None:
        return -1, 0
    tree = around.parse.tree.copy()
    at = len(around.before)
    row = around.before.count(b"\n")
    tree.edit(at, at, at + len(text), (row, 0), (row, 0), _end_of(around.before + text))
    parse = _calm(language, around.before + text + around.after, tree)
    return _n_found(parse), parse.operations


def _n_found(parse: Parse) -> int:
    return count_errors(parse.tree) if parse.tree else -1


@lru_cache(maxsize=16)
def _around(language: str, above: Lines, below: Lines, closing: str) -> Around:
    """
    Return the lines from where they make most sense, as they may begin within a string; *closing*
    at their end.
    """
    starts = {_first(above, language, quote) for quote in ("", '"""\n')}
    choices: list[Around] = []
    for start in sorted(starts):
        choices.append(_parse_around(language, above[start:], below, closing))
        if choices[-1].parse.tree is None:
            break
    return min(choices, key=lambda around: _n_found(around.parse))


def _closing_quote(language: str, above: Lines, below: Lines, here: str) -> str:
    """
    Return the text that closes a long string that goes on below: an error there would hide all
    others.
    """
    quote = open_quote("\n".join((*above, here, *below)), language)
    return quote if len(quote) > 1 else ""


def _closing_comment(language: str, above: Lines, below: Lines, here: str) -> str:
    """
    Return what closes the comment that *here* ends within, where the lines below do not before
    they open another: what follows is code, and each line of the comment would be one.
    """
    closing = open_comment("\n".join((*above, here)), language)
    following = "\n".join(below)
    (opening, _) = block_marks(language)
    return "" if closing and closing in following.partition(opening)[0] else closing


@lru_cache(maxsize=64)
def _closing_blocks(language: str, above: Lines, below: Lines, here: str) -> str:
    """
    Return what closes the blocks that *here* opens, and the blocks and brackets above it, where the
    lines below do not: a user who types line by line has not come to them yet.
    """
    text = "\n".join((*above, here))
    following = first_visible(below)
    n_above = len(text) - len(here)
    next_width = width(following)
    unclosed = find_unclosed(text, language)[-DEPTH:]
    closers = {at: CLOSER[sign] for at, sign in unclosed if sign == "{" or at < n_above}
    if language in ("lua", "ruby", *SHELLS):
        for end, last in ends_of_heads(text, language):
            closers[end] = f"\n{END_WORDS.get(last, '') if language in SHELLS else 'end'}"

    def is_open(at: int) -> bool:
        depth = width(text[text.rfind("\n", 0, at) + 1 : at + 1])
        return next_width < depth or (next_width == depth and not goes_on(following))

    found = "".join(closers[at] for at in takewhile(is_open, sorted(closers, reverse=True)))
    return found and f"\n{found}"  # not behind a comment


def _parse_around(language: str, above: Lines, below: Lines, closing: str) -> Around:
    before = "".join(f"{line}\n" for line in above).encode("utf-8", "replace")
    after = ("\n" + "\n".join(below) + closing).encode("utf-8", "replace")
    return Around(before, after, parse_in_stages(language, before + after))


def parse_in_stages(language: str, text: bytes) -> Parse:
    """Return the tree of *text*, none where that takes too long; there is a grammar."""
    size = STAGE
    tree, operations = _calm(language, text[:size])
    while tree is not None and size < len(text):
        end = _end_of(text[:size])
        more = text[: size + STAGE]
        tree.edit(size, size, len(more), end, end, _end_of(more))
        tree, used = _calm(language, more, tree)
        size = len(more)
        operations += used
    return Parse(tree, operations)


def _end_of(text: bytes) -> tuple[int, int]:
    """Return the row and the column where *text* ends."""
    return text.count(b"\n"), len(text) - text.rfind(b"\n") - 1


def _calm(language: str, text: bytes, old_tree: Tree | None = None) -> Parse:
    """Return the tree of *text*, None where it takes too long or a longer one may."""
    grammar = grammar_of(language)
    most = OPERATIONS // WEIGHT.get(language, 1)
    assert grammar is not None
    tree, operations = parse_bytes(parser_of(grammar), text, most, old_tree)
    n_errors = SOME_ERRORS + len(text) // ERROR_BYTES
    is_calm = tree is not None and not _is_deep(tree) and count_errors(tree) <= n_errors
    return Parse(tree if is_calm else None, operations)


def _is_deep(tree: Tree) -> bool:
    """Return whether there are more than `DEPTH` nodes within each other."""
    level = [tree.root_node]
    for _ in range(DEPTH):
        children = (child for node in level for child in node.children)
        level = [child for child in children if child.end_byte - child.start_byte >= DEPTH_BYTES]
        if not level:
            return False
    return True


def _first(above: Lines, language: str, quote: str) -> int:
    """
    Return the first line to parse, so that little is cut in two: the topmost of the least indented
    lines of code.
    """
    text = quote + "\n".join(above)
    inside: set[int] = set()  # lines that begin within a string or a comment
    for match in scanner(language).finditer(text):
        n_breaks = match[0].count("\n")
        if n_breaks:
            line = text.count("\n", 0, match.start()) - quote.count("\n")
            inside.update(range(line + 1, line + 1 + n_breaks))
    starts = [
        idx
        for idx, line in enumerate(above)
        if line.strip() and line.lstrip()[0] not in NO_START and idx not in inside
    ]
    return min(starts, key=lambda idx: width(above[idx]), default=0)
