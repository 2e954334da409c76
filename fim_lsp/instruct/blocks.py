"""
A chat model's answer into the block of code in it. Pure.

Read are thoughts, then fences as CommonMark defines them (0.31, "Fenced code blocks"), and besides,
because models write Markdown into a block of three backticks: a fence with a word behind it opens a
block within the block, and in a text that has fences itself the last bare fence ends the block. A
Markdown parser knows neither, and none of them reads a text that is still being written, so these
sixty lines stand here.

Where an answer can be read in two ways, or is words around pieces, it has no block (`Found.why`).
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from server_bridge.fim import thoughts

FENCE = "```"
# Languages whose texts have fences of their own, by the names that editors and models give them.
MARKUP = frozenset(["markdown", "md", "mdx", "rmd", "rmarkdown", "quarto"])
PATCHES = frozenset(("diff", "patch"))
NO_BLOCK = "the model answered with no code"
SEVERAL = "the model answered with several blocks of code"
UNCLEAR = "it is not clear where the model's answer begins and ends"
TOO_LARGE = "the model's answer is far longer than the selection"
PATCH = "the model answered with a patch"
MOST_FENCES = 400  # in an answer: each block costs a look at those behind it
MOST_THOUGHTS = 20  # with words between them, likewise
MOST_CHARS = 256_000  # of an answer: four times the longest selection
QUOTED_CHARS = 4  # of a line; shorter ones, as `}`, stand in any text

_FENCE = re.compile(r"^([ \t]*)(`{3,}(?=[^`]*$)|~{3,}+)(.*)$")


class Fence(NamedTuple):
    """A line that may be a fence: how deep it stands, its signs, and the words behind them."""

    depth: int
    signs: str
    words: str


class Found(NamedTuple):
    """
    The lines of the block of an answer so far; *is_whole*: no more of it can come. *why* says why
    there is none, "" where there is one.
    """

    lines: tuple[str, ...] = ()
    is_whole: bool = False
    why: str = ""


class _Block(NamedTuple):
    """
    The lines [first, last) of an answer, between its fences; *is_closed* by one, *is_clear* where
    no other reading of the fences makes sense.
    """

    opening: Fence
    first: int
    last: int
    is_closed: bool = True
    is_clear: bool = True

    def of(self, lines: Sequence[str]) -> Sequence[str]:
        """Return its own of the *lines* of the answer."""
        return lines[self.first : self.last]


def longest_fence(lines: Sequence[str]) -> int:
    """Return how long the longest fence in *lines* is, 0 without one."""
    return max((len(found.signs) for line in lines if (found := _fence(line))), default=0)


def is_left_open(lines: Sequence[str]) -> bool:
    """Return whether *lines* end within a block that a fence in them begins."""
    opening: Fence | None = None
    for found in filter(None, map(_fence, lines)):
        if opening is None:
            opening = found
        elif found.signs.startswith(opening.signs) and not found.words:
            opening = None
    return opening is not None


def find_block(
    answer: str, shown: Sequence[str], language: str = "", *, ended: bool = False
) -> Found:
    """
    Return the block in the model's *answer* to a question that showed the lines *shown* of that
    *language*; before it *ended*, as far as its lines are whole.
    """
    if len(answer) > MOST_CHARS:
        return Found(why=TOO_LARGE)
    at = _behind_thoughts(answer, may_quote=any("</" in line for line in shown))
    lines = answer[at:].split("\n")
    if not ended:
        lines.pop()  # it may go on, or become a fence
    longest = longest_fence(shown)
    is_text = longest > 0 or language in MARKUP
    blocks = _read_blocks(lines, longest, is_text=is_text, ended=ended)
    if not blocks:
        return Found(why=NO_BLOCK)
    others = [block for block in blocks if _bare(block.of(lines)) != _bare(shown)]
    block = (others or blocks)[0]
    begins = bool(others) and not any(map(str.strip, lines[: block.first - 1]))
    is_last = begins and (not is_text or _is_definite(block.opening, longest))
    is_whole = block.is_closed and (ended or is_last)
    inside = tuple(_strip(block.of(lines)))
    if not longest and not is_text:
        inside = _unwrap(inside)
    if not ended:
        return Found(inside, is_whole)
    is_only = len(blocks) == 1
    why = _why_unclear(block, inside, shown, language, is_only=is_only)
    why = why or _why_partial(lines, blocks, shown)
    if len(others) > 1 and not begins:
        why = why or SEVERAL
    return Found(inside, is_whole, why)


def _behind_thoughts(answer: str, *, may_quote: bool) -> int:
    """
    Return where the answer begins, behind what the model thought; its end while it thinks. A tag on
    a line of its own ends a thought within a block, too, unless the code *may_quote* tags.
    """
    at = thoughts.skip(answer)
    for _ in range(MOST_THOUGHTS):
        spans = list(_spans(answer, at))
        front = spans[0][0] if spans else len(answer)
        begin = at if thoughts.is_open(answer, at) else thoughts.find_begin(answer, at, front)
        ends = [
            end
            for start, end in thoughts.find_ends(answer, at)
            if not _is_in(start, spans) or (not may_quote and _is_line(answer, start, end))
        ]
        if begin >= 0:
            behind = thoughts.skip(answer, begin)
        elif ends:  # the template began it
            behind = thoughts.skip(answer, ends[-1])
        else:
            return at
        if thoughts.is_open(answer, behind):
            break
        at = behind
    return len(answer)


def _is_line(text: str, start: int, end: int) -> bool:
    """Return whether the text from *start* to *end* is a line of its own."""
    return text[max(0, start - 1) : start] in ("", "\n") and text[end : end + 1] in ("", "\n")


def _is_in(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether one of *spans* holds the character."""
    n_before = bisect_right(spans, (at, sys.maxsize))
    return n_before > 0 and at < spans[n_before - 1][1]


def _spans(answer: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield where each block of *answer* begins and ends, in characters, from *at* on."""
    lines = answer[at:].split("\n")
    starts = [at]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    for block in _read_blocks(lines, 0, is_text=False, ended=True):
        yield starts[block.first - 1], starts[min(block.last + 1, len(lines))]


def _read_blocks(lines: Sequence[str], longest: int, *, is_text: bool, ended: bool) -> list[_Block]:
    """
    Return the outermost blocks of an answer, that may have *ended*; *is_text*: the text asked for
    may have fences, up to the *longest*.
    """
    found = ((n, _fence(line)) for n, line in enumerate(lines))
    fences = list(islice(((n, fence) for n, fence in found if fence), MOST_FENCES))
    blocks: list[_Block] = []
    while fences:
        (first, opening), *others = fences
        alike = [(n, fence) for n, fence in others if fence.signs.startswith(opening.signs)]
        inner = [(n, fence) for n, fence in alike if fence.depth <= opening.depth]
        last = _find_end(inner)
        latest = _find_latest_end(inner)
        is_clear = True
        if is_text and latest not in (None, last) and not _is_definite(opening, longest):
            is_clear = longest > 0
            last = latest
        if last is None and ended:
            last = _find_odd_end(alike)
        end = len(lines) if last is None else last
        blocks.append(_Block(opening, first + 1, end, last is not None, is_clear))
        fences = [(n, fence) for n, fence in others if n > end]
    return blocks


def _is_definite(opening: Fence, longest: int) -> bool:
    """Return whether no fence within the block can be taken for its end."""
    return len(opening.signs) > max(len(FENCE), longest)


def _unwrap(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the lines of the block that *lines* are: models write one into another."""
    opening = _fence(lines[0]) if lines else None
    closing = _fence(lines[-1]) if len(lines) > 1 else None
    is_one = longest_fence(lines[1:-1]) == 0
    if opening is None or closing is None or not is_one or closing.words:
        return lines
    return tuple(_strip(lines[1:-1]))


def _find_end(inner: Sequence[tuple[int, Fence]]) -> int | None:
    """Return the bare fence that ends a block, where one with words begins one within it."""
    depth = 0
    for n, fence in inner:
        if fence.words:
            depth += 1
        elif depth:
            depth -= 1
        else:
            return n
    return None


def _find_latest_end(inner: Sequence[tuple[int, Fence]]) -> int | None:
    """Return the last bare fence, where those before it are in pairs; else None."""
    bare = [at for at, (_, fence) in enumerate(inner) if not fence.words]
    if not bare:
        return None
    is_open = False
    for _, fence in inner[: bare[-1]]:
        if is_open and fence.words:
            return None
        is_open = not is_open
    return None if is_open else inner[bare[-1]][0]


def _find_odd_end(alike: Sequence[tuple[int, Fence]]) -> int | None:
    """Return the last bare fence, however deep, where there is none for it to end but the block."""
    bare = [n for n, fence in alike if not fence.words]
    return bare[-1] if bare and len(alike) % 2 else None


def _why_unclear(
    block: _Block, inside: Sequence[str], shown: Sequence[str], language: str, *, is_only: bool
) -> str:
    """
    Return why the block may not be all that was asked for, by its fence and those around it:
    *is_only* the answer's only one.
    """
    word = block.opening.words.partition(" ")[0].lower()
    if word in PATCHES and language not in PATCHES:
        return PATCH
    is_named = word in MARKUP or (word == language != "")
    if language in MARKUP and word and not is_named:
        return UNCLEAR
    longest = longest_fence(shown)
    is_other = longest and not ((is_named and is_only) or longest_fence(inside))
    if is_other and not _is_definite(block.opening, longest):
        return UNCLEAR
    is_cut = is_left_open(shown) and not _is_definite(block.opening, longest)
    return UNCLEAR if is_cut or not block.is_clear else ""


def _why_partial(lines: Sequence[str], blocks: Sequence[_Block], shown: Sequence[str]) -> str:
    """Return why the block is only a part: lines that were shown stand in no block."""
    known = {line.strip() for line in shown if len(line.strip()) >= QUOTED_CHARS}
    within = {n for block in blocks for n in range(block.first - 1, block.last + 1)}
    outside = (line.strip() for n, line in enumerate(lines) if n not in within)
    return UNCLEAR if any(line in known for line in outside) else ""


def _fence(line: str) -> Fence | None:
    is_odd = FENCE not in line and "~~~" not in line
    match = None if is_odd else _FENCE.match(line)
    if match is None:
        return None
    return Fence(len(match[1].expandtabs(len("    "))), match[2], match[3].strip())


def _strip(lines: Sequence[str]) -> Sequence[str]:
    """Return *lines* without blank ones at both ends."""
    written = [n for n, line in enumerate(lines) if line.strip()]
    return lines[written[0] : written[-1] + 1] if written else ()


def _bare(lines: Sequence[str]) -> list[str]:
    """Return *lines* without the white space around them."""
    return [line.strip() for line in _strip(lines)]
