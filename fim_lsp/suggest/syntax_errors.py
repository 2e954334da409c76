"""
The number of syntax errors around a cursor, with one text or another at the cursor. Pure.

It runs on the event loop, so it must be quick for any text. Tree-sitter's error recovery takes time
quadratic in the tokens that are open where a text ends (see `context.grammars`), and time per
operation that grows with the text. So the text is short, its operations are limited, and it is
parsed in stages: a text that is deeply nested, or full of errors, is not parsed any further, and
nothing is known of it. Fuzzing sixteen grammars (repeated tokens around and at the cursor, in
strings and comments that the cursor's line opens or closes) on a core that was shared with other
work, the worst texts took 60 to 120 ms; without these limits they took up to 3 s.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate, product, takewhile
from typing import NamedTuple

from tree_sitter import Tree

from fim_lsp.context.grammars import Parse, count_errors, grammar_of, parse_bytes, parser_of
from fim_lsp.suggest.cursor import ABOVE_LINES, BELOW_LINES, Cursor
from fim_lsp.suggest.grammar_limits import drop_macros, is_narrow, is_out_of_grammar, list_heads
from fim_lsp.suggest.lines import (
    CLOSERS,
    first_visible,
    opens_block,
    scanner,
    width,
    without_last_comma,
)
from fim_lsp.suggest.open_ends import (
    close_blocks,
    close_comment,
    close_cut,
    close_quote,
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
        above = tuple(_within(cursor.above[::-1], ABOVE_CHARS))
        self.is_known = not is_out_of_grammar(cursor, above[::-1])
        below = tuple(_within(cursor.below, BELOW_CHARS))
        self._depth_above = _least_depth(above, len(cursor.above), ABOVE_LINES)
        self._depth_below = _least_depth(below, len(cursor.below), BELOW_LINES)
        self._is_cut = _is_cut(below, len(cursor.below), BELOW_LINES)
        above = drop_macros(cursor.language, above[::-1])
        below = drop_macros(cursor.language, below)
        is_inside = self._depth_above > 0 or (bool(cursor.above) and not above)
        heads = list_heads(cursor.language, above, below) if is_inside else ()
        above = _choose_start(cursor.language, above, heads)
        self._lines = cursor.language, above, below
        self._weight = WEIGHT.get(cursor.language, 1)
        self._operations = 0
        self._closing: str | None = None  # what the lines around were parsed with last

    def n_begun(self, begun: str, rest: str) -> int:
        """
        Return how many with *begun* and *rest* as the cursor's line, as `n` does, but that a comma
        at the end of *begun* is no error before a closing bracket: more items are to come.
        """
        language, _, below = self._lines
        shorter = without_last_comma(begun, language)
        if shorter != begun:
            closers = close_blocks(*self._lines, begun + rest)
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
        if len(here) > HERE_CHARS or self._leaves_sight(here) or is_narrow(self._lines[0], here):
            self.is_known = False
            return 0
        here = "\n".join(drop_macros(self._lines[0], tuple(here.split("\n"))))
        here += close_comment(*self._lines, here)
        closers = close_blocks(*self._lines, here)
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
        closing = close_quote(*self._lines, here)
        closing += close_cut(*self._lines, here) if self._is_cut else ""
        around = _around(*self._lines, closing)
        n_found, operations = _n_errors(*self._lines, closing, here)
        if closing != self._closing:
            self._closing = closing
            self._operations += around.parse.operations
        self._operations += operations
        self.is_known &= n_found >= 0 and self._operations * self._weight <= ALL_OPERATIONS
        return max(0, n_found)


def _least_depth(seen: Lines, n_lines: int, most: int) -> int:
    """
    Return the least depth of the lines *seen*, of *n_lines*; 0 where those are all that there are,
    fewer than *most*.
    """
    depths = [width(line) for line in seen if line.strip()]
    return min(depths, default=0) if _is_cut(seen, n_lines, most) else 0


def _is_cut(seen: Lines, n_lines: int, most: int) -> bool:
    """Return whether *seen* are fewer than the *n_lines*, or these as many as are ever given."""
    return len(seen) < n_lines or n_lines == most


@lru_cache(maxsize=16)
def _choose_start(language: str, above: Lines, heads: Lines) -> Lines:
    """
    Return the lines *above* from where they have the fewest errors, as they may begin within a
    string; where they begin inside a block, below one of the *heads* that such a block has.
    """
    if grammar_of(language) is None:
        return above
    starts = sorted({_first(above, language, quote) for quote in ("", '"""\n')})
    tops: list[Lines] = [(head,) for head in heads]
    tops = [(), *tops] if above or not tops else tops
    choices = [top + above[start:] for start, top in product(starts, tops)]
    best = choices[0]
    fewest = 1 << 30
    operations = 0
    for lines in choices if len(choices) > 1 else ():
        closers = close_blocks(language, lines, (), "")
        closing = close_quote(language, lines, (), closers)
        text = "\n".join(lines) + closers + closing
        parse = parse_in_stages(language, text.encode("utf-8", "replace"))
        operations += parse.operations
        if 0 <= _n_found(parse) < fewest:
            best = lines
            fewest = _n_found(parse)
        if parse.tree is None or not fewest or operations > OPERATIONS // 2:
            break
    return best


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
    """Return the lines around, with *closing* at their end."""
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
