"""
The lines of an answer as the file lays them out: in its levels of indentation, from where the
selected lines begin. Pure.

A model writes tabs where the file has spaces, or four where it has two, and begins at the left
margin or where the file does. The lines that begin a block say so, and those that stand
in the selection as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from fim_lsp.suggest.cursor import DEFAULT_INDENT, UNITS, indent_unit
from fim_lsp.suggest.filters.spelling import USUAL_STEPS, respell_indent
from fim_lsp.suggest.lines import indent, opens_block

TAB = "\t"
UNBRACED = frozenset(["html", "xml", "vue", "svelte"])  # no sign at a line's end begins a block


def unit_of(lines: Sequence[str], around: Sequence[str], language: str) -> str:
    """Return one level of indentation of *lines*, as they have it or else those *around* them."""
    steps = _count_steps(lines, language)
    own = max(steps, key=steps.__getitem__, default="")
    return own or indent_unit(tuple(around)) or UNITS.get(language, DEFAULT_INDENT)


def respell(lines: Sequence[str], old: Sequence[str], unit: str, language: str) -> tuple[str, ...]:
    """
    Return *lines*, of which the first begins at the left margin, with each level of indentation as
    *unit*; lines that stand in *old* with other white space get that of *old*.
    """
    n_spaces = _count_spaces(lines, unit, language)
    if _is_laid_out(lines, old):
        return tuple(lines)
    known: dict[tuple[str, int], str] = {}
    for line in old:
        known.setdefault(_key(line, unit, n_spaces), line)
    return tuple(_respell(line, known, unit, n_spaces) for line in lines)


def _is_laid_out(lines: Sequence[str], old: Sequence[str]) -> bool:
    """Return whether most of the indented lines that stay have the white space of *old*."""
    deep = [line for line in lines if line[:1] in " \t" and line.strip()]
    exact = {*old}
    bare = {line.strip() for line in old}
    n_stay = sum(line.strip() in bare for line in deep)
    n_exact = sum(line in exact for line in deep)
    return 2 * n_exact > n_stay


def _respell(line: str, known: dict[tuple[str, int], str], unit: str, n_spaces: int) -> str:
    key = (line.lstrip(), len(indent(line).replace(TAB, " " * n_spaces)))
    return known.get(key) or respell_indent(line, unit, n_spaces)


def _key(line: str, unit: str, n_spaces: int) -> tuple[str, int]:
    """Return a line of the file without its indentation, and how deep the model would write it."""
    white = indent(line)
    n_levels, rest = divmod(len(white.replace(TAB, unit)), len(unit))
    if unit == TAB:
        n_levels = white.count(TAB)
        rest = len(white) - n_levels
    return line.lstrip(), n_levels * n_spaces + rest


def _count_spaces(lines: Sequence[str], unit: str, language: str) -> int:
    """Return how many spaces are a level in what the model wrote: as in *unit* if nothing tells."""
    steps = _count_steps(lines, language)
    steps.pop(TAB, None)
    if unit in steps or (unit != TAB and not steps):
        return len(unit)
    if steps:
        return len(max(steps, key=steps.__getitem__))
    widths = [len(indent(line)) for line in lines if line.startswith(" ")]
    return next((n for n in USUAL_STEPS if all(width % n == 0 for width in widths)), USUAL_STEPS[0])


def _count_steps(lines: Sequence[str], language: str) -> Counter[str]:
    """Return how often lines that begin a block are followed by one that is so much deeper."""
    if language in UNBRACED:
        step = indent_unit(tuple(lines))
        return Counter([step] if step else [])
    steps = Counter[str]()
    for head, inner in pairwise(line for line in lines if line.strip()):
        step = indent(inner).removeprefix(indent(head))
        is_deeper = len(indent(inner)) == len(indent(head)) + len(step) and step
        if is_deeper and opens_block(head, language):
            steps[TAB if TAB in step else step] += 1
    return steps


def place(lines: Sequence[str], old: Sequence[str], margin: str) -> tuple[str, ...]:
    """
    Return *lines* where the lines *old* stand, which all begin with *margin*: the first where that
    of *old* is, or all behind *margin*, as they were shown; by what leaves more of *old* as it is.
    """
    first = indent(next((line for line in old if line.strip()), ""))
    new = indent(next((line for line in lines if line.strip()), ""))
    shift = first.removesuffix(new) if first.endswith(new) else ""  # of lines indented less
    by_first = [
        first + line.removeprefix(new) if line.startswith(new) else shift + line for line in lines
    ]
    as_shown = [margin + line for line in lines]
    begun = [first + line if n == 0 and not new else as_shown[n] for n, line in enumerate(lines)]
    counts = Counter(filter(str.strip, old))
    best = max((by_first, begun, as_shown), key=lambda placed: (counts & Counter(placed)).total())
    blanks = {
        line.removeprefix(margin): line for line in sorted(old, reverse=True) if not line.strip()
    }
    return tuple(
        line if raw.strip() else blanks.get(raw, raw and line)
        for raw, line in zip(lines, best, strict=True)
    )
