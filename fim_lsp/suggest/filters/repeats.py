"""
Filters against saying what is there already: the line above, the lines below, itself once more.

A line is the same when it says the same at the same depth, however its white space is spelled.
"""

from __future__ import annotations

import re
from itertools import takewhile

from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.lines import CLOSER, brackets, mark, width

# Code hardly ever has the same line twice in a row.
ABOVE_LINES = 6  # a block of that many is looked for
LOOP_LINES = 30  # … and, in the suggestion itself, of so many: each size costs a pass
ALL_LINES = 100  # of the suggestion; what stands further down is looked at as one line

# A piece with a letter in it, said four times without anything between: `"web", "web", "web",
# "web", `. Three are seen in honest code (`slice(None), slice(None), slice(None)`).
STUTTER = re.compile(r"([^\n]{3,40}?)\1{3,}")
LETTER = re.compile(r"[^\W\d_]")
# Numbers and signs are said again in honest tables, but hardly as often: `0,  0,  0, ` sixteen
# times. Three words or more are said twice in a row by no writer: `is a tool that is a tool that `.
OFTEN = 16
PHRASE = re.compile(r"\b((?:[^\W\d_]+ ){3,12})\1")

# A shorter beginning said twice may be meant: `a = a`. Marks of comments, lists and quotes are not.
TYPED_AGAIN_CHARS = 4
MARK_CHARS = 8  # of marks at the end of a line
MARK = re.compile(
    r"(?:(#{1,6}['!:]?|/{2,3}!?|--{1,2}|;{1,3}|%{1,3}|/\*{1,2}!?|<!--|[-+>!]|\*{1,6}|={1,6}|#="
    r"|<#|(?:\d{1,3}|[a-z#])[.)]|\(\*|\{#|\.\.|::|\[[ xX]\])(?=\s|$)|[fru]?(\"{3}|'{3}))[ \t]*"
)

# No style closes two brackets on two lines at the same depth.
ONLY_CLOSES = re.compile(r"[)\]},;\s]+")

# Models skip a line or two and go on with what follows; further down equal lines are honest.
FOLLOWING_LINES = 4
TELLING_CHARS = 12


def typed_again(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Drop the line's beginning where the model says it once more (Granite, StarCoder), and a space
    behind a space (servers that cannot force one): more of them align, as one before a comment or
    an operator does.
    """
    typed = cursor.before.lstrip()
    text = candidate.text.lstrip(" \t")
    is_space = typed[-1:].isspace() and len(candidate.text) - len(text) == 1
    is_again = text.startswith(typed) and len(typed) >= TYPED_AGAIN_CHARS
    n_again = len(typed) if is_again else _find_marks_again(cursor, text)
    is_again = n_again > 0 or (is_space and text[:1] not in "#/-=:|")
    return candidate.change(text[n_again:], "begins with what was typed") if is_again else candidate


def _find_marks_again(cursor: Cursor, text: str) -> int:
    """Return the length of the marks at the beginning of *text* that stand before the cursor."""
    comment = mark(cursor.language)
    line = cursor.before.lstrip()
    if comment and f" {comment}" in line[-MARK_CHARS:]:  # behind code
        line = line[line.rindex(f" {comment}") + 1 :]
    if comment and line.startswith(comment) and text.startswith(line) and not LETTER.search(line):
        return len(line)  # `#Return`, where a space need not follow
    typed = _list_marks(line)
    said = _list_marks(text)
    if line != comment and comment.startswith(line):
        return 0  # half of one, as the `-` of `--`
    if not typed or typed[-1][1] < len(line) or (line == "#" and not comment):
        return 0  # what stands there is more than marks; `##` is a heading
    for n in range(min(len(typed), len(said)), 0, -1):
        if [kind for kind, _ in typed[-n:]] == [kind for kind, _ in said[:n]]:
            end = said[n - 1][1]
            return end if line[-1:].isspace() else len(text[:end].rstrip(" \t"))
    return 0


def _list_marks(text: str) -> list[tuple[str, int]]:
    """Return the marks that *text* begins with and their ends; `//` and `///` are of one kind."""
    marks: list[tuple[str, int]] = []
    while len(marks) < MARK_CHARS and (found := MARK.match(text, marks[-1][1] if marks else 0)):
        sign = found[0].strip()
        marks.append((sign if sign[-1] in ".)" else sign.lstrip("fru")[0], found.end()))
    return marks


def looping_lines(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut before a line, or a block of them, that says the same as the one right above it."""
    above = cursor.above[-ABOVE_LINES:]
    own = candidate.text.split("\n", ALL_LINES)
    parts = [*above, cursor.before + own[0], *own[1:]]
    for second in range(len(above), len(parts)):
        for n_lines in range(1, min(second, len(parts) - second, LOOP_LINES) + 1):
            block = parts[second - n_lines : second]
            if block == parts[second : second + n_lines] and LETTER.search("".join(block)):
                return candidate.cut_lines(second - len(above), "lines go round")
    return candidate


def stuttering(candidate: Candidate, _: Cursor) -> Candidate:
    """Cut before a line in which one piece is said again and again."""
    for match in STUTTER.finditer(candidate.text):
        n_times = (match.end() - match.start()) // len(match[1])
        if (LETTER.search(match[1]) or n_times >= OFTEN) and match[1].strip():
            return _without_line(candidate, match)
    phrase = PHRASE.search(candidate.text)
    return _without_line(candidate, phrase) if phrase else candidate


def _without_line(candidate: Candidate, match: re.Match[str]) -> Candidate:
    return candidate.cut(max(0, candidate.text.rfind("\n", 0, match.start())), "a line goes round")


def lines_below(candidate: Candidate, cursor: Cursor) -> Candidate:
    """Cut at the first line that the file goes on with anyway."""
    following = _following(cursor)
    depth = 0
    for idx, part in enumerate(candidate.text.split("\n")):
        line = cursor.before + part if idx == 0 else part
        closes = bool(line.strip()) and not ONLY_CLOSES.sub("", line)
        if (depth <= 0 and _is_next(line, following)) or (closes and _is_next(line, following[:1])):
            return candidate.cut_lines(idx, "repeats the lines below")
        for _, sign in brackets(line, cursor.language):
            depth += 1 if sign in CLOSER else -1
    return candidate


def _following(cursor: Cursor) -> list[str]:
    """
    Return the next line, and those after it until the block ends: another block may say the same.
    """
    visible = [line for line in cursor.below if line.strip()][:FOLLOWING_LINES]
    same = takewhile(lambda line: width(line) >= width(cursor.before), visible)
    return [*same] or visible[:1]


def _is_next(line: str, following: list[str]) -> bool:
    """
    Return whether *line* is the next one, or one soon after it that is long enough not to be there
    twice by chance.
    """
    code = line.strip()
    here = width(line)
    same_block = takewhile(lambda other: width(other) >= here, following)
    return any(
        code == other.strip() and here == width(other) and (idx == 0 or len(code) >= TELLING_CHARS)
        for idx, other in enumerate(same_block)
    )
