"""
Names that a problem is about into the lines that define them elsewhere, by the form of a definition. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from fim_lsp.instruct.presets import Definition

NAME = re.compile(r"[A-Za-z_$][\w$]{2,80}")
QUOTED = re.compile(r"[\"'`‘“]([^\"'`’”\n]{1,200})[\"'`’”]")
DEFINES = re.compile(
    r"[ \t]*(?:[a-z]+[ \t]+){0,3}(?:def|class|function|fn|func|type|interface|struct|enum|trait|const|let|var)"
    r"[ \t]+([A-Za-z_$][\w$]*)"
)
MOST_NAMES = 4  # of one problem
MOST_LINES = 12  # of a definition: its head says how it is used


def names(problems: Iterable[str], lines: Iterable[str]) -> list[str]:
    """The names that *problems* quote, then those of *lines* that they say."""
    text = "\n".join(problems)
    quoted = [name for part in QUOTED.findall(text) for name in NAME.findall(part)]
    used = {name for line in lines for name in NAME.findall(line)}
    said = [name for name in NAME.findall(text) if name in used]
    return [*dict.fromkeys((*quoted, *said))][:MOST_NAMES]


def definitions(
    wanted: Sequence[str], texts: Iterable[tuple[str, Sequence[str]]]
) -> Iterator[Definition]:
    """Where *texts*, lines by path, define the names *wanted*: each once."""
    left = [*wanted]
    for path, lines in texts:
        for name in [*left]:
            at = next((n for n, line in enumerate(lines) if _defines(line, name)), None)
            if at is not None:
                yield Definition(path, "\n".join(_whole(lines, at)))
                left.remove(name)


def _defines(line: str, name: str) -> bool:
    found = DEFINES.match(line)
    return found is not None and found[1] == name


def _whole(lines: Sequence[str], at: int) -> list[str]:
    """The line *at* and those below that are indented more, some of them."""
    indent = _indent(lines[at])
    found = [lines[at].rstrip()]
    for line in lines[at + 1 : at + MOST_LINES]:
        if line.strip() and _indent(line) <= indent:
            break
        found.append(line.rstrip())
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
