"""
Raw model text into a suggestion: an ordered list of small filters, each `(Candidate, Cursor) ->
Candidate`.

`polish` runs them and notes what each one changed and why; `fim/stats` counts the names. A filter
only takes away (`reindented` respells white space), so a suggestion is never anything the model did
not say. Those in `MEANT` judge the text as the model meant it; then it is cut where the model is
not sure, and those in `LEFT` see what is left, which may break off anywhere. To add one: a
function, its place in a list, a golden case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from itertools import takewhile

from fim_lsp.prompt.window import closes_only
from fim_lsp.suggest import boundary
from fim_lsp.suggest.confidence import (
    NOT_SURE,
    likely,
    lines_below,
    looping_lines,
    respell,
    stuttering,
    typed_again,
)
from fim_lsp.suggest.cursor import (
    CLOSER,
    CLOSERS,
    WORD,
    Candidate,
    Cursor,
    FilterCut,
    brackets,
    find_unclosed,
    first_visible,
    indent,
    is_word_sign,
    open_quote,
    opens_block,
    walk_brackets,
    width,
)
from fim_lsp.suggest.syntax_errors import parses

# -- brackets ----------------------------------------------------------------------------------
# Filters for the seam: a suggestion and the text that stands right of the cursor and below must
# fit.
#
# Editors close brackets and quotes as they are opened, so `print(▮)` is the normal case, and a
# model that sees `print(` writes `x)`. Every way to join the two is tried: keep the text, trim what
# the right side says too, replace what the editor inserted, end where the model closes what is
# closed already. The one that leaves the fewest brackets and quotes without a partner wins.


def right_text(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Join the candidate to the text right of the cursor so that nothing is said or closed twice.
    """
    if not cursor.after.strip() or not candidate.text:
        return candidate
    language = cursor.language

    def n_alone(joined: Candidate) -> int:
        line = cursor.before + joined.text + cursor.after[joined.replaces :]
        return n_without_partner(line, language)

    return min(_joints(candidate, cursor), key=n_alone)  # the first of equals


def closed_below(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Cut before a bracket that closes nothing of the candidate while the next line closes the same.
    """
    following = first_visible(cursor.below)
    text, n_before = cursor.before + candidate.text, len(cursor.before)
    for (at, sign), opened in walk_brackets(text, cursor.language):
        if sign in CLOSER or at < n_before:
            continue
        if opened:
            if CLOSER[opened[-1].sign] != sign:
                return candidate.cut(at - n_before, "closes another bracket than was opened")
        elif following.lstrip().startswith(sign):
            why, start = "closes what the line below closes", text.rfind("\n", 0, at) + 1
            if text[start:at].strip():
                return candidate.cut(at - n_before, why)
            if width(text[start : at + 1]) == width(following):
                return candidate.cut(max(0, start - 1 - n_before), why)
    return candidate


def opened_here(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut behind the bracket that holds the lines below, where the candidate closes it."""
    closer, language = _find_closer_at_end(cursor), cursor.language
    if not closer or find_unclosed(cursor.before + candidate.text, language):
        return candidate
    for at, sign in reversed([*brackets(candidate.text.partition("\n")[0], language)]):
        if CLOSER.get(sign) == closer:
            return candidate.cut(at + 1, "holds the lines below")
    return candidate


def n_without_partner(text: str, language: str) -> int:
    """
    Return how many brackets and quotes of *text* are opened and not closed, or the other way round.
    """
    signs = [sign for _, sign in brackets(text, language)]
    n_open, n_openers = len(find_unclosed(text, language)), sum(sign in CLOSER for sign in signs)
    n_stray = len(signs) - n_openers - (n_openers - n_open)  # closing ones without a partner
    n_quotes = sum(bool(open_quote(line, language)) for line in text.split("\n"))
    begins_block = text.rstrip().endswith("{")
    return n_open + n_stray + n_quotes - begins_block


def _find_closer_at_end(cursor: Cursor) -> str:
    """
    Return the bracket that closes the deeper lines below at the depth of the cursor's line, or "".
    """
    here = width(cursor.before)
    if width(first_visible(cursor.below)) <= here:
        return ""
    last = next((line for line in cursor.below if line.strip() and width(line) <= here), "")
    sign = last.lstrip()[:1]
    return sign if sign in CLOSERS and width(last) == here and sign != "}" else ""


def _joints(candidate: Candidate, cursor: Cursor) -> Iterator[Candidate]:
    """Yield every way to join candidate and right text, the most welcome first."""
    text, after = candidate.text.rstrip(), cursor.after.rstrip()
    for n_chars in range(min(len(text), len(after)), 0, -1):
        if _meets(text, after, n_chars):
            yield candidate.change(text[:-n_chars], "ends with the text to the right")
    yield candidate
    for n_chars in range(1, 1 + sum(1 for _ in takewhile(closes_only, after))):
        yield candidate.change(candidate.text, "closes what the editor closed", n_chars)
    if not candidate.whole:
        return  # a bracket that it opens may be closed by what is not there yet
    for at, _ in reversed(list(brackets(text, cursor.language))):
        yield candidate.cut(at, "does not fit the brackets to the right")


def _meets(text: str, after: str, n_chars: int) -> bool:
    """
    Return whether the last characters of *text* are the first of *after*, and not half a word of
    either.
    """
    if text[-n_chars:] != after[:n_chars]:
        return False
    return not _inside_word(text, len(text) - n_chars) and not _inside_word(after, n_chars)


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and all(map(is_word_sign, text[at - 1 : at + 1]))


Filter = Callable[[Candidate, Cursor], Candidate]

# Control tokens of the FIM models we know that are printed when a server's stop list misses them,
# or its vocabulary marks them as text (codegemma's `<|file_separator|>`: llama.vim issue 90).
SPECIAL = re.compile(
    r"<\|(?:fim_\w+|endoftext|end_of_text|im_(?:start|end)|file_sep(?:arator)?|repo_name|"
    r"code_\w+)\|>"
    r"|<(?:fim_\w+|file_sep|repo_name|filename|reponame|\|endoftext\|)>|<[ ]?/?(?:PRE|SUF|MID|EOT|"
    r"END)>"
    r"|<｜[^｜\n]{1,40}｜>|<\[(?:fim-\w+|end▁of▁sentence)\]>|\[(?:SUFFIX|PREFIX|MIDDLE)\]|</?think>"
)

# The model begins another file, a patch or an answer to a chat.
OTHER_TEXT = re.compile(r"^(?:diff --git |@@ -\d|<{7} |>{7} |```|\+{5} \S)", re.MULTILINE)
PATH_LINE = re.compile(
    r"^[ \t]{0,40}(?:#|//|--|;|%|/\*){1,80}[ \t]{0,8}(?:(?:path|file|filename):[ \t]{0,8})?"
    r"(?P<path>[\w.-]{0,100}(?:[\\/][\w.-]{1,100}){1,20}\.\w{1,5}|[\w-]{1,100}\.\w{1,5})[ "
    r"\t]{0,8}(?:\*/)?$",
    re.MULTILINE | re.IGNORECASE,
)

# Accepting costs a key: a single character is faster typed than read.
VISIBLE_CHARS = 2

# More must follow: `x = a +`, `import os as`.
OPERATOR = re.compile(r"\s(?:[-+*/%=<>&|^!?:]{1,3}|and|or|in|is|as|instanceof|extends)$")

USUAL_STEPS = (4, 3, 2)  # spaces per level of indentation


def special_tokens(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut at a control token, unless the text around is about them."""
    around = "\n".join((*cursor.above, cursor.before, cursor.after, *cursor.below))
    for match in SPECIAL.finditer(candidate.text):
        if match[0] not in around:
            return candidate.cut(match.start(), f"has {match[0]}")
    return candidate


def other_text(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut where another file, a patch or a chat answer begins."""
    matches = [] if cursor.language == "markdown" else [*OTHER_TEXT.finditer(candidate.text)]
    for match in PATH_LINE.finditer(candidate.text):
        named = match["path"].replace("\\", "/")
        if "/" in named or named == cursor.path.rpartition("/")[2]:
            matches.append(match)
    start = min((match.start() for match in matches), default=-1)
    return candidate if start < 0 else candidate.cut(max(0, start - 1), "goes on with another text")


def extent(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut where the line, the statement or the block is whole."""
    end = boundary.end(candidate.text, cursor)
    if end is None or (end >= len(candidate.text.rstrip()) and candidate.whole):
        return candidate
    return candidate.cut(end, f"end of the {boundary.extent(cursor).value}")


def not_sure(candidate: Candidate, cursor: Cursor, sure: float) -> Candidate:
    """
    Cut where the model is not *sure* any more (`likely`): behind a line, in the first line behind a
    word.
    """
    left = likely(candidate, sure)
    if left is candidate:
        return candidate
    newline = left.text.rfind("\n")
    if left.text[:newline].strip() and newline > 0 and candidate.text[len(left.text)] != "\n":
        left = replace(left, text=left.text[:newline])
    text = standing(left.text, cursor).rstrip()
    left = right_text(replace(left, text=text, replaces=0), cursor)
    return replace(left, whole=True, why="what follows is not sure")


def unfinished(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Drop the line, or in a single line the word, in which a budget ended the text."""
    text = candidate.text.rstrip("\ufffd")  # half a character
    if candidate.whole or not text:
        return candidate
    newline = text.rfind("\n")
    if text[:newline].strip() and newline > 0:
        text = standing(text[:newline], cursor)
        return candidate.cut(len(text), "the last line is not finished")
    word = WORD.match(text[::-1])
    text = standing(text[: len(text) - (word.end() if word else 0)], cursor)
    return candidate.cut(len(text), "the last word is not finished")


def standing(text: str, cursor: Cursor) -> str:
    """
    Return *text* up to where its last line stands: it ends behind no operator, and within no
    bracket or quote that it opens, but for those that hold the lines below them.
    """
    language, n_before = cursor.language, len(cursor.before)
    so_far = (cursor.before + text).rstrip()
    end = len(so_far)
    for at, _ in reversed(find_unclosed(so_far, language)):
        inside, _, below = so_far[at + 1 :].partition("\n")
        holds_lines = below or opens_block(so_far[: at + 1], language)
        if at < n_before or (holds_lines and not inside.strip()):
            break
        end = at
    kept = so_far[:end].rstrip()
    kept = OPERATOR.sub("", kept.removesuffix(open_quote(kept, language)))
    if kept == so_far or not text.strip():
        return text
    kept = kept[n_before:]
    above = kept.rpartition("\n")[0]
    return standing(above if above.strip() else kept, cursor)


def broken_character(candidate: Candidate, _: Cursor) -> Candidate:
    """
    Drop all of a text with bytes that are no character: what stands around them is as doubtful.
    """
    text = candidate.text if candidate.whole else candidate.text.rstrip("\ufffd")
    return candidate.cut(0, "has bytes that are no character") if "\ufffd" in text else candidate


def reindented(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Spell indentation as the file does, with tabs or with spaces."""
    parts = candidate.text.split("\n")
    n_spaces = _step(parts) if cursor.unit == "\t" else len(cursor.unit)
    first = 1 if cursor.before.strip() else 0
    parts[first:] = (_respell_indent(part, cursor.unit, n_spaces) for part in parts[first:])
    return candidate.change("\n".join(parts), "indentation as in the file")


def trailing_space(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Drop white space at line ends, and blank lines at the end; what stands before other text stays.
    """
    *above, last = candidate.text.split("\n")
    text = "\n".join((*(line.rstrip(" \t") for line in above), last))
    if not cursor.after[candidate.replaces :].strip():
        text = text.rstrip()
    return candidate.change(text, "white space at line ends")


def too_short(candidate: Candidate, _: Cursor) -> Candidate:
    """Drop a text whose acceptance saves no key."""
    n_visible = len("".join(candidate.text.split()))
    if n_visible >= VISIBLE_CHARS:
        return candidate
    return candidate.cut(0, "too short" if n_visible else "blank")


MEANT: tuple[Filter, ...] = (
    special_tokens,
    other_text,
    reindented,
    typed_again,
    stuttering,
    looping_lines,
    extent,
    lines_below,
    closed_below,
    opened_here,
    broken_character,
    right_text,
    parses,
)
LEFT: tuple[Filter, ...] = (unfinished, trailing_space, too_short)
FILTERS = (*MEANT, *LEFT)
NAMES = frozenset(step.__name__ for step in FILTERS)


def polish(
    candidate: Candidate, cursor: Cursor, sure: float = 0.0, off: Collection[str] = ()
) -> Candidate:
    """
    Return the candidate as it should be shown, with its cuts; an empty text where nothing should.

    *sure* is how sure the model must be of it, see `likely`. *off* names filters to leave out, to
    measure what each one does.
    """
    meant = _apply(candidate, cursor, MEANT, off)
    left = not_sure(meant, cursor, sure)
    if left is not meant:
        left = replace(left, cuts=(*meant.cuts, FilterCut(NOT_SURE, left.why)))
    left = _apply(left, cursor, LEFT, off)
    is_nothing = not left.text and not left.cuts
    return replace(left, cuts=(FilterCut("model", "says nothing"),)) if is_nothing else left


def _apply(
    candidate: Candidate, cursor: Cursor, filters: Iterable[Filter], off: Collection[str]
) -> Candidate:
    for step in filters:
        if not candidate.text or step.__name__ in off:
            continue
        after = step(candidate, cursor)
        if (after.text, after.replaces) != (candidate.text, candidate.replaces):
            odds = respell(candidate.odds, candidate.text, after.text)
            cuts = (*candidate.cuts, FilterCut(step.__name__, after.why))
            after = replace(after, odds=odds, cuts=cuts)
        candidate = after
    return candidate


def _step(parts: list[str]) -> int:
    """
    Return how many spaces the model takes for a level: the largest usual number that divides all.
    """
    widths = [len(indent(part)) for part in parts if part.startswith(" ") and part.strip()]
    return next((n for n in USUAL_STEPS if all(width % n == 0 for width in widths)), USUAL_STEPS[0])


def _respell_indent(line: str, unit: str, n_spaces: int) -> str:
    """
    Return the line with its indentation in *unit*, where it is not; *n_spaces* and a tab are one
    level.
    """
    white = indent(line)
    if unit == "\t" and white.startswith(" "):
        n_levels, rest = divmod(len(white.replace("\t", " " * n_spaces)), n_spaces)
        return "\t" * n_levels + " " * rest + line[len(white) :]
    if unit != "\t" and "\t" in white:
        return white.replace("\t", unit) + line[len(white) :]
    return line
