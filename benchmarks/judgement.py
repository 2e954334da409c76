"""Suggestions shown at held-out lines into figures: right, similar, repeating, breaking the syntax. Pure."""

from __future__ import annotations

import difflib
import statistics
from dataclasses import dataclass

import tree_sitter_python
from tree_sitter import Language, Parser

from benchmarks.heldout import Hole
from fim_lsp.suggest.cursor import Cursor

PARSER = Parser(Language(tree_sitter_python.language()))


@dataclass(frozen=True, slots=True)
class Shown:
    """What was shown at a hole of a file, "" for nothing, and how much it replaces on the right."""

    hole: Hole
    cursor: Cursor
    file: str
    text: str
    replaces: int = 0


@dataclass(frozen=True, slots=True)
class Quality:
    """Shares of all places, but *similarity* and *right_chars*, which are of what was shown."""

    n: int
    shown: float
    exact: float
    exact_of_shown: float
    similarity: float  # of the first line to the rest of the line
    right_chars: float  # share of the first line's characters before the first wrong one
    repeated_lines: int  # suggestions that repeat the next line of the file
    parse_errors: int  # suggestions that add syntax errors


def quality(shown: list[Shown]) -> Quality:
    """Return the figures of a list of suggestions."""
    visible = [one for one in shown if one.text]
    firsts = [(one.text.split("\n")[0].rstrip(), one.hole.rest) for one in visible]
    n_exact = sum(first == rest for first, rest in firsts)
    ratio = [difflib.SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in firsts]
    n_right = sum(_n_common(*pair) for pair in firsts)
    n_said = sum(len(first) for first, _ in firsts)
    return Quality(
        n=len(shown),
        shown=len(visible) / len(shown),
        exact=n_exact / len(shown),
        exact_of_shown=n_exact / max(1, len(visible)),
        similarity=statistics.fmean(ratio) if ratio else 0.0,
        right_chars=n_right / max(1, n_said),
        repeated_lines=sum(map(_repeats, visible)),
        parse_errors=sum(map(_breaks, visible)),
    )


def _n_common(said: str, truth: str) -> int:
    pairs = zip(said, truth, strict=False)
    return next((idx for idx, (a, b) in enumerate(pairs) if a != b), min(len(said), len(truth)))


def _repeats(one: Shown) -> bool:
    """Return whether a line of the suggestion is the next line of the file."""
    following = next((line for line in one.cursor.below if line.strip()), "")
    said = (one.cursor.before + one.text).split("\n")
    return bool(following) and any(line.rstrip() == following.rstrip() for line in said)


def _breaks(one: Shown) -> bool:
    """Return whether the file has more syntax errors with the suggestion accepted than without."""
    return _n_errors(one, one.text, one.replaces) > _n_errors(one, "", 0)


def _n_errors(one: Shown, text: str, replaces: int) -> int:
    lines = one.file.split("\n")
    lines[one.hole.line] = one.cursor.before + text + one.cursor.after[replaces:]
    n_errors, nodes = 0, [PARSER.parse("\n".join(lines).encode()).root_node]
    while nodes:
        node = nodes.pop()
        if node.is_error or node.is_missing:
            n_errors += 1
        nodes.extend(child for child in node.children if child.has_error)
    return n_errors
