"""Filters for white space, as the file has it, and against a text too short to be worth a key."""

from __future__ import annotations

import re

from fim_lsp.context.grammars import grammar_of, types
from fim_lsp.suggest.cursor import Candidate, Cursor
from fim_lsp.suggest.lines import (
    CLOSER,
    OPENING,
    find_unclosed,
    first_visible,
    indent,
    mark,
    open_quote,
    opens_block,
    width,
)

# Accepting costs a key: a single character is faster typed than read. But who asks by hand wants to
# know: a dropped text made room for a second choice (`else {` where the answer was `}`). And on a
# line that waits for its bracket a reader has nothing to weigh.
VISIBLE_CHARS = 2

# Languages with braces and no grammar here, and those whose blocks are opened by other signs.
BLOCKS = OPENING.keys() | types("""kotlin swift dart groovy zig perl r powershell objective-c scss
    less proto terraform toml""")
# The line above a body without braces, a line that goes on in the next one, an item of a list.
HEAD = re.compile(r"\s*(?:\}\s*)?(?:else|if|for|foreach|while|do|case|default|with)\b(?!.*;\s*$)")
GOES_ON = re.compile(r"[-=+*/%&|^~?:\\.]$|[-=]>$|^\s*<[^/]((?!</).)*[^/]>$")
LIST_ITEM = re.compile(r"\s*[-*] +")

USUAL_STEPS = (4, 3, 2)  # spaces per level of indentation


def reindented(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Spell indentation as the file does, with tabs or with spaces, and drop what the model adds to
    that of the cursor: a server that cannot force a text writes the rest of a token of spaces.
    """
    parts = candidate.text.split("\n")
    n_spaces = _step(parts) if cursor.unit == "\t" else len(cursor.unit)
    first = 1 if cursor.before.strip() else 0
    parts[first:] = (respell_indent(part, cursor.unit, n_spaces) for part in parts[first:])
    if not first and parts[0].strip():
        parts = _lift(parts, cursor)
    return candidate.change("\n".join(parts), "indentation as in the file")


def _lift(parts: list[str], cursor: Cursor) -> list[str]:
    """Return lines of which the first is no deeper than it may be, and its block neither."""
    language = cursor.language
    unit = width(f"{cursor.unit}|")
    depth = width(cursor.before + parts[0])
    deepest = _deepest(cursor, unit, depth)
    if language == "python" and deepest and depth % unit:
        deepest = width(f"{cursor.before}|")  # what stands between two levels does not run
    if deepest is None or depth <= deepest or parts[0].lstrip()[0] in ".?":  # of a chain
        return parts
    white = indent(parts[0])
    while white and width(f"{cursor.before}{white}|") > deepest:
        white = white[:-1]
    first = white + parts[0].lstrip()
    inner = unit if opens_block(first, language) else 0
    if width(first_visible(tuple(parts[1:]))) != depth + inner:
        return [first, *parts[1:]]  # they stand where they belong
    surplus = indent(parts[0]).removeprefix(white if inner else "")
    return [first, *(part.removeprefix(surplus) for part in parts[1:])]


def _deepest(cursor: Cursor, unit: int, depth: int) -> int | None:
    """
    Return the column in which a first line that is so deep may begin; None where nothing tells: it
    is inside a long string, the line above goes on, or the language has other blocks and the line
    is as deep as one of them may be.
    """
    language = cursor.language
    above = first_visible(cursor.above[::-1])
    is_known = language in BLOCKS or (grammar_of(language) is not None and language != "html")
    here = width(f"{cursor.before}|")
    is_odd = depth % unit > here % unit == 0 and (here or depth == 1) and mark(language)
    if not (is_known or is_odd) or len(open_quote("\n".join(cursor.above), language)) > 1:
        return None
    if opens_block(above, language) or HEAD.match(above):
        return max(here, width(above) + unit)
    if here <= width(above) and (find_unclosed(above, language) or GOES_ON.search(above.rstrip())):
        return None  # a line that goes on may be aligned
    item = LIST_ITEM.match(above)
    return here or (item.end() if item else width(above) // unit * unit)


def trailing_space(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Drop white space at line ends, and blank lines at the end; what stands before other text stays.
    """
    *above, last = candidate.text.split("\n")
    text = "\n".join((*(line.rstrip(" \t") for line in above), last))
    if not cursor.after[candidate.replaces :].strip():
        text = text.rstrip()
    return candidate.change(text, "white space at line ends")


def too_short(candidate: Candidate, cursor: Cursor) -> Candidate:
    """
    Drop a text whose acceptance saves no key, but for what the user asked for and for the bracket
    that closes a block on a line of its own.
    """
    is_wanted = cursor.by_hand or _closes_block(candidate.text, cursor)
    is_short = len("".join(candidate.text.split())) < (1 if is_wanted else VISIBLE_CHARS)
    return candidate.cut(0, "too short") if is_short else candidate


def _closes_block(text: str, cursor: Cursor) -> bool:
    """
    Return whether *text* is the bracket for what the nearest line above opens that is no deeper
    than the cursor, where it stands as deep as that line.
    """
    here = width(cursor.before)
    around = (line for line in reversed(cursor.above) if line.strip() and width(line) <= here)
    head = next(around, "").rstrip()
    return CLOSER.get(head[-1:]) == text and width(head) == here and not cursor.before.strip()


def _step(parts: list[str]) -> int:
    """
    Return how many spaces the model takes for a level: the largest usual number that divides all.
    """
    widths = [len(indent(part)) for part in parts if part.startswith(" ") and part.strip()]
    return next((n for n in USUAL_STEPS if all(width % n == 0 for width in widths)), USUAL_STEPS[0])


def respell_indent(line: str, unit: str, n_spaces: int) -> str:
    """
    Return the line with its indentation in *unit*, where it is not; *n_spaces* and a tab are one
    level.
    """
    white = indent(line)
    if white.startswith("\t") if unit == "\t" else n_spaces == len(unit) and "\t" not in white:
        return line
    n_levels, rest = divmod(len(white.replace("\t", " " * n_spaces)), n_spaces)
    return unit * n_levels + " " * rest + line[len(white) :]
