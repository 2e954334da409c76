"""
Instructions that need not be typed: for a selection, and for what another server says is wrong.
Data and words.

Definitions: names that a problem is about into the lines that define them elsewhere, by the form of
a definition.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fim_lsp.context.secrets.scan import scrub_text
from fim_lsp.display import sanitize
from fim_lsp.suggest.lines import indent

TITLE_CHARS = 60
MOST_PROBLEMS = 3  # of a place; the first is often the cause of the others
MESSAGE_CHARS = 400
# of a message, for secrets: one that is cut off is not known any more
LOOKED_AT = 4 * MESSAGE_CHARS


class Preset(NamedTuple):
    """The title in a menu, and the instruction for the model."""

    title: str
    instruction: str


SELECTED = (
    Preset(
        "Document this",
        "Add documentation to this code in the usual form of its language: a docstring or a "
        "comment that says "
        "what it does, its parameters and its result. Change nothing else.",
    ),
    Preset(
        "Add types",
        "Add type annotations to the parameters, the results and the variables that need them. "
        "Change nothing else.",
    ),
    Preset(
        "Follow the comment above",
        "The first comment in these lines, or right above them, says how to change them. Do that, "
        "and remove "
        "the comment.",
    ),
)


class QuotedDefinition(NamedTuple):
    """Code from elsewhere that a problem is about."""

    path: str
    text: str


def fix(problems: Sequence[str], definitions: Sequence[QuotedDefinition] = ()) -> Preset:
    """Return the instruction to fix *problems*, each the message of a diagnostic."""
    clean = (scrub_text(problem[:LOOKED_AT]) for problem in problems[:MOST_PROBLEMS])
    shown = [sanitize(problem, MESSAGE_CHARS) for problem in clean]
    parts = ["Fix this problem, and change nothing else:", *(f"- {message}" for message in shown)]
    for path, text in definitions:
        parts.append(f"For this, from {path}, which stays as it is:\n{text}")
    return Preset(f"Fix: {sanitize(problems[0], TITLE_CHARS)}", "\n".join(parts))


NAME = re.compile(r"[A-Za-z_$][\w$]{2,80}")
QUOTED = re.compile(r"[\"'`‘“]([^\"'`’”\n]{1,200})[\"'`’”]")
DEFINES = re.compile(
    r"[ \t]*(?:[a-z]+[ \t]+){0,3}(?:def|class|function|fn|func|type|interface|struct|enum|trait|"
    r"const|let|var)"
    r"[ \t]+([A-Za-z_$][\w$]*)"
)
MOST_NAMES = 4  # of one problem
MOST_LINES = 12  # of a definition: its head says how it is used


def names(problems: Iterable[str], lines: Iterable[str]) -> list[str]:
    """Return the names that *problems* quote, then those of *lines* that they say."""
    text = "\n".join(problems)
    quoted = [name for part in QUOTED.findall(text) for name in NAME.findall(part)]
    used = {name for line in lines for name in NAME.findall(line)}
    repeated = [name for name in NAME.findall(text) if name in used]
    return [*dict.fromkeys((*quoted, *repeated))][:MOST_NAMES]


def definitions(
    wanted: Sequence[str], texts: Iterable[tuple[str, Sequence[str]]]
) -> Iterator[QuotedDefinition]:
    """Yield the definitions in *texts*, lines by path, of the names *wanted*: each once."""
    left = [*wanted]
    for path, lines in texts:
        for name in [*left]:
            at = next((n for n, line in enumerate(lines) if _defines(line, name)), None)
            if at is not None:
                yield QuotedDefinition(path, "\n".join(_whole(lines, at)))
                left.remove(name)


def _defines(line: str, name: str) -> bool:
    head = DEFINES.match(line)
    return head is not None and head[1] == name


def _whole(lines: Sequence[str], at: int) -> list[str]:
    """Return the line *at* and those below that are indented more, some of them."""
    depth, below = len(indent(lines[at])), lines[at + 1 : at + MOST_LINES]
    inside = itertools.takewhile(lambda line: not line.strip() or len(indent(line)) > depth, below)
    return [lines[at].rstrip(), *map(str.rstrip, inside)]
